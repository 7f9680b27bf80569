"""Shortest remaining time first, preemptive."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import RUNNING, Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.decisions import restart_seconds
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.preemptive import serve_admitted


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
        serve_admitted(state, order, cluster.hosts_scratch)


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
