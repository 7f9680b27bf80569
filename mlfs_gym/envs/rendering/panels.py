"""The right part of a frame: running metrics, the queue, what running jobs have learned."""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import State
from mlfs_gym.envs.rendering.canvas import LARGE, NORMAL, SMALL, Anchor, Canvas
from mlfs_gym.envs.rendering.colours import (
    ACCENT,
    ALARM,
    EMPTY,
    MUTED,
    PANEL,
    QUIET,
    TEXT,
    Colour,
    job_colour,
    mix,
    urgency_colour,
)
from mlfs_gym.envs.rendering.summary import Summary, clock_time, duration, percent, progress, traffic
from mlfs_gym.workloads.profiles import FAMILY_NAMES

X: Final = 958
WIDTH: Final = 306
ROW: Final = 17

METRICS_TOP: Final = 66
METRICS_HEIGHT: Final = 148
QUEUE_TOP: Final = 228
QUEUE_ROWS: Final = 10
RUNNING_TOP: Final = 456
RUNNING_ROWS: Final = 12
LIST_HEAD: Final = 38
MOST_SQUARES: Final = 8

QUEUE_HEIGHT: Final = LIST_HEAD + QUEUE_ROWS * ROW + 6
RUNNING_HEIGHT: Final = LIST_HEAD + RUNNING_ROWS * ROW + 6
DONE: Final = (85, 187, 136)


def draw_fixed(canvas: Canvas, num_servers: int, num_gpus: int) -> None:
    """What is the same in every frame."""
    canvas.fill(0, 0, canvas.pixels.shape[1], 48, PANEL)
    _text(canvas, 16, 24, "mlfs-gym", TEXT, LARGE)
    servers = f"{num_servers:,} server" + ("s" if num_servers != 1 else "")
    _text(canvas, 118, 25, f"{servers}, {num_gpus:,} GPU" + ("s" if num_gpus != 1 else ""), MUTED, NORMAL)
    for top, height in (
        (METRICS_TOP, METRICS_HEIGHT),
        (QUEUE_TOP, QUEUE_HEIGHT),
        (RUNNING_TOP, RUNNING_HEIGHT),
    ):
        canvas.fill(X, top, WIDTH, height, PANEL)
    _text(canvas, X + 10, QUEUE_TOP + 14, "Queue", TEXT, NORMAL)
    _text(canvas, X + 10, RUNNING_TOP + 14, "Running", TEXT, NORMAL)


def draw_header(canvas: Canvas, state: State, summary: Summary) -> None:
    """Time, and where the jobs are."""
    _text(canvas, 330, 24, clock_time(summary.time), TEXT, LARGE)
    _text(canvas, 520, 25, f"round {int(state.clock['rounds'][0]):,}", MUTED, NORMAL)
    left, width = 640, 300
    ended = summary.ended / max(1, summary.jobs)
    running = len(summary.running) / max(1, summary.jobs)
    arrived = summary.arrived / max(1, summary.jobs)
    canvas.bar(left, 19, width, 10, arrived, QUIET, EMPTY)
    canvas.fill(left, 19, round(width * (ended + running)), 10, ACCENT)
    canvas.fill(left, 19, round(width * ended), 10, DONE)
    x = X
    queued = summary.arrived - summary.ended - len(summary.running)
    for number, name, colour in (
        (summary.ended, "ended", DONE),
        (len(summary.running), "run", ACCENT),
        (queued, "queue", MUTED),
        (summary.jobs - summary.arrived, "to come", QUIET),
    ):
        canvas.fill(x, 20, 8, 8, colour)
        x += 12 + _text(canvas, x + 12, 24, f"{number:,} {name}", TEXT) + 12


def draw_metrics(canvas: Canvas, state: State, summary: Summary) -> None:
    """The paper's metrics so far."""
    clock = state.clock[0]
    figures = (
        ("mean JCT", duration(summary.average_jct)),
        ("in time", percent(summary.deadline_ratio)),
        ("accurate", percent(summary.guarantee_ratio)),
        ("accuracy", "-" if np.isnan(summary.average_accuracy) else f"{summary.average_accuracy:.2f}"),
        ("traffic", traffic(float(clock["bytes_sent"]))),
        ("overloads", f"{int(clock['overloads']):,}"),
        ("moves", f"{int(clock['migrations']):,}"),
        ("preempted", f"{int(clock['preemptions']):,}"),
    )
    _text(canvas, X + 10, METRICS_TOP + 13, "So far", TEXT, NORMAL)
    _text(canvas, X + WIDTH - 10, METRICS_TOP + 13, f"over {summary.ended:,} ended jobs", MUTED, anchor="right")
    for number, (name, value) in enumerate(figures):
        x = X + 10 + number % 4 * 74
        y = METRICS_TOP + 46 + number // 4 * 54
        _text(canvas, x, y, value, TEXT, 17)
        _text(canvas, x, y + 20, name, MUTED)


