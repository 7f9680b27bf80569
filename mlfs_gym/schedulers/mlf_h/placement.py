"""Hosts for a whole replica, task by task: the parameter server first, then by falling priority."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI, count_on_gpu
from mlfs_gym.cluster.decisions import needs_parameter_server, next_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.sorting import sort_with
from mlfs_gym.schedulers.mlf_h.hosting import distances, may_host
from mlfs_gym.schedulers.mlf_h.priority import partition_priorities
from mlfs_gym.schedulers.mlf_h.survey import Survey, update
from mlfs_gym.schedulers.mlf_h.volumes import communication_volumes, planned_servers

MANY = 2**62
SEVERAL = -2  # servers


@kernel
def hosting_limit(state: State, job: int, params: Array, survey: Survey) -> float:
    """hr; inf for a job that fits nowhere below hr while nothing runs, or it would wait for ever.

    Args:
        state: the cluster; unchanged on return.
        job: a waiting job.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster.
    """
    limit = params[0].overload_threshold
    if state.clock[0].num_running > 0 or _hosts_below(state, job, params, limit, survey):
        return limit
    return np.inf


@kernel
def put_tasks_in_order(state: State, job: int, params: Array, survey: Survey) -> None:
    """Partitions of a job, the highest task priority first; the lower number among equals.

    Args:
        state: the cluster, observed.
        job: an active job.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster; the first P of its `partitions` receive them.
    """
    count = state.jobs[job].partitions
    if count == 1:
        survey.partitions[0] = 0
        return
    partition_priorities(state, job, params, survey.priorities)
    for partition in range(count):
        survey.priorities[partition] = -survey.priorities[partition]
        survey.partitions[partition] = partition
    sort_with(survey.priorities[:count], survey.partitions[:count])


@kernel
def first_task(state: State, job: int, params: Array, survey: Survey) -> int:
    """The task of the next replica that is placed first; NONE if all replicas run."""
    replica = next_replica(state, job)
    if replica == NONE:
        return NONE
    row = state.jobs[job]
    if needs_parameter_server(state, job):
        return row.first_task + row.num_tasks - 1
    put_tasks_in_order(state, job, params, survey)
    return row.first_task + replica * row.partitions + survey.partitions[0]


@kernel
def enough_room(state: State, job: int, limit: float) -> bool:
    """Quick test: could the servers take P tasks like the job's smallest at all? False: no placement exists."""
    row = state.jobs[job]
    if state.clock[0].sharing == 0 and state.clock[0].free_gpus < row.partitions:
        return False
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
def find_nearest_servers(state: State, job: int, params: Array, survey: Survey) -> None:
    """Servers by their distance from the ideal host of the first task; the lower number among equals.

    Args:
        state: the cluster.
        job: a waiting job.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster; its `nearest` receives them.
    """
    update(state, params, survey)
    servers = state.servers.shape[0]
    fresh = state.jobs[job].running_replicas == 0  # no task of it is placed: it is the same for all such jobs
    if not (fresh and survey.order_known[0]):
        if fresh:
            survey.volumes[:] = 0.0
        else:
            replica = next_replica(state, job)
            planned_servers(state, job, replica, survey.planned)
            task = first_task(state, job, params, survey)
            communication_volumes(state, task, replica, survey.planned, survey.volumes)
        distances(state, params, survey)
        for server in range(servers):
            survey.nearest[server] = server
        sort_with(survey.distances, survey.nearest)
        if not fresh:
            return
        survey.order_known[0] = True
        for index in range(servers):
            survey.order[index] = survey.nearest[index]
    for index in range(servers):
        survey.nearest[index] = survey.order[index]


@kernel
def ideal_hosts(state: State, job: int, params: Array, survey: Survey) -> bool:
    """Hosts for the next replica of a job as MLF-H places it.

    The first task goes to the nearest server from which the whole gang fits.

    Args:
        state: the cluster; unchanged on return.
        job: a job.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster; its `hosts` receive the GPUs, then the parameter server's server.

    Returns:
        False if the replica fits nowhere now, or none waits.
    """
    if _hosts_below(state, job, params, params[0].overload_threshold, survey):
        return True
    # As `hosting_limit` has it.
    return state.clock[0].num_running == 0 and _hosts_below(state, job, params, np.inf, survey)


@kernel
def _hosts_below(state: State, job: int, params: Array, limit: float, survey: Survey) -> bool:
    """Hosts for the next replica of a job, none of which is used above the limit then."""
    if next_replica(state, job) == NONE or not enough_room(state, job, limit):
        return False
    find_nearest_servers(state, job, params, survey)
    put_tasks_in_order(state, job, params, survey)
    for index in range(survey.nearest.shape[0]):
        if hosts_from(state, job, params, survey.nearest[index], limit, survey):
            return True
    return False


