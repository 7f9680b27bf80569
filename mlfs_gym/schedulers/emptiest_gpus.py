"""Which partition of a replica gets which of the GPUs chosen for it."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.decisions import next_replica
from mlfs_gym.cluster.jit import kernel


@kernel(allocates=True)
def give_emptiest_first(state: State, job: int, line: Array, hosts: Array) -> None:
    """Deal the GPUs that were chosen for the next replica of a job anew: the emptiest to the first in line.

    Nothing changes where no GPU is shared, where a replica spans servers, and where its tasks' demands differ: GPUs
    may fit one partition and not another.

    Args:
        state: the cluster.
        job: a job with a replica to place.
        line: shape (T,), int64; at the places of the tasks of the job's first replica: partitions, the first first.
        hosts: shape (P + 1,) or more; GPUs, then the parameter server's server. Changed in place.
    """
    row = state.jobs[job]
    server = state.gpus[hosts[0]].server
    if state.clock[0].sharing == 0 or row.partitions > state.servers[server].num_gpus:
        return
    first = row.first_task + next_replica(state, job) * row.partitions
    for partition in range(1, row.partitions):
        if not _alike(state, first, first + partition):
            return
    chosen = hosts[: row.partitions].copy()
    used = np.empty(row.partitions, np.int64)
    for partition in range(row.partitions):
        used[partition] = state.gpus[chosen[partition]].used
    emptiest = np.argsort(used, kind="mergesort")
    for position in range(row.partitions):
        hosts[line[row.first_task + position]] = chosen[emptiest[position]]


@kernel(allocates=True)
def _alike(state: State, one: int, other: int) -> bool:
    """True if two tasks may swap their hosts."""
    a = state.tasks[one]
    b = state.tasks[other]
    return bool(a.gpu_demand == b.gpu_demand and a.gpu_memory == b.gpu_memory and a.memory == b.memory)
