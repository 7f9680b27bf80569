"""HyperSched: accuracy before a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.iteration_estimate import expected_iteration_time
from mlfs_gym.schedulers.online_fit import Curves, learn_from_accuracies, new_curves, predicted_fall
from mlfs_gym.schedulers.shares import PatientParams, active_jobs, put_starved_first, share_out

WITHOUT_GAIN = 1.0  # level of further replicas that bring nothing: after the first replica of every job


class HyperSched(Scheduler):
    """The GPUs go where they bring the most accuracy before the deadline.

    Liaw, Bhardwaj, Dunlap, Zou, Gonzalez, Stoica and Tumanov, "HyperSched: Dynamic Resource Reallocation for Model
    Development on a Deadline", SoCC 2019: jobs are tried, and those that promise the most accuracy by the deadline get
    more and more of the resources. The gain by the deadline is predicted from a curve fitted to the observed accuracy
    and divided by the GPU time that it takes, for the first replica of a job as for each further one.

    Deviations: the paper's jobs are trials of one search with a common deadline, of which the best counts; here every
    job has a deadline and counts by itself, as in MLFS (CoNEXT 2020, section 4.1); jobs with little to gain are not
    paused for good but ranked last, and those past their deadline, with nothing to gain, follow in order of arrival;
    one that has waited for days gets a replica out of turn; a job without a curve yet is taken to gain the same in
    each iteration, up to accuracy 1 in the last.

    Args:
        params: quantum and patience; None for the defaults.
    """

    name = "hypersched"

    def __init__(self, params: PatientParams | Mapping[str, Any] | None = None) -> None:
        self.params = PatientParams.parse(params)
        self.wake_every_seconds = self.params.quantum_seconds
        self._curves = new_curves(0)

    def reset(self, cluster: Cluster) -> None:
        """Forget all curves."""
        self._curves = new_curves(len(cluster.jobs))

    def schedule(self, cluster: Cluster) -> None:
        """Learn from the accuracies, then share out by predicted gain."""
        if len(self._curves.rows) != len(cluster.jobs):
            self.reset(cluster)
        state, active = cluster.state, active_jobs(cluster)
        learn_from_accuracies(state, active, self._curves, True)
        levels = np.empty(int(state.jobs["replicas"][active].sum()))
        hypersched_levels(state, active, self._curves, levels)
        put_starved_first(state, active, levels, self.params.patience_hours)
        share_out(cluster, active, levels, False, self.params.quantum_seconds)


@kernel
def gain_and_gpu_time(state: State, job: int, curves: Curves, replicas: int) -> tuple[float, float]:
    """Accuracy that a job gains by its deadline with so many replicas from now on, and the GPU-seconds that it takes.

    Args:
        state: the cluster, observed.
        job: an active job.
        curves: of all jobs.
        replicas: at least 1.

    Returns:
        (0, 0) when the deadline has passed.
    """
    row = state.jobs[job]
    left = row.deadline - state.clock[0].time
    if left <= 0.0:
        return 0.0, 0.0
    to_the_end = row.max_iterations - row.progress
    seconds = expected_iteration_time(state, job, replicas)
    iterations = min(to_the_end, left / seconds)
    if curves.rows[job].fitted == 1:
        gain = predicted_fall(curves, job, row.progress, row.progress + iterations)
    else:
        gain = (1.0 - row.accuracy) * iterations / to_the_end
    return float(gain), float(iterations * seconds * replicas * row.partitions)


@kernel
def hypersched_levels(state: State, order: Array, curves: Curves, levels: Array) -> None:
    """Minus the accuracy per GPU-second that each further replica brings before the deadline; never falling in a job.

    Args:
        state: the cluster, observed.
        order: shape (n,), active jobs.
        curves: of all jobs.
        levels: shape (sum of replicas,), receives the levels.
    """
    unit = 0
    for job in order:
        gain = 0.0
        gpu_time = 0.0
        level = -np.inf
        for replicas in range(1, state.jobs[job].replicas + 1):
            more_gain, more_time = gain_and_gpu_time(state, job, curves, replicas)
            rate = 0.0
            if more_time > gpu_time:
                rate = (more_gain - gain) / (more_time - gpu_time)
            level = max(level, -rate)
            if replicas > 1 and level >= 0.0:
                level = WITHOUT_GAIN
            levels[unit] = level
            gain = more_gain
            gpu_time = more_time
            unit += 1
