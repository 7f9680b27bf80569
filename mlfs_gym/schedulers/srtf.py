"""Shortest remaining time first, preemptive."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import RUNNING, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.decisions import evict_job, restart_seconds
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.ordered import place_what_fits


class SRTF(Scheduler):
    """The jobs with the least remaining time hold the GPUs (an oracle's knowledge).

    Running and waiting jobs are ranked by remaining time, restarts included; they are admitted while their
    GPUs fit the cluster's total (their compute demand, where GPUs are shared), the running rest is preempted, then
    the admitted ones are placed, skipping what does not fit now. As in the Helios simulator (Hu et al., SC 2021).
    """

    name = "srtf"

    def schedule(self, cluster: Cluster) -> None:
        """Preempt and place."""
        state = cluster.state
        active = state.active[: state.clock["num_active"][0]]
        remaining = np.empty(len(active))
        remaining_with_restart(state, active, remaining)
        order = active[np.argsort(remaining, kind="stable")]
        _serve_preemptively(state, order, cluster.hosts_scratch)


@kernel
def remaining_with_restart(state: State, active: Array, remaining: Array) -> None:
    """Seconds to the end without contention, plus what is left of a restart.

    Args:
        state: the cluster.
        active: shape (n,), jobs.
        remaining: shape (n,), receives seconds.
    """
    for position in range(active.shape[0]):
        row = state.jobs[active[position]]
        seconds = (row.max_iterations - row.progress) * row.ideal_iteration_time
        if row.restart_due == 1:
            seconds += restart_seconds(state, active[position])
        elif row.status == RUNNING:
            seconds += max(0.0, row.stalled_until - state.clock[0].time)
        remaining[position] = seconds


@kernel
def _compute_demand(state: State, job: int) -> int:
    """Milli-GPUs that the whole job asks for."""
    row = state.jobs[job]
    if state.clock[0].sharing == 0:
        return row.num_gpus * MILLI
    demand = 0
    for task in range(row.first_task, row.first_task + row.num_tasks):
        demand += state.tasks[task].gpu_demand
    return demand


@kernel
def _serve_preemptively(state: State, order: Array, hosts: Array) -> None:
    free = state.gpus.shape[0] * MILLI
    admitted = np.empty(order.shape[0], np.int64)
    count = 0
    for job in order:
        demand = _compute_demand(state, job)
        if demand <= free:
            free -= demand
            admitted[count] = job
            count += 1
        elif state.jobs[job].status == RUNNING:
            evict_job(state, job)
    for position in range(count):
        place_what_fits(state, admitted[position], hosts)