def draw_queue(canvas: Canvas, state: State, summary: Summary) -> None:
    """Jobs with replicas that do not run: GPUs that they wait for, urgency, waiting time, time to the deadline."""
    jobs, time = state.jobs, summary.time
    partly = int((jobs["running_replicas"][summary.waiting] > 0).sum())
    count = f"{len(summary.waiting):,}" + (f" ({partly:,} partly running)" if partly else "")
    _text(canvas, X + 62, QUEUE_TOP + 14, count, MUTED, NORMAL)
    _titles(canvas, QUEUE_TOP, (("left", 64, "GPUs"), ("left", 140, "urgency"), ("right", 228, "waited")))
    for number, job in enumerate(_fitting(canvas, summary.waiting, QUEUE_TOP, QUEUE_ROWS)):
        row = jobs[job]
        y = QUEUE_TOP + LIST_HEAD + number * ROW + ROW // 2 + 2
        _name(canvas, y, int(job))
        colour = urgency_colour(float(row["urgency"]))
        gpus = int((row["replicas"] - row["running_replicas"]) * row["partitions"])
        if gpus <= MOST_SQUARES:
            for square in range(gpus):
                canvas.fill(X + 64 + square * 9, y - 3, 7, 7, colour)
        else:
            canvas.fill(X + 64, y - 3, 7, 7, colour)
            _text(canvas, X + 76, y, f"x {gpus}", colour)
        canvas.bar(X + 140, y - 2, 34, 4, float(row["urgency"]) / 10.0, colour, EMPTY)
        waited = float(row["waiting_time"])
        if row["running_replicas"] == 0:
            waited += max(0.0, time - float(row["settled_at"]))
        _text(canvas, X + 228, y, duration(waited), MUTED, anchor="right")
        _deadline(canvas, y, float(row["deadline"]) - time)


def draw_running(canvas: Canvas, state: State, summary: Summary) -> None:
    """Running jobs, the next to finish first: iterations done, accuracy against what is required, deadline."""
    jobs, time = state.jobs, summary.time
    _text(canvas, X + 76, RUNNING_TOP + 14, f"{len(summary.running):,}", MUTED, NORMAL)
    _titles(canvas, RUNNING_TOP, (("left", 60, "model"), ("left", 122, "iterations"), ("left", 186, "accuracy")))
    order = np.argsort(jobs["finish_at"][summary.running], kind="stable")
    shown = _fitting(canvas, summary.running[order], RUNNING_TOP, RUNNING_ROWS)
    shares = progress(state, shown, time)
    for number, job in enumerate(shown):
        row = jobs[job]
        y = RUNNING_TOP + LIST_HEAD + number * ROW + ROW // 2 + 2
        colour = job_colour(int(job))
        _name(canvas, y, int(job))
        _text(canvas, X + 60, y, FAMILY_NAMES[row["model"]], MUTED)
        canvas.bar(X + 122, y - 4, 50, 8, float(shares[number]), colour, EMPTY)
        met = row["requirement_met"] == 1
        accuracy, required = float(row["accuracy"]), float(row["required_accuracy"])
        canvas.bar(X + 186, y - 4, 50, 8, accuracy, DONE if met else mix(TEXT, QUIET, 0.3), EMPTY)
        canvas.fill(X + 186 + min(48, round(50 * required)), y - 6, 2, 12, TEXT)
        late = row["finish_at"] > row["deadline"]
        _deadline(canvas, y, float(row["deadline"]) - time, bool(late))


def _text(canvas: Canvas, x: int, y: int, text: str, colour: Colour, size: int = SMALL, anchor: Anchor = "left") -> int:
    return canvas.text(x, y, text, colour, size, anchor, on=PANEL)


def _fitting(canvas: Canvas, jobs: np.ndarray, top: int, rows: int) -> np.ndarray:
    """As many jobs as there are rows; the last row says how many more there are."""
    if len(jobs) <= rows:
        return jobs
    y = top + LIST_HEAD + (rows - 1) * ROW + ROW // 2 + 2
    _text(canvas, X + 24, y, f"and {len(jobs) - rows + 1:,} more", MUTED)
    return jobs[: rows - 1]


def _titles(canvas: Canvas, top: int, titles: tuple[tuple[Anchor, int, str], ...]) -> None:
    for anchor, x, title in (*titles, ("right", WIDTH - 10, "deadline")):
        _text(canvas, X + x, top + 30, title, QUIET, anchor=anchor)


def _name(canvas: Canvas, y: int, job: int) -> None:
    canvas.fill(X + 10, y - 4, 8, 8, job_colour(job))
    _text(canvas, X + 23, y, str(job), TEXT)


def _deadline(canvas: Canvas, y: int, left: float, late: bool = False) -> None:
    """Time to a deadline, red if it has passed or will be missed."""
    text = duration(left) if left >= 0 else f"{duration(-left)} ago"
    alarm = late or left < 0
    _text(canvas, X + WIDTH - 10, y, ("! " if alarm else "") + text, ALARM if alarm else MUTED, anchor="right")
