"""Where a replica could go, beyond the consolidated default: on one given server, or spread over servers.

The limits are those of `mlfs_gym.cluster.consolidated`: memory is hard, and a GPU that holds a task takes another
only where GPUs are shared and the compute demands fit together.
"""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.consolidated import usable_gpus
from mlfs_gym.cluster.decisions import needs_parameter_server, next_replica
from mlfs_gym.cluster.jit import kernel


@kernel
def gpu_takes(state: State, task: int, gpu: int) -> bool:
    """True if a GPU has the memory and, unless it is empty, the compute for a task."""
    device = state.gpus[gpu]
    row = state.tasks[task]
    if device.memory_used + row.gpu_memory > device.memory:
        return False
    if device.num_tasks == 0:
        return True
    return state.clock[0].sharing == 1 and device.used + row.gpu_demand <= MILLI


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
    if _take(state, first, 0, row.partitions, server, hosts) < row.partitions:
        return False
    if needs_parameter_server(state, job):
        hosts[row.partitions] = server
        return _memory_fits(state, row.first_task + row.num_tasks - 1, server, row.partitions, first, hosts)
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
    first = row.first_task + replica * row.partitions
    given = 0
    while given < row.partitions:
        server = _most_usable(state, first, given, hosts)
        if server == NONE:
            return False
        taken = _take(state, first, given, row.partitions - given, server, hosts)
        if taken == 0:
            return False
        given += taken
    if not needs_parameter_server(state, job):
        return True
    task = row.first_task + row.num_tasks - 1
    for partition in range(row.partitions):
        server = state.gpus[hosts[partition]].server
        if _memory_fits(state, task, server, row.partitions, first, hosts):
            hosts[row.partitions] = server
            return True
    for server in range(state.servers.shape[0]):
        if _memory_fits(state, task, server, row.partitions, first, hosts):
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


@kernel
def _take(state: State, first: int, begin: int, count: int, server: int, hosts: Array) -> int:
    """Give up to `count` partitions from `begin` on the least used GPUs of a server. Returns how many."""
    host = state.servers[server]
    memory = host.memory_used
    cpu = host.cpu_used
    occupied = host.num_tasks > 0
    for partition in range(begin, begin + count):
        task = state.tasks[first + partition]
        memory += task.memory
        cpu += task.cpu_demand
        if memory > host.memory or (state.clock[0].sharing == 1 and occupied and cpu > host.cpu):
            return partition - begin
        best = NONE
        for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
            if not gpu_takes(state, first + partition, gpu):
                continue
            taken = False
            for earlier in range(begin, partition):
                taken = taken or hosts[earlier] == gpu
            if not taken and (best == NONE or state.gpus[gpu].used < state.gpus[best].used):
                best = gpu
        if best == NONE:
            return partition - begin
        hosts[partition] = best
    return count


@kernel
def _memory_fits(state: State, task: int, server: int, partitions: int, first: int, hosts: Array) -> bool:
    """True if host memory takes the task together with the partitions that are meant for that server."""
    host = state.servers[server]
    memory = host.memory_used + state.tasks[task].memory
    for partition in range(partitions):
        if state.gpus[hosts[partition]].server == server:
            memory += state.tasks[first + partition].memory
    return memory <= host.memory
