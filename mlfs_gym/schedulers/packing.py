"""Where a replica could go, beyond the consolidated default: on one given server, or spread over servers.

The limits are those of `mlfs_gym.cluster.consolidated`: memory is hard, and a GPU that holds a task takes another
only where GPUs are shared and the compute demands fit together.
"""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.consolidated import memory_fits, take, usable_gpus
from mlfs_gym.cluster.decisions import needs_parameter_server, next_replica
from mlfs_gym.cluster.jit import kernel


@kernel
def hosts_on_server(state: State, job: int, server: int, hosts: Array) -> bool:
    """Find hosts for the next replica of a job, and its parameter server, on one server.

    Args:
        state: the cluster.
        job: the job.
        server: where everything must go.
        hosts: shape (P + 1,) or more; receives the GPU of each partition, then the parameter server's server.

    Returns:
        False if it does not fit there now.
    """
    replica = next_replica(state, job)
    if replica == NONE:
        return False
    row = state.jobs[job]
    first = row.first_task + replica * row.partitions
    if take(state, first, 0, row.partitions, server, hosts) < row.partitions:
        return False
    if needs_parameter_server(state, job):
        hosts[row.partitions] = server
        return memory_fits(state, row.first_task + row.num_tasks - 1, server, row.partitions, first, hosts)
    return True


@kernel
def spread_hosts(state: State, job: int, hosts: Array) -> bool:
    """Find hosts for the next replica of a job on as many servers as it takes, the emptiest first.

    Args:
        state: the cluster.
        job: the job.
        hosts: shape (P + 1,) or more; receives the GPU of each partition, then the parameter server's server.

    Returns:
        False if all servers together have no room now.
    """
    replica = next_replica(state, job)
    if replica == NONE:
        return False
    row = state.jobs[job]
    if state.clock[0].sharing == 0 and state.clock[0].free_gpus < row.partitions:
        return False
    first = row.first_task + replica * row.partitions
    given = 0
    while given < row.partitions:
        server = _most_usable(state, first, given, hosts)
        if server == NONE:
            return False
        taken = take(state, first, given, row.partitions - given, server, hosts)
        if taken == 0:
            return False
        given += taken
    if not needs_parameter_server(state, job):
        return True
    task = row.first_task + row.num_tasks - 1
    for partition in range(row.partitions):
        server = state.gpus[hosts[partition]].server
        if memory_fits(state, task, server, row.partitions, first, hosts):
            hosts[row.partitions] = server
            return True
    for server in range(state.servers.shape[0]):
        if memory_fits(state, task, server, row.partitions, first, hosts):
            hosts[row.partitions] = server
            return True
    return False


@kernel
def _most_usable(state: State, first: int, given: int, hosts: Array) -> int:
    """The server with the most GPUs for the next partition, none of the earlier ones'; NONE if there is none."""
    best = NONE
    most = 0
    for server in range(state.servers.shape[0]):
        usable = usable_gpus(state, first + given, server)
        if usable <= most:
            continue
        used = False
        for partition in range(given):
            used = used or state.gpus[hosts[partition]].server == server
        if not used:
            best = server
            most = usable
    return best
