"""Who uses which GPU now, and how that looks as one column of pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import NONE, RUNNING, Array, State
from mlfs_gym.envs.rendering.colours import GAP, NOTHING, OVERLOAD, bright_code, dim_code, level_code
from mlfs_gym.envs.rendering.grid import MILLI, Grid


class Occupancy(NamedTuple):
    """The tasks that hold a GPU, by row of the grid, then by job.

    Attributes:
        rows: shape (n,).
        jobs: shape (n,).
        used: shape (n,), milli-GPU in use.
        overloaded: shape (S,), bool.
        exclusive: True if a task holds its GPU alone.
    """

    rows: Array
    jobs: Array
    used: Array
    overloaded: Array
    exclusive: bool

    def without(self, job: int) -> Occupancy:
        """The same without one job."""
        keep = self.jobs != job
        return self._replace(rows=self.rows[keep], jobs=self.jobs[keep], used=self.used[keep])


def running_tasks(state: State) -> Array:
    """Indices of the tasks that hold a GPU, of running jobs only: cheap whatever the length of the trace."""
    active = state.active[: state.clock["num_active"][0]]
    running = active[state.jobs["status"][active] == RUNNING]
    first, count = state.jobs["first_task"][running].astype(np.int64), state.jobs["num_tasks"][running]
    ends = np.cumsum(count)
    tasks = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - count), count)
    return tasks[state.tasks["gpu"][tasks] != NONE]


def occupancy(state: State, grid: Grid) -> Occupancy:
    """Who holds which GPU now."""
    tasks = running_tasks(state)
    rows = grid.row_of_gpu[state.tasks["gpu"][tasks]]
    jobs = state.tasks["job"][tasks]
    order = np.lexsort((jobs, rows))
    return Occupancy(
        rows[order],
        jobs[order],
        state.tasks["gpu_used"][tasks][order],
        state.servers["overloaded"] != 0,
        bool(state.clock["sharing"][0] == 0),
    )


def column(now: Occupancy, grid: Grid) -> Array:
    """One column of pixel codes, shape (H,), uint8."""
    if grid.by_load:
        codes = _levels(now, grid)
    else:
        codes = np.where(grid.row_of_pixel >= 0, NOTHING, GAP).astype(np.uint8)
        _stack(now, grid, codes)
    codes[grid.mark_pixel[grid.block_of_server[now.overloaded]]] = OVERLOAD
    return codes


def _levels(now: Occupancy, grid: Grid) -> Array:
    share = np.bincount(now.rows, now.used, len(grid.capacity)) / grid.capacity
    return np.where(grid.row_of_pixel >= 0, level_code(share)[grid.row_of_pixel], np.uint8(GAP))


def _stack(now: Occupancy, grid: Grid, codes: Array) -> None:
    """Fill rows from below with the colours of their jobs, as far as they are used or, by a darker shade, held.

    Shares of a GPU that is asked for more than it has shrink in proportion.
    """
    rows, amounts, paint = now.rows, now.used.astype(np.float64), bright_code(now.jobs)
    if now.exclusive and not grid.per_gpu:
        amounts = np.maximum(MILLI, amounts)  # what is held: two shades for each GPU of a server would be a hatching
    elif now.exclusive:
        rows = np.repeat(rows, 2)
        amounts = np.stack([amounts, np.maximum(0.0, MILLI - amounts)], axis=1).ravel()
        paint = np.stack([paint, dim_code(now.jobs)], axis=1).ravel()
    if len(rows) == 0:
        return
    total = np.bincount(rows, amounts, len(grid.capacity))
    summed = np.cumsum(amounts)
    first = np.searchsorted(rows, rows)  # where the row of each entry begins
    end = summed - (summed - amounts)[first]
    # Rounded up, so that the first job of a row is always seen.
    scale = grid.lanes / np.maximum(grid.capacity, total)[rows]
    tops = np.minimum(grid.lanes, np.ceil(end * scale - 1e-6)).astype(np.int64)
    bottoms = np.minimum(grid.lanes, np.ceil((end - amounts) * scale - 1e-6)).astype(np.int64)
    count = np.maximum(0, tops - bottoms)
    ends = np.cumsum(count)
    step = np.arange(ends[-1]) - np.repeat(ends - count, count)
    pixel = np.repeat(grid.first_pixel[rows] + grid.lanes - 1 - bottoms, count) - step
    codes[pixel] = np.repeat(paint, count)


def first_jobs(now: Occupancy, grid: Grid) -> Array:
    """The lowest job of each row, -1 where there is none; shape (R,)."""
    jobs = np.full(len(grid.capacity), -1, np.int32)
    rows, first = np.unique(now.rows, return_index=True)
    jobs[rows] = now.jobs[first]
    return jobs
