"""Optimus: marginal gains in completion time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.iteration_estimate import expected_iteration_time
from mlfs_gym.schedulers.online_fit import Curves, learn_from_losses, new_curves, predicted_fall
from mlfs_gym.schedulers.shares import PatientParams, active_jobs, put_starved_first, share_out


class OptimusParams(PatientParams):
    """Settings of Optimus."""

    quantum_seconds: float = Field(
        default=600.0, gt=0, le=1e7, description="interval of allocation (section 4: 10 minutes)"
    )
    converged_below: float = Field(
        default=0.001, gt=0, lt=1, description="fall of the loss per iteration, part of the first loss, that ends a job"
    )


class Optimus(Scheduler):
    """Every job gets one worker, then workers go where they shorten the time to convergence most.

    Peng, Bao, Chen, Wu and Guo, "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning Clusters",
    EuroSys 2018. The iterations that remain come from a curve fitted online to the observed losses, and convergence is
    when the loss falls by less than a threshold (section 3.1); the speed from a model of compute and communication
    (3.2); the gain of a worker is the remaining time that it saves over the resources that it takes (4.1).

    Deviations: a worker is a replica, one with P partitions takes P GPUs; parameter servers come with the first
    replica and are not scaled; jobs here run to their maximum of iterations unless load control stops them, so that is
    what remains once the predicted convergence is passed, or as long as there is no curve; where there are more jobs
    than GPUs, which the paper leaves open, first workers go to the jobs with the least remaining GPU time, the order in
    which one GPU-second saves most, and a job that has waited for days gets one out of turn; jobs are not scheduled at
    multiples of the interval only, but none is preempted within an interval of its start.

    Args:
        params: interval, threshold and patience; None for the defaults.
    """

    name = "optimus"

    def __init__(self, params: OptimusParams | Mapping[str, Any] | None = None) -> None:
        self.params = OptimusParams.parse(params)
        self.wake_every_seconds = self.params.quantum_seconds
        self._curves = new_curves(0)

    def reset(self, cluster: Cluster) -> None:
        """Forget all curves."""
        self._curves = new_curves(len(cluster.jobs))

    def schedule(self, cluster: Cluster) -> None:
        """Learn from the losses, then share out by marginal gain."""
        if len(self._curves.rows) != len(cluster.jobs):
            self.reset(cluster)
        state, active = cluster.state, active_jobs(cluster)
        learn_from_losses(state, active, self._curves, False)
        levels = np.empty(int(state.jobs["replicas"][active].sum()))
        optimus_levels(state, active, self._curves, self.params.converged_below, levels)
        put_starved_first(state, active, levels, self.params.patience_hours)
        share_out(cluster, active, levels, True, self.params.quantum_seconds)


@kernel
def remaining_iterations(state: State, job: int, curves: Curves, converged_below: float) -> float:
    """Iterations to the predicted convergence, at most to the maximum; to the maximum if that is passed or unknown.

    Args:
        state: the cluster, observed.
        job: an active job.
        curves: of all jobs.
        converged_below: fall of the loss per iteration, part of the first loss.
    """
    row = state.jobs[job]
    to_the_end = row.max_iterations - row.progress
    if curves.rows[job].fitted == 0:
        return to_the_end
    least = converged_below * row.first_loss
    if predicted_fall(curves, job, row.progress, row.progress + 1.0) < least:
        return to_the_end
    low = row.progress  # falls enough
    high = float(row.max_iterations)
    if predicted_fall(curves, job, high, high + 1.0) >= least:
        return to_the_end
    while high - low > 1.0:  # the fall per iteration falls itself: bisection
        middle = 0.5 * (low + high)
        if predicted_fall(curves, job, middle, middle + 1.0) >= least:
            low = middle
        else:
            high = middle
    return high - row.progress


@kernel
def optimus_levels(state: State, order: Array, curves: Curves, converged_below: float, levels: Array) -> None:
    """Of each first replica the remaining GPU time, of each further one minus the time that it saves per GPU.

    Args:
        state: the cluster, observed.
        order: shape (n,), active jobs.
        curves: of all jobs.
        converged_below: see `remaining_iterations`.
        levels: shape (sum of replicas,), receives the levels.
    """
    unit = 0
    for job in order:
        row = state.jobs[job]
        iterations = remaining_iterations(state, job, curves, converged_below)
        seconds = iterations * expected_iteration_time(state, job, 1)
        levels[unit] = seconds * row.partitions
        unit += 1
        level = -np.inf
        for replicas in range(2, row.replicas + 1):
            with_it = iterations * expected_iteration_time(state, job, replicas)
            level = max(level, -(seconds - with_it) / row.partitions)
            levels[unit] = level
            seconds = with_it
            unit += 1
