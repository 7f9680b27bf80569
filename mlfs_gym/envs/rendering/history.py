"""What every GPU did over time, in bounded memory: a strip of columns that coarsens, then slides."""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, State
from mlfs_gym.envs.rendering.colours import GAP, NOTHING
from mlfs_gym.envs.rendering.grid import Grid
from mlfs_gym.envs.rendering.occupancy import Occupancy, column, first_jobs, occupancy

COLUMNS: Final = 720
FINEST_SECONDS: Final = 5.0  # a full strip is one hour
COARSEST_SECONDS: Final = 160.0  # 32 hours
SLIDE: Final = COLUMNS // 8


class History:
    """Occupancy over time, one column of pixels for each step of time, and the load of the cluster.

    Starts with an hour. When that is full, two columns become one, up to a limit; from then on the oldest columns
    leave. An episode of any length costs the same.

    Args:
        grid: how GPUs lie in a column.
        coarsest_seconds: of one column; beyond it the strip slides.

    Attributes:
        codes: shape (H, COLUMNS), uint8, see `colours.code_table`.
        jobs: shape (R, COLUMNS), int32, the lowest job of each row, -1: none.
        used: shape (COLUMNS,), share of the cluster's GPU compute in use.
        waiting: shape (COLUMNS,), active jobs with a replica that does not run.
        running: shape (COLUMNS,), jobs with a running replica.
        start: s, time at the left edge.
        seconds: of one column.
        filled: columns that hold something.
    """

    def __init__(self, grid: Grid, coarsest_seconds: float = COARSEST_SECONDS) -> None:
        self.grid = grid
        self.coarsest_seconds = coarsest_seconds
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        empty = np.where(self.grid.row_of_pixel >= 0, NOTHING, GAP).astype(np.uint8)
        self._empty = empty[:, None]
        self.codes = np.repeat(self._empty, COLUMNS, axis=1)
        self.jobs = np.full((len(self.grid.capacity), COLUMNS), -1, np.int32)
        self.used = np.zeros(COLUMNS, np.float32)
        self.waiting = np.zeros(COLUMNS, np.int32)
        self.running = np.zeros(COLUMNS, np.int32)
        self.start = 0.0
        self.seconds = FINEST_SECONDS
        self.filled = 0
        self._time: float | None = None
        self._now: Occupancy | None = None
        self._waiting = 0

    def record(self, state: State) -> None:
        """Take note of the cluster as it is.

        Call it after decisions and after time has passed. What was seen last is taken to have lasted until now, except
        that jobs which have ended since left at their end. If time has gone back (a restored snapshot), what came
        later is forgotten.
        """
        time = float(state.clock["time"][0])
        if self._time is None:
            self.start = time
        elif time < self._time:
            self._forget(time)
        elif time > self._time and self._now is not None:
            self._fill(self._time, time, self._now, state)
        self._time = time
        self._now = occupancy(state, self.grid)
        self._waiting = int(state.clock["num_waiting"][0])

    def column_of(self, time: float) -> int:
        """The first column whose middle is not before a time."""
        return int(np.ceil((time - self.start) / self.seconds - 0.5))

    def _fill(self, begin: float, end: float, now: Occupancy, state: State) -> None:
        self._make_room(end)
        seen = np.unique(now.jobs)
        ended = seen[state.jobs["status"][seen] >= FINISHED]
        for job in ended[np.argsort(state.jobs["finish"][ended], kind="stable")]:
            finish = min(max(begin, float(state.jobs["finish"][job])), end)
            self._paint(begin, finish, now)
            begin, now = finish, now.without(int(job))
        self._paint(begin, end, now)
        self.filled = max(0, min(COLUMNS, self.column_of(end)))

    def _paint(self, begin: float, end: float, now: Occupancy) -> None:
        first, last = max(0, self.column_of(begin)), self.column_of(end)
        if first >= last:
            return
        span = slice(first, last)
        self.codes[:, span] = column(now, self.grid)[:, None]
        self.jobs[:, span] = first_jobs(now, self.grid)[:, None]
        self.used[span] = now.used.sum() / self.grid.capacity.sum()
        self.waiting[span] = self._waiting
        self.running[span] = len(np.unique(now.jobs))

    def _make_room(self, end: float) -> None:
        """Coarsen or slide until `end` lies within the strip."""
        while end > self.start + COLUMNS * self.seconds and self.seconds * 2 <= self.coarsest_seconds:
            half = COLUMNS // 2
            for strip in (self.codes, self.jobs, self.used, self.waiting, self.running):
                strip[..., :half] = strip[..., ::2].copy()
            self._clear(half)
            self.seconds *= 2
        excess = self.column_of(end) - COLUMNS
        if excess > 0:
            shift = min(COLUMNS, -(-excess // SLIDE) * SLIDE)
            for strip in (self.codes, self.jobs, self.used, self.waiting, self.running):
                strip[..., : COLUMNS - shift] = strip[..., shift:].copy()
            self._clear(COLUMNS - shift)
            self.start += -(-excess // SLIDE) * SLIDE * self.seconds

    def _forget(self, time: float) -> None:
        if time < self.start:
            self.reset()
            self.start = time
            return
        first = min(COLUMNS, self.column_of(time))
        self._clear(first)
        self.filled = min(self.filled, first)

    def _clear(self, first: int) -> None:
        self.codes[:, first:] = self._empty
        self.jobs[:, first:] = -1
        for strip in (self.used, self.waiting, self.running):
            strip[first:] = 0
