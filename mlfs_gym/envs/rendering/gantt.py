"""The left part of a frame: GPUs over time, the servers' resources now, and the load over time."""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.envs.rendering.canvas import NORMAL, Canvas
from mlfs_gym.envs.rendering.colours import (
    ACCENT,
    ALARM,
    BACKGROUND,
    EMPTY,
    GAP,
    INK,
    MUTED,
    PANEL,
    QUIET,
    TEXT,
    Colour,
    bright_code,
    code_table,
    job_colour,
)
from mlfs_gym.envs.rendering.grid import HEIGHT, Grid
from mlfs_gym.envs.rendering.history import COLUMNS, History
from mlfs_gym.envs.rendering.occupancy import Occupancy, column, occupancy
from mlfs_gym.envs.rendering.summary import Summary, percent

LEFT: Final = 72  # of the strip
TOP: Final = 84
NOW_LEFT: Final = LEFT + COLUMNS + 6
NOW_WIDTH: Final = 44
METER_LEFT: Final = NOW_LEFT + NOW_WIDTH + 8
METER_WIDTH: Final = 26
METER_STEP: Final = 32
METER_HEIGHT: Final = 10
AXIS: Final = TOP + HEIGHT + 10
CHART_TOPS: Final = (578, 652)
CHART_HEIGHT: Final = 48
LABELLED_LANES: Final = 10  # rows as high as this carry numbers of jobs
TICKS_SECONDS: Final = tuple(60 * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440, 2880))
LEAST_TICK_PIXELS: Final = 64
METERS: Final = (("CPU", "cpu"), ("RAM", "memory"), ("NIC", "nic"))

_WAITING: Final = (242, 177, 52)
_TABLE = code_table()
_METER_TABLE = np.array([EMPTY, QUIET, ALARM, BACKGROUND], np.uint8)