@kernel
def hosts_from(state: State, job: int, params: Array, server: int, limit: float, survey: Survey) -> bool:
    """Hosts for the next replica of a job with its first task on a given server, the rest as MLF-H would.

    Args:
        state: the cluster; unchanged on return.
        job: a waiting job.
        params: shape (1,), dtype `PARAMS`.
        server: the server of the first task.
        limit: see `hosting_limit`.
        survey: of this cluster, with the job's tasks in order; its `hosts` receive the GPUs, then the parameter
            server's server.
    """
    row = state.jobs[job]
    replica = next_replica(state, job)
    first = row.first_task + replica * row.partitions
    with_server = needs_parameter_server(state, job)
    planned_servers(state, job, replica, survey.planned)
    if row.partitions == 1 and not with_server:
        remote = _is_remote(_home(state, job, survey.planned), server)
        survey.hosts[0] = may_host(state, first, server, limit, remote)
        return bool(survey.hosts[0] != NONE)
    fits = True
    placed = 0
    if with_server:
        task = row.first_task + row.num_tasks - 1
        fits = may_host(state, task, server, limit, False) != NONE
        if fits:
            survey.hosts[row.partitions] = server
            survey.planned[row.partitions] = server
            _reserve(state, task, server, NONE, 1)
    while fits and placed < row.partitions:
        partition = survey.partitions[placed]
        if placed == 0 and not with_server:
            remote = _is_remote(_home(state, job, survey.planned), server)
            host = may_host(state, first + partition, server, limit, remote)
        else:
            host = _nearest_host(state, first + partition, replica, params, limit, survey)
        fits = host != NONE
        if fits:
            survey.hosts[partition] = host
            survey.planned[partition] = state.gpus[host].server
            _reserve(state, first + partition, survey.planned[partition], host, 1)
            placed += 1

    for index in range(placed):
        partition = survey.partitions[index]
        _reserve(state, first + partition, survey.planned[partition], survey.hosts[partition], -1)
    if with_server and survey.planned[row.partitions] != NONE:
        _reserve(state, row.first_task + row.num_tasks - 1, survey.planned[row.partitions], NONE, -1)
    return fits


@kernel
def _reserve(state: State, task: int, server: int, gpu: int, sign: int) -> None:
    """Count a task in or out while hosts for the others are sought. Nobody else is told."""
    row = state.tasks[task]
    host = state.servers[server]
    host.num_tasks += sign
    host.memory_used += sign * row.memory
    host.cpu_used += sign * row.cpu_demand
    host.version += 1
    if gpu != NONE:
        device = state.gpus[gpu]
        count_on_gpu(state, gpu, sign)
        device.memory_used += sign * row.gpu_memory
        device.used += sign * row.gpu_demand
        host.gpu_used += sign * row.gpu_demand


@kernel
def _home(state: State, job: int, planned: Array) -> int:
    """The server of all tasks of a job that are placed or planned; NONE if there are none, or SEVERAL."""
    row = state.jobs[job]
    if row.spans_servers == 1:
        return SEVERAL
    home = NONE
    for partition in range(row.partitions + 1):
        if planned[partition] != NONE:
            if home != NONE and planned[partition] != home:
                return SEVERAL
            home = planned[partition]
    if row.running_replicas == 0:
        return home
    for task in range(row.first_task, row.first_task + row.num_tasks):
        server = state.tasks[task].server
        if server != NONE:  # the job does not span servers: one task speaks for all
            return server if home == NONE or home == server else SEVERAL
    return home


@kernel
def _is_remote(home: int, server: int) -> bool:
    """True if a job at home there has a task on another server."""
    return home == SEVERAL or (home != NONE and home != server)


@kernel
def _nearest_host(state: State, task: int, replica: int, params: Array, limit: float, survey: Survey) -> int:
    """The GPU on the nearest server that may host the task, NONE if none may."""
    communication_volumes(state, task, replica, survey.planned, survey.volumes)
    distances(state, params, survey)
    home = _home(state, state.tasks[task].job, survey.planned)
    best = NONE
    nearest = np.inf
    for server in range(state.servers.shape[0]):
        if survey.distances[server] < nearest:
            host = may_host(state, task, server, limit, _is_remote(home, server))
            if host != NONE:
                best = host
                nearest = survey.distances[server]
    return best
