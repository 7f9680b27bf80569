"""Consolidated placement: as few servers as possible, best fit. The default of `Cluster.place`.

A replica that fits one server goes to the one with the fewest usable GPUs that still holds it. A larger
one takes wholly free servers and, for the remainder, the best fit among the others. (The rule of the
Helios and Tiresias simulators; Hu et al., SC 2021; Gu et al., NSDI 2019.) A gang that needs more servers for host
memory than for GPUs, which those simulators do not know, is spread over the servers that take most of it.
"""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.decisions import needs_parameter_server, next_replica
from mlfs_gym.cluster.jit import kernel


@kernel
def usable_gpus(state: State, task: int, server: int) -> int:
    """How many GPUs of a server could take this task now.

    An empty GPU takes it if its memory does. A shared one also needs room for the compute, and the
    server for the CPU: sharing should fill gaps, not slow everybody down.
    """
    count = _usable_gpus(state, task, server, False)
    host = state.servers[server]
    row = state.tasks[task]
    if row.memory > 0:
        count = min(count, (host.memory - host.memory_used) // row.memory)
    return count


@kernel
def _usable_gpus(state: State, task: int, server: int, empty_only: bool) -> int:
    """The same, host memory aside: partitions may need different amounts of it. Empty GPUs alone if asked for."""
    host = state.servers[server]
    row = state.tasks[task]
    count = 0
    if host.free_gpus == 0 and (empty_only or state.clock[0].sharing == 0):
        return 0
    for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
        if gpu_takes(state, task, gpu) and not (empty_only and state.gpus[gpu].num_tasks > 0):
            count += 1
    if state.clock[0].sharing == 1 and host.num_tasks > 0 and row.cpu_demand > 0:
        count = min(count, max(0, host.cpu - host.cpu_used) // row.cpu_demand)
    return count


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
def take(state: State, first: int, begin: int, count: int, server: int, hosts: Array) -> int:
    """Give up to `count` partitions from `begin` on the least used GPUs of a server. Returns how many."""
    return _take(state, first, begin, count, server, False, hosts)


@kernel
def _take(state: State, first: int, begin: int, count: int, server: int, empty_only: bool, hosts: Array) -> int:
    """The same, from empty GPUs alone if asked to."""
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
            if not gpu_takes(state, first + partition, gpu) or (empty_only and state.gpus[gpu].num_tasks > 0):
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
def consolidated_hosts(state: State, job: int, hosts: Array) -> bool:
    """Find hosts for the next replica of a job. Changes nothing but `hosts`.

    Args:
        state: the cluster.
        job: the job.
        hosts: shape (P + 1,) or more; receives the GPU of each partition, then the parameter server's server.

    Returns:
        False if there is no room now.
    """
    replica = next_replica(state, job)
    if replica == NONE:
        return False
    row = state.jobs[job]
    if state.clock[0].sharing == 0 and state.clock[0].free_gpus < row.partitions:
        return False
    first = row.first_task + replica * row.partitions
    if _memory_forces_a_spread(state, first, row.partitions):
        found = _spread(state, first, row.partitions, hosts)
    else:
        sharing = state.clock[0].sharing == 1
        found = sharing and _consolidate(state, first, row.partitions, True, hosts)
        found = found or _consolidate(state, first, row.partitions, False, hosts)
    if found and needs_parameter_server(state, job):
        server_task = row.first_task + row.num_tasks - 1
        hosts[row.partitions] = _parameter_server_host(state, server_task, row.partitions, first, hosts)
        found = hosts[row.partitions] != NONE
    return found


@kernel
def _consolidate(state: State, first: int, wanted: int, empty_only: bool, hosts: Array) -> bool:
    """Wholly free servers for a gang larger than a server, then the best fit for all that remains.

    With `empty_only`, from empty GPUs alone.
    """
    largest = state.clock[0].largest_server
    given = 0
    if wanted > largest:
        for server in range(state.servers.shape[0]):
            size = state.servers[server].num_gpus
            free = state.servers[server].num_tasks == 0
            if free and wanted - given >= size and _take(state, first, given, size, server, empty_only, hosts) == size:
                given += size
        if wanted - given >= largest:
            return False
    if given == wanted:
        return True
    server = _best_fit_beside(state, first, given, wanted - given, empty_only, hosts)
    if server == NONE:
        return False
    return _take(state, first, given, wanted - given, server, empty_only, hosts) == wanted - given


@kernel
def _spread(state: State, first: int, wanted: int, hosts: Array) -> bool:
    """Again and again the server that takes most of what remains; the lowest number among equals."""
    given = 0
    while given < wanted:
        best = NONE
        most = 0
        for server in range(state.servers.shape[0]):
            if _is_used(state, given, server, hosts):
                continue
            count = take(state, first, given, wanted - given, server, hosts)
            if count > most:
                best, most = server, count
        if best == NONE:
            return False
        given += take(state, first, given, most, best, hosts)
    return True


@kernel
def _memory_forces_a_spread(state: State, first: int, wanted: int) -> bool:
    """True if even empty servers would need more of them for host memory than for GPUs."""
    largest = state.clock[0].largest_server
    memory = state.clock[0].largest_memory
    filled = 0
    on_server = 0
    servers = 1
    for partition in range(wanted):
        needed = state.tasks[first + partition].memory
        if on_server == largest or filled + needed > memory:
            servers += 1
            filled = 0
            on_server = 0
        filled += needed
        on_server += 1
    return servers > (wanted + largest - 1) // largest


@kernel
def _is_used(state: State, given: int, server: int, hosts: Array) -> bool:
    """True if one of the partitions that have hosts already sits on the server."""
    for partition in range(given):
        if state.gpus[hosts[partition]].server == server:
            return True
    return False


@kernel
def _best_fit_beside(state: State, first: int, given: int, count: int, empty_only: bool, hosts: Array) -> int:
    """The server with the fewest usable GPUs that takes the remainder, unused by the partitions before it.

    The lowest number among equals.
    """
    best = NONE
    fewest = 0
    from_empty = empty_only or state.clock[0].sharing == 0
    for server in range(state.servers.shape[0]):
        if (from_empty and state.servers[server].free_gpus < count) or _is_used(state, given, server, hosts):
            continue
        usable = _usable_gpus(state, first + given, server, empty_only)
        better = usable >= count and (best == NONE or usable < fewest)
        if better and _take(state, first, given, count, server, empty_only, hosts) == count:
            best = server
            fewest = usable
    return best


@kernel
def _parameter_server_host(state: State, task: int, partitions: int, first: int, hosts: Array) -> int:
    """Beside the first partition if host memory permits, else the first server with room."""
    beside = state.gpus[hosts[0]].server
    if memory_fits(state, task, beside, partitions, first, hosts):
        return beside
    for server in range(state.servers.shape[0]):
        if memory_fits(state, task, server, partitions, first, hosts):
            return server
    return NONE


@kernel
def memory_fits(state: State, task: int, server: int, partitions: int, first: int, hosts: Array) -> bool:
    """True if host memory takes the task together with the partitions that are meant for that server."""
    host = state.servers[server]
    memory = host.memory_used + state.tasks[task].memory
    for partition in range(partitions):
        if state.gpus[hosts[partition]].server == server:
            memory += state.tasks[first + partition].memory
    return memory <= host.memory
