"""The metrics of the paper (CoNEXT 2020, section 4; ToN 2022), read off the state arrays."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, PENDING, STOPPED, State

URGENT_ABOVE = 8.0

METRICS: dict[str, str] = {
    "jobs": "jobs of the workload",
    "finished": "jobs that ended, by their last iteration or a stop",
    "average_jct_s": "mean job completion time; jobs that have not ended count up to now",
    "median_jct_s": "median of the same",
    "p95_jct_s": "95th percentile of the same",
    "makespan_s": "first arrival to last end (to now, if a job has not ended)",
    "deadline_ratio": "share of jobs that ended by their deadline",
    "urgent_deadline_ratio": "the same among jobs of urgency above 8; nan without any",
    "average_waiting_s": "mean time without any running replica",
    "average_accuracy": "mean accuracy by the deadline",
    "accuracy_guarantee_ratio": "share of jobs that reached their required accuracy by the deadline",
    "bandwidth_tb": "traffic between servers, checkpoints included, in 1e12 bytes",
    "overloads": "times that a server became overloaded",
    "migrations": "tasks moved",
    "preemptions": "jobs evicted",
    "rounds": "scheduling rounds in which there was something to decide",
}
"""Name and meaning of each metric, in the order of tables."""


def completion_times(state: State) -> np.ndarray:
    """JCT in seconds of every job that has arrived, shape (n,), in order of arrival."""
    jobs = state.jobs[state.jobs["status"] != PENDING]
    now = state.clock["time"][0]
    return np.where(np.isnan(jobs["finish"]), now, jobs["finish"]) - jobs["arrival"]


def metrics(state: State) -> dict[str, float]:
    """All metrics of a run so far. Keys and meanings: `METRICS`."""
    jobs, clock = state.jobs, state.clock[0]
    count = len(jobs)
    times = completion_times(state)
    ordered = np.sort(times) if len(times) else np.zeros(1)
    ended = (jobs["status"] == FINISHED) | (jobs["status"] == STOPPED)
    in_time = ended & (jobs["finish"] <= jobs["deadline"])
    urgent = jobs["urgency"] > URGENT_ABOVE
    last_end = jobs["finish"].max() if ended.all() and count else clock["time"]
    first_arrival = jobs["arrival"].min() if count else 0.0
    return {
        "jobs": float(count),
        "finished": float(ended.sum()),
        "average_jct_s": float(times.sum() / count) if count else 0.0,
        "median_jct_s": _quantile(ordered, 0.5),
        "p95_jct_s": _quantile(ordered, 0.95),
        "makespan_s": float(max(0.0, last_end - first_arrival)),
        "deadline_ratio": float(in_time.mean()),
        "urgent_deadline_ratio": float(in_time[urgent].mean()) if urgent.any() else float("nan"),
        "average_waiting_s": float(jobs["waiting_time"].mean()),
        "average_accuracy": float(jobs["accuracy_by_deadline"].mean()),
        "accuracy_guarantee_ratio": float(jobs["requirement_met"].mean()),
        "bandwidth_tb": float(clock["bytes_sent"] / 1e12),
        "overloads": float(clock["overloads"]),
        "migrations": float(clock["migrations"]),
        "preemptions": float(clock["preemptions"]),
        "rounds": float(clock["rounds"]),
    }


def _quantile(ordered: np.ndarray, share: float) -> float:
    """A quantile of numbers in ascending order, as `numpy.quantile` interpolates it, in a tenth of the time."""
    place = share * (len(ordered) - 1)
    low = int(place)
    below, above = float(ordered[low]), float(ordered[min(low + 1, len(ordered) - 1)])
    weight = place - low
    return below + (above - below) * weight if weight < 0.5 else above - (above - below) * (1.0 - weight)
