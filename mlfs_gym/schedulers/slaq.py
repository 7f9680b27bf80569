"""SLAQ: quality-driven scheduling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.iteration_estimate import expected_iteration_time
from mlfs_gym.schedulers.online_fit import Curves, learn_from_losses, new_curves, predicted_fall
from mlfs_gym.schedulers.shares import PatientParams, active_jobs, put_starved_first, share_out


class SLAQ(Scheduler):
    """The GPUs go where they lower the loss most in the next epoch of scheduling.

    Zhang, Stafman, Or and Freedman, "SLAQ: Quality-Driven Scheduling for Distributed Machine Learning", SoCC 2017.
    Losses are normalised by the largest fall per iteration that a job has shown (section 4.1). The fall within the
    next epoch is predicted from a curve fitted to the observed losses, later ones weighing more (4.2). Every job starts
    from one unit; then unit by unit goes to the job with the largest predicted gain (4.3).

    Deviations: a unit is a replica, and gains are per GPU, because replicas differ in GPUs; the curves of second-order
    methods are left out, all jobs are trained by first-order ones; where there are more jobs than GPUs, which the paper
    leaves open, the first units go by gain too; a job without a curve yet is taken to fall by its largest step in every
    iteration, so that new jobs are tried; a job that has waited for days gets a unit out of turn; the epoch is minutes
    instead of seconds, for restarts cost as much.

    Args:
        params: the quantum, which is the epoch too, and patience; None for the defaults.
    """

    name = "slaq"

    def __init__(self, params: PatientParams | Mapping[str, Any] | None = None) -> None:
        self.params = PatientParams.parse(params)
        self.wake_every_seconds = self.params.quantum_seconds
        self._curves = new_curves(0)

    def reset(self, cluster: Cluster) -> None:
        """Forget all curves."""
        self._curves = new_curves(len(cluster.jobs))

    def schedule(self, cluster: Cluster) -> None:
        """Learn from the losses, then share out by predicted gain."""
        if len(self._curves.rows) != len(cluster.jobs):
            self.reset(cluster)
        state, active = cluster.state, active_jobs(cluster)
        learn_from_losses(state, active, self._curves, True)
        levels = np.empty(int(state.jobs["replicas"][active].sum()))
        slaq_levels(state, active, self._curves, self.params.quantum_seconds, levels)
        put_starved_first(state, active, levels, self.params.patience_hours)
        share_out(cluster, active, levels, True, self.params.quantum_seconds)


@kernel
def normalised_fall(state: State, job: int, curves: Curves, replicas: int, epoch: float) -> float:
    """How far a job's loss will fall within an epoch with so many replicas, in units of its largest step so far.

    Args:
        state: the cluster, observed.
        job: an active job.
        curves: of all jobs.
        replicas: at least 1.
        epoch: s.
    """
    row = state.jobs[job]
    iterations = epoch / expected_iteration_time(state, job, replicas)
    iterations = min(iterations, row.max_iterations - row.progress)
    curve = curves.rows[job]
    if curve.fitted == 0 or curve.steepest <= 0.0:
        return float(iterations)
    return predicted_fall(curves, job, row.progress, row.progress + iterations) / curve.steepest


@kernel
def slaq_levels(state: State, order: Array, curves: Curves, epoch: float, levels: Array) -> None:
    """Minus the normalised fall per GPU that each further replica brings; never falling within a job.

    Args:
        state: the cluster, observed.
        order: shape (n,), active jobs.
        curves: of all jobs.
        epoch: s.
        levels: shape (sum of replicas,), receives the levels.
    """
    unit = 0
    for job in order:
        before = 0.0
        level = -np.inf
        for replica in range(state.jobs[job].replicas):
            fall = normalised_fall(state, job, curves, replica + 1, epoch)
            level = max(level, -(fall - before) / state.jobs[job].partitions)
            levels[unit] = level
            before = fall
            unit += 1
