"""The figures that every kind of rendering shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, RUNNING, Array, State


class Summary(NamedTuple):
    """The cluster now. Means and ratios are over the jobs that have ended, nan while there are none.

    Attributes:
        time: s.
        jobs: in the workload.
        arrived: of them.
        ended: of them.
        running: indices of jobs with a running replica, in order of arrival.
        waiting: indices of active jobs with a replica that does not run, in order of arrival.
        used: share of the cluster's GPU compute in use.
        average_jct: s.
        deadline_ratio: in time.
        guarantee_ratio: reached their required accuracy in time.
        average_accuracy: by the deadline.
    """

    time: float
    jobs: int
    arrived: int
    ended: int
    running: Array
    waiting: Array
    used: float
    average_jct: float
    deadline_ratio: float
    guarantee_ratio: float
    average_accuracy: float

    @classmethod
    def of(cls, state: State) -> Summary:
        """Read it off the arrays."""
        clock, jobs = state.clock[0], state.jobs
        arrived = int(clock["next_arrival"])
        ended = np.flatnonzero(jobs["status"][:arrived] >= FINISHED)
        active = state.active[: clock["num_active"]]
        finish = jobs["finish"][ended]
        return cls(
            time=float(clock["time"]),
            jobs=len(jobs),
            arrived=arrived,
            ended=len(ended),
            running=active[jobs["status"][active] == RUNNING],
            waiting=active[jobs["running_replicas"][active] < jobs["replicas"][active]],
            used=float(state.gpus["used"].sum() / (1000.0 * len(state.gpus))),
            average_jct=_mean(finish - jobs["arrival"][ended]),
            deadline_ratio=_mean(finish <= jobs["deadline"][ended]),
            guarantee_ratio=_mean(jobs["requirement_met"][ended]),
            average_accuracy=_mean(jobs["accuracy_by_deadline"][ended]),
        )


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")


def progress(state: State, jobs: Array, time: float) -> Array:
    """Share of the iterations that jobs have done by a time, which may lie after their last settlement."""
    rows = state.jobs
    since = np.maximum(rows["settled_at"][jobs], rows["stalled_until"][jobs])
    speed = 1.0 / np.maximum(rows["iteration_time"][jobs], 1e-12)
    done = rows["progress"][jobs] + np.maximum(0.0, time - since) * speed  # speed is 0 where nothing runs
    return np.minimum(1.0, done / np.maximum(1, rows["max_iterations"][jobs]))


def duration(seconds: float) -> str:
    """A time span in a few characters, "-" if it is not known."""
    if not np.isfinite(seconds):
        return "-"
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("m", 60.0)):
        if abs(seconds) >= size:
            return f"{seconds / size:.1f} {unit}" if abs(seconds) < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def percent(share: float) -> str:
    """A share as whole percent, "-" if there is none."""
    return "-" if np.isnan(share) else f"{100 * share:.0f}%"


def clock_time(seconds: float) -> str:
    """Day and time of day of a simulation that starts at midnight."""
    whole = int(seconds)
    return f"day {whole // 86_400}, {whole // 3600 % 24:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def traffic(count: float) -> str:
    """Bytes with a unit, in three digits or so."""
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:.{2 if count < 10 * size else 1 if count < 100 * size else 0}f} {unit}"
    return f"{count / 1e6:.0f} MB"
