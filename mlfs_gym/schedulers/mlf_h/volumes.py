"""How much a task would exchange with what each server already hosts, in bytes per iteration."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.jit import kernel


@kernel
def communication_volumes(state: State, task: int, replica: int, planned: Array, volumes: Array) -> None:
    """Sum the volumes between a task and its placed or planned peers, by their server.

    Args:
        state: the cluster.
        task: the task.
        replica: the replica it belongs to (NONE for a parameter server).
        planned: shape (P + 1,) or more; server of each partition of this replica and, last, of the parameter
            server, where already known, else NONE.
        volumes: shape (S,), receives bytes per iteration.
    """
    volumes[:] = 0.0
    row = state.tasks[task]
    job = state.jobs[row.job]
    if row.partition == NONE:
        _exchange_with_replicas(state, task, volumes)
        return
    for edge in range(job.first_edge, job.first_edge + job.num_edges):
        arrow = state.edges[edge]
        peer = NONE
        if arrow.source == row.partition:
            peer = arrow.target
        elif arrow.target == row.partition:
            peer = arrow.source
        if peer != NONE and planned[peer] != NONE:
            volumes[planned[peer]] += arrow.bytes
    gradient = 2.0 * job.gradient_bytes * row.parameter_share
    if job.parameter_server == 1:
        if planned[job.partitions] != NONE:
            volumes[planned[job.partitions]] += gradient
        return
    for other in range(job.replicas):
        if other != replica:
            server = state.tasks[job.first_task + other * job.partitions + row.partition].server
            if server != NONE:
                volumes[server] += gradient


@kernel
def _exchange_with_replicas(state: State, task: int, volumes: Array) -> None:
    """Push and pull between a parameter server and every placed partition of its job."""
    job = state.jobs[state.tasks[task].job]
    for worker in range(job.first_task, job.first_task + job.replicas * job.partitions):
        server = state.tasks[worker].server
        if server != NONE:
            volumes[server] += 2.0 * job.gradient_bytes * state.tasks[worker].parameter_share


@kernel
def planned_servers(state: State, job: int, replica: int, planned: Array) -> None:
    """Fill `planned` with where the tasks of a replica, and the parameter server, sit now."""
    row = state.jobs[job]
    for partition in range(row.partitions):
        planned[partition] = state.tasks[row.first_task + replica * row.partitions + partition].server
    planned[row.partitions] = NONE
    if row.parameter_server == 1:
        planned[row.partitions] = state.tasks[row.first_task + row.num_tasks - 1].server
