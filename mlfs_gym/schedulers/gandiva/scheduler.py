"""Gandiva as a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.gandiva.migration import defragment, unpack
from mlfs_gym.schedulers.quantum import had_its_quantum, serving_since
from mlfs_gym.schedulers.shares import PreemptiveParams, active_jobs, share_out

# Who comes first.
IN_ITS_SLICE = 0
SUSPENDED = 1
AFTER_ITS_SLICE = 2


class GandivaParams(PreemptiveParams):
    """Settings of Gandiva; the quantum is the time slice."""

    slowdown_limit: float = Field(
        default=1.1, ge=1, le=100, description="measured over profiled iteration time above which a job is unpacked"
    )
    migration_cooldown_seconds: float = Field(default=1800.0, ge=0, description="a moved task stays at least this long")


class Gandiva(Scheduler):
    """Jobs take turns in time slices; GPUs are packed, unpacked by measurement, and defragmented by migration.

    Xiao et al., "Gandiva: Introspective Cluster Scheduling for Deep Learning", OSDI 2018: the cluster is
    over-subscribed and jobs are suspended and resumed round-robin (sections 3.1 and 4.1); a job that arrives replaces
    jobs of its own size if it can (affinity, 4.1); on shared GPUs jobs are packed, and unpacked if the measured
    iteration time shows that it slows them down (3.1, 4.2); jobs migrate to make room for gangs (3.1, 4.2) and
    grow on idle GPUs and shrink when others need them (4.2).

    Deviations: a time slice is minutes, not one minute, because a restart costs 7 to 60 s here instead of less than
    one; a suspended job leaves its GPUs and may be resumed elsewhere; affinity has no servers set apart for each size,
    but a suspended job displaces what holds the fewest GPUs that suffice; packing goes by the compute demand of the
    profile, up to a full GPU, instead of by trial; a job is unpacked only to a GPU that has room for it, a job of
    several tasks within its server; only single-task jobs migrate to make room.

    Args:
        params: slice and thresholds; None for the defaults.
    """

    name = "gandiva"
    shares_gpus = True

    def __init__(self, params: GandivaParams | Mapping[str, Any] | None = None) -> None:
        self.params = GandivaParams.parse(params)
        self.wake_every_seconds = self.params.quantum_seconds

    def schedule(self, cluster: Cluster) -> None:
        """Unpack, make room for the gang that is next, then let the next ones have their slices."""
        state, active, p = cluster.state, active_jobs(cluster), self.params
        turns, since = np.empty(len(active), np.int64), np.empty(len(active))
        take_turns(state, active, p.quantum_seconds, turns, since)
        order = active[np.lexsort((active, since, turns))]
        unpack(state, p.slowdown_limit, p.migration_cooldown_seconds)
        head = NONE
        if (turns == SUSPENDED).any():
            head = int(order[(turns == IN_ITS_SLICE).sum()])
            defragment(state, head, p.migration_cooldown_seconds, cluster.hosts_scratch)
        levels = np.empty(int(state.jobs["replicas"][order].sum()))
        gandiva_levels(state, order, head, levels)
        share_out(cluster, order, levels, False, p.quantum_seconds)


@kernel
def take_turns(state: State, active: Array, quantum: float, turns: Array, since: Array) -> None:
    """Whose turn it is.

    Args:
        state: the cluster.
        active: shape (n,), jobs.
        quantum: s, the time slice.
        turns: shape (n,), receives `IN_ITS_SLICE`, `SUSPENDED` (also who has never run) or `AFTER_ITS_SLICE`.
        since: shape (n,), receives the order among equal turns: who was suspended first, who was resumed last.
    """
    for position in range(active.shape[0]):
        job = active[position]
        row = state.jobs[job]
        if row.running_replicas == 0:
            turns[position] = SUSPENDED
            since[position] = row.placed_round
        elif had_its_quantum(state, job, quantum):
            turns[position] = AFTER_ITS_SLICE
            since[position] = -serving_since(state, job)
        else:
            turns[position] = IN_ITS_SLICE
            since[position] = 0.0


@kernel
def gandiva_levels(state: State, order: Array, head: int, levels: Array) -> None:
    """In turn: what runs keeps its replicas, what is suspended gets all of its own; only then does anything grow.

    The first replica of the job that has been suspended longest comes before all: if it is wide, jobs that are in their
    slices must not begin new ones until it fits.

    Args:
        state: the cluster.
        order: shape (n,), active jobs by turn.
        head: the job that has been suspended longest, NONE if none is.
        levels: shape (sum of replicas,), receives the levels.
    """
    unit = 0
    for position in range(order.shape[0]):
        row = state.jobs[order[position]]
        for replica in range(row.replicas):
            levels[unit] = position
            if row.running_replicas > 0 and replica >= row.running_replicas:
                levels[unit] += order.shape[0]
            if replica == 0 and order[position] == head:
                levels[unit] = -1.0
            unit += 1
