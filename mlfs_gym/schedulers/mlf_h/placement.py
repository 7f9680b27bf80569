"""Hosts for a whole replica, task by task: the parameter server first, then by falling priority."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.decisions import needs_parameter_server, next_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.mlf_h.hosting import distances, may_host
from mlfs_gym.schedulers.mlf_h.priority import partition_priorities
from mlfs_gym.schedulers.mlf_h.volumes import communication_volumes, planned_servers

MANY = 2**62


@kernel
def hosting_limit(state: State, job: int, params: Array, hosts: Array) -> float:
    """hr; inf for a job that fits nowhere below hr while nothing runs, or it would wait for ever.

    Args:
        state: the cluster; unchanged on return.
        job: a waiting job.
        params: shape (1,), dtype `PARAMS`.
        hosts: shape (P + 1,) or more, scratch.
    """
    limit = params[0].overload_threshold
    if state.clock[0].num_running > 0 or _hosts_below(state, job, params, limit, hosts):
        return limit
    return np.inf


@kernel
def task_order(state: State, job: int, params: Array) -> Array:
    """Partitions of a job, the highest task priority first; the lower number among equals."""
    priorities = np.empty(state.jobs[job].partitions, np.float64)
    partition_priorities(state, job, params, priorities)
    return np.argsort(-priorities, kind="mergesort")


@kernel
def first_task(state: State, job: int, params: Array) -> int:
    """The task of the next replica that is placed first; NONE if all replicas run."""
    replica = next_replica(state, job)
    if replica == NONE:
        return NONE
    row = state.jobs[job]
    if needs_parameter_server(state, job):
        return row.first_task + row.num_tasks - 1
    return row.first_task + replica * row.partitions + task_order(state, job, params)[0]


@kernel
def enough_room(state: State, job: int, limit: float) -> bool:
    """Quick test: could the servers take P tasks like the job's smallest at all? False: no placement exists."""
    row = state.jobs[job]
    gpu_demand = MANY
    gpu_memory = gpu_demand
    cpu_demand = gpu_demand
    for task in range(row.first_task, row.first_task + row.partitions):
        gpu_demand = min(gpu_demand, max(1, state.tasks[task].gpu_demand))
        gpu_memory = min(gpu_memory, max(1, state.tasks[task].gpu_memory))
        cpu_demand = min(cpu_demand, max(1, state.tasks[task].cpu_demand))
    places = 0
    for server in range(state.servers.shape[0]):
        host = state.servers[server]
        here = 0
        for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
            here += _places_on_gpu(state, gpu, gpu_demand, gpu_memory, limit)
        if host.num_tasks > 0 and limit < np.inf:
            here = min(here, int(max(0.0, limit * host.cpu - host.cpu_used) // cpu_demand))
        places += here
        if places >= row.partitions:
            return True
    return False


@kernel
def _places_on_gpu(state: State, gpu: int, demand: int, memory: int, limit: float) -> int:
    """At most how many tasks of this demand and memory a GPU could take beside what it has."""
    device = state.gpus[gpu]
    if state.clock[0].sharing == 0:
        return 1 if device.num_tasks == 0 and memory <= device.memory else 0
    by_memory = (device.memory - device.memory_used) // memory
    if limit == np.inf:
        return by_memory
    by_compute = int(max(0.0, limit * MILLI - device.used) // demand)
    if device.num_tasks == 0:
        by_compute = max(by_compute, 1)
    return min(by_memory, by_compute)


@kernel
def nearest_servers(state: State, job: int, params: Array, order: Array) -> None:
    """Servers by their distance from the ideal host of the first task; the lower number among equals.

    Args:
        state: the cluster.
        job: a waiting job.
        params: shape (1,), dtype `PARAMS`.
        order: shape (S,), receives server numbers.
    """
    row = state.jobs[job]
    servers = state.servers.shape[0]
    planned = np.empty(row.partitions + 1, np.int64)
    replica = next_replica(state, job)
    planned_servers(state, job, replica, planned)
    volumes = np.empty(servers, np.float64)
    communication_volumes(state, first_task(state, job, params), replica, planned, volumes)
    result = np.empty(servers, np.float64)
    distances(state, volumes, params, result)
    order[:] = np.argsort(result, kind="mergesort")


@kernel
def ideal_hosts(state: State, job: int, params: Array, hosts: Array) -> bool:
    """Hosts for the next replica of a job as MLF-H places it.

    The first task goes to the nearest server from which the whole gang fits.

    Args:
        state: the cluster; unchanged on return.
        job: a job.
        params: shape (1,), dtype `PARAMS`.
        hosts: shape (P + 1,) or more; receives the GPUs, then the parameter server's server.

    Returns:
        False if the replica fits nowhere now, or none waits.
    """
    if _hosts_below(state, job, params, params[0].overload_threshold, hosts):
        return True
    # As `hosting_limit` has it.
    return state.clock[0].num_running == 0 and _hosts_below(state, job, params, np.inf, hosts)


@kernel
def _hosts_below(state: State, job: int, params: Array, limit: float, hosts: Array) -> bool:
    """Hosts for the next replica of a job, none of which is used above the limit then."""
    if next_replica(state, job) == NONE or not enough_room(state, job, limit):
        return False
    order: Array = np.empty(state.servers.shape[0], np.int64)
    nearest_servers(state, job, params, order)
    for server in order:
        if hosts_from(state, job, params, server, limit, hosts):
            return True
    return False


@kernel
def hosts_from(state: State, job: int, params: Array, server: int, limit: float, hosts: Array) -> bool:
    """Hosts for the next replica of a job with its first task on a given server, the rest as MLF-H would.

    Args:
        state: the cluster; unchanged on return.
        job: a waiting job.
        params: shape (1,), dtype `PARAMS`.
        server: the server of the first task.
        limit: see `hosting_limit`.
        hosts: shape (P + 1,) or more; receives the GPUs, then the parameter server's server.
    """
    row = state.jobs[job]
    replica = next_replica(state, job)
    planned = np.empty(row.partitions + 1, np.int64)
    planned_servers(state, job, replica, planned)
    volumes = np.empty(state.servers.shape[0], np.float64)
    distance = np.empty(state.servers.shape[0], np.float64)
    order = task_order(state, job, params)
    with_server = needs_parameter_server(state, job)

    fits = True
    placed = 0
    if with_server:
        task = row.first_task + row.num_tasks - 1
        fits = may_host(state, task, server, limit, False) != NONE
        if fits:
            hosts[row.partitions] = server
            planned[row.partitions] = server
            _reserve(state, task, server, NONE, 1)
    while fits and placed < row.partitions:
        partition = order[placed]
        task = row.first_task + replica * row.partitions + partition
        if placed == 0 and not with_server:
            host = may_host(state, task, server, limit, _is_remote(state, job, planned, server))
        else:
            host = _nearest_host(state, task, replica, params, limit, planned, volumes, distance)
        fits = host != NONE
        if fits:
            hosts[partition] = host
            planned[partition] = state.gpus[host].server
            _reserve(state, task, planned[partition], host, 1)
            placed += 1

    for index in range(placed):
        partition = order[index]
        task = row.first_task + replica * row.partitions + partition
        _reserve(state, task, planned[partition], hosts[partition], -1)
    if with_server and planned[row.partitions] != NONE:
        _reserve(state, row.first_task + row.num_tasks - 1, planned[row.partitions], NONE, -1)
    return fits


@kernel
def _reserve(state: State, task: int, server: int, gpu: int, sign: int) -> None:
    """Count a task in or out while hosts for the others are sought. Nobody else is told."""
    row = state.tasks[task]
    host = state.servers[server]
    host.num_tasks += sign
    host.memory_used += sign * row.memory
    host.cpu_used += sign * row.cpu_demand
    if gpu != NONE:
        device = state.gpus[gpu]
        device.num_tasks += sign
        device.memory_used += sign * row.gpu_memory
        device.used += sign * row.gpu_demand
        host.gpu_used += sign * row.gpu_demand


@kernel
def _is_remote(state: State, job: int, planned: Array, server: int) -> bool:
    """True if the job has a placed or planned task on another server."""
    row = state.jobs[job]
    if row.spans_servers == 1:
        return True
    for partition in range(row.partitions + 1):
        if planned[partition] != NONE and planned[partition] != server:
            return True
    for task in range(row.first_task, row.first_task + row.num_tasks):
        home = state.tasks[task].server
        if home != NONE:
            return bool(home != server)  # the job does not span servers: one task speaks for all
    return False


@kernel
def _nearest_host(
    state: State, task: int, replica: int, params: Array, limit: float, planned: Array, volumes: Array, distance: Array
) -> int:
    """The GPU on the nearest server that may host the task, NONE if none may."""
    communication_volumes(state, task, replica, planned, volumes)
    distances(state, volumes, params, distance)
    best = NONE
    nearest = np.inf
    job = state.tasks[task].job
    for server in range(state.servers.shape[0]):
        if distance[server] < nearest:
            host = may_host(state, task, server, limit, _is_remote(state, job, planned, server))
            if host != NONE:
                best = host
                nearest = distance[server]
    return best