class GanttView:
    """Draws the strip of a history and what belongs to it.

    Args:
        grid: how GPUs lie in a column.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._block_or_last = np.maximum(grid.block_of_pixel, 0)
        middles = np.array(
            [np.flatnonzero(grid.block_of_pixel == block).mean() for block in range(len(grid.mark_pixel))]
        )
        near = np.abs(np.arange(HEIGHT) - middles[self._block_or_last]) <= METER_HEIGHT / 2
        self._in_meter = ((grid.block_of_pixel >= 0) & near)[:, None]
        self._numbered_meters = np.bincount(self._block_or_last).min() >= 3 * METER_HEIGHT

    def draw_fixed(self, canvas: Canvas) -> None:
        """What is the same in every frame."""
        canvas.text(LEFT, TOP - 18, "GPUs over time", TEXT, NORMAL)
        canvas.text(LEFT + 112, TOP - 18, self._legend(), MUTED)
        canvas.text(NOW_LEFT + NOW_WIDTH // 2, TOP - 18, "now", MUTED, anchor="middle")
        for number, (title, _) in enumerate(METERS):
            x = METER_LEFT + number * METER_STEP + METER_WIDTH // 2
            canvas.text(x, TOP - 18, title, MUTED, anchor="middle")
        for top in CHART_TOPS:
            canvas.fill(LEFT, top, COLUMNS, CHART_HEIGHT, PANEL)

    def _legend(self) -> str:
        size = self.grid.servers_per_block
        row = "one GPU" if self.grid.per_gpu else "one server" if size == 1 else f"{size} servers"
        use = "brighter with use" if self.grid.by_load else "filled as far as used, one colour a job"
        return f"one row: {row}, {use}, red line: overloaded"

    def draw(self, canvas: Canvas, state: State, history: History, summary: Summary) -> None:
        """The part of a frame that changes."""
        now = occupancy(state, self.grid)
        self._draw_strip(canvas, history)
        self._draw_now(canvas, now)
        self._draw_labels(canvas, now)
        self._draw_meters(canvas, state)
        ticks = _ticks(history)
        for x, text in ticks:
            canvas.text(x, AXIS, text, MUTED, anchor="middle")
        self._draw_charts(canvas, history, summary, [x for x, _ in ticks])

    def _draw_strip(self, canvas: Canvas, history: History) -> None:
        codes = history.codes
        jobs = history.jobs
        starts = (jobs[:, 1:] != jobs[:, :-1]) & (jobs[:, 1:] >= 0)
        if self.grid.per_gpu:
            # A dark line where a GPU's first job changes, so that neighbours of similar colour stay apart.
            codes = codes.copy()
            row, col = np.nonzero(starts & (jobs[:, :-1] >= 0))
            pixels = self.grid.first_pixel[row][:, None] + np.arange(self.grid.lanes)
            codes[pixels, col[:, None] + 1] = GAP
        bottom = self.grid.height
        image = _TABLE.take(codes[:bottom], axis=0, mode="clip")  # several times as fast as indexing
        canvas.pixels[TOP : TOP + bottom, LEFT : LEFT + COLUMNS] = image
        if history.filled < COLUMNS:
            canvas.fill(LEFT + history.filled, TOP, 1, self.grid.height, TEXT)
        if self.grid.per_gpu and self.grid.lanes >= LABELLED_LANES:
            self._label_runs(canvas, history)

    def _label_runs(self, canvas: Canvas, history: History) -> None:
        """Job numbers at the beginning of bars that have room for them."""
        grid, jobs = self.grid, history.jobs
        changes = np.ones_like(jobs, np.bool_)
        changes[:, 1:] = jobs[:, 1:] != jobs[:, :-1]
        row, col = np.nonzero(changes)
        length = np.diff(np.append(row * COLUMNS + col, jobs.size))
        length = np.minimum(length, COLUMNS - col)
        numbers = jobs[row, col]
        wide = (numbers >= 0) & (length >= 20)
        baseline = grid.first_pixel[row] + grid.lanes - 6
        # Only where the job's own colour lies behind the whole height of the digits.
        high = grid.first_pixel[row] + grid.lanes - LABELLED_LANES
        own = bright_code(np.maximum(numbers, 0))
        behind = np.ones(len(row), np.bool_)
        for step in (3, 9, 15):
            behind &= history.codes[high, np.minimum(col + step, COLUMNS - 1)] == own
        for index in np.flatnonzero(wide & behind):
            text = str(numbers[index])
            if 7 * len(text) + 6 <= length[index]:
                colour = job_colour(int(numbers[index]))
                canvas.text(LEFT + int(col[index]) + 3, TOP + int(baseline[index]), text, INK, on=colour)

    def _draw_now(self, canvas: Canvas, now: Occupancy) -> None:
        """The jobs on each GPU by number or, where there is no room for that, by colour."""
        if not self.grid.per_gpu or self.grid.lanes < LABELLED_LANES:
            codes = column(now, self.grid)
            image = _TABLE[codes[: self.grid.height]]
            canvas.pixels[TOP : TOP + self.grid.height, NOW_LEFT : NOW_LEFT + NOW_WIDTH] = image[:, None]
            return
        ends = [NOW_LEFT] * len(self.grid.capacity)
        seen = (-1, -1)
        for row, job in zip(now.rows.tolist(), now.jobs.tolist(), strict=True):
            x, y = ends[row], TOP + int(self.grid.first_pixel[row]) + self.grid.lanes // 2
            if (row, job) == seen or x > NOW_LEFT + NOW_WIDTH:
                continue
            seen = (row, job)
            if x > NOW_LEFT and x + 7 * len(str(job)) > NOW_LEFT + NOW_WIDTH:
                ends[row] = x + NOW_WIDTH + canvas.text(x, y, "+", MUTED)
            else:
                ends[row] = x + 5 + canvas.text(x, y, str(job), job_colour(job))

    def _draw_labels(self, canvas: Canvas, now: Occupancy) -> None:
        overloaded = np.zeros(len(self.grid.mark_pixel), np.bool_)
        overloaded[self.grid.block_of_server[now.overloaded]] = True
        red = (self.grid.block_of_pixel >= 0) & overloaded[self._block_or_last]
        canvas.pixels[TOP : TOP + HEIGHT, LEFT - 7 : LEFT - 3][red] = ALARM
        for middle, text in self.grid.labels:
            alarm = overloaded[self.grid.block_of_pixel[middle]]
            canvas.text(
                LEFT - 11, TOP + middle, text + (" !" if alarm else ""), ALARM if alarm else MUTED, anchor="right"
            )

    def _draw_meters(self, canvas: Canvas, state: State) -> None:
        """Use of each server's other resources now; a full bar is the capacity, a red one more than that."""
        grid, servers = self.grid, state.servers
        blocks = len(grid.mark_pixel)
        for number, (_, name) in enumerate(METERS):
            x = METER_LEFT + number * METER_STEP
            used = np.bincount(grid.block_of_server, servers[f"{name}_used"], blocks)
            share = used / np.maximum(1, np.bincount(grid.block_of_server, servers[name], blocks))
            width = np.ceil(np.minimum(1.0, share) * METER_WIDTH)
            codes = np.where(np.arange(METER_WIDTH) < width[:, None], np.where(share > 1.0, 2, 1)[:, None], 0)
            image = np.where(self._in_meter, codes[self._block_or_last], 3)
            canvas.pixels[TOP : TOP + HEIGHT, x : x + METER_WIDTH] = _METER_TABLE.take(image, axis=0)
            if not self._numbered_meters:
                continue
            for (middle, _), value in zip(grid.labels, share.tolist(), strict=True):
                text, colour = percent(value), ALARM if value > 1.0 else MUTED
                canvas.text(x + METER_WIDTH // 2, TOP + middle - METER_HEIGHT // 2 - 8, text, colour, anchor="middle")

    def _draw_charts(self, canvas: Canvas, history: History, summary: Summary, ticks: list[int]) -> None:
        used_top, queue_top = CHART_TOPS
        most = max(10, int(history.waiting.max()), int(history.running.max()))
        for top in CHART_TOPS:
            for x in ticks:
                canvas.fill(x, top, 1, CHART_HEIGHT, EMPTY)
        _area(canvas, used_top, history.used, ACCENT, 1.0)
        _area(canvas, queue_top, history.waiting, _WAITING, most)
        _curve(canvas, queue_top, history.running[: history.filled], TEXT, most)
        x = canvas.text(LEFT, used_top - 10, "GPU compute in use", MUTED) + LEFT
        canvas.text(x + 8, used_top - 10, percent(summary.used), ACCENT)
        x = canvas.text(LEFT, queue_top - 10, "Jobs that wait", MUTED) + LEFT
        x += 8 + canvas.text(x + 8, queue_top - 10, str(len(summary.waiting)), _WAITING)
        x += 16 + canvas.text(x + 16, queue_top - 10, "jobs that run", MUTED)
        canvas.text(x + 8, queue_top - 10, str(len(summary.running)), TEXT)
        for top, high in ((used_top, "100%"), (queue_top, str(most))):
            canvas.text(LEFT - 8, top + 5, high, MUTED, anchor="right")
            canvas.text(LEFT - 8, top + CHART_HEIGHT - 5, "0", MUTED, anchor="right")


def _area(canvas: Canvas, top: int, values: Array, colour: Colour, most: float) -> None:
    height = np.ceil(np.minimum(1.0, values / most) * CHART_HEIGHT)
    mask = np.arange(CHART_HEIGHT)[::-1, None] < height
    canvas.pixels[top : top + CHART_HEIGHT, LEFT : LEFT + COLUMNS][mask] = colour


def _curve(canvas: Canvas, top: int, values: Array, colour: Colour, most: float) -> None:
    height = 1 + np.floor(np.minimum(1.0, values / most) * (CHART_HEIGHT - 2))
    before = np.append(height[:1], height[:-1])
    level = np.arange(CHART_HEIGHT)[::-1, None]
    mask = (level <= np.maximum(height, before)) & (level >= np.minimum(height, before) - 1)
    canvas.pixels[top : top + CHART_HEIGHT, LEFT : LEFT + len(values)][mask] = colour


def _ticks(history: History) -> list[tuple[int, str]]:
    """Places and texts of the axis."""
    span = COLUMNS * history.seconds
    fitting = [step for step in TICKS_SECONDS if step * COLUMNS >= LEAST_TICK_PIXELS * span]
    step = fitting[0] if fitting else TICKS_SECONDS[-1]
    ticks = []
    number = int(np.ceil(history.start / step))
    while number * step <= history.start + span:
        time = number * step
        text = f"day {time // 86_400}" if time % 86_400 == 0 else f"{time // 3600 % 24}:{time // 60 % 60:02d}"
        ticks.append((LEFT + round((time - history.start) / history.seconds), text))
        number += 1
    return ticks
