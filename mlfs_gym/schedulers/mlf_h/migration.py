"""Which task leaves an overloaded server, where to, and whether it pays (CoNEXT 2020, section 3.3.3; ToN 2022).

The ideal task to move uses most of the overloaded resources, least of the others, and does not talk to tasks
that stay. The nearest real task is first. While a GPU is overloaded, only the lowest-priority tasks of overloaded
GPUs are considered.
"""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.overload import gpu_overloaded, server_overloaded
from mlfs_gym.cluster.sorting import sort_numbers, sort_with
from mlfs_gym.schedulers.mlf_h.hosting import distances, may_host
from mlfs_gym.schedulers.mlf_h.priority import partition_priorities
from mlfs_gym.schedulers.mlf_h.survey import Survey
from mlfs_gym.schedulers.mlf_h.utilisation import RESOURCES, utilisation
from mlfs_gym.schedulers.mlf_h.volumes import communication_volumes, planned_servers


@kernel
def move_candidates(state: State, params: Array, tasks: Array, survey: Survey) -> int:
    """Tasks to move, the best of every overloaded server, then the second best, and so on.

    Args:
        state: the cluster, observed.
        params: shape (1,), dtype `PARAMS`.
        tasks: shape (n,); receives task numbers.
        survey: of this cluster.

    Returns:
        How many were found.
    """
    wanted = tasks.shape[0]
    servers = np.empty(state.servers.shape[0], np.int64)
    overloaded = 0
    for server in range(state.servers.shape[0]):
        if server_overloaded(state, server, params[0].migrate_above):
            servers[overloaded] = server
            overloaded += 1
    if overloaded == 0:
        return 0
    best = np.full((overloaded, wanted), NONE, np.int64)
    for index in range(overloaded):
        _rank_tasks(state, servers[index], params, best[index], survey)
    count = 0
    for rank in range(wanted):
        for index in range(overloaded):
            if count < wanted and best[index, rank] != NONE:
                tasks[count] = best[index, rank]
                count += 1
    return count


@kernel
def _rank_tasks(state: State, server: int, params: Array, ranked: Array, survey: Survey) -> None:
    """Movable tasks of one overloaded server by their distance from the ideal task to move."""
    tasks = _movable_tasks(state, server, params, survey)
    count = tasks.shape[0]
    if count == 0:
        return
    use = np.empty((count, RESOURCES), np.float64)
    talk = np.empty(count, np.float64)
    for index in range(count):
        for resource in range(RESOURCES):
            use[index, resource] = task_utilisation(state, tasks[index], resource)
        talk[index] = _bytes_to_staying(state, tasks[index], survey)
    most_talk = 1.0
    for index in range(count):
        most_talk = max(most_talk, talk[index])
    squares = talk
    for index in range(count):
        squares[index] = params[0].bandwidth_weight * (talk[index] / most_talk) ** 2
    for resource in range(RESOURCES):
        most = _resource_overloaded(state, server, resource, params)
        ideal = use[0, resource]
        for index in range(count):
            ideal = max(ideal, use[index, resource]) if most else min(ideal, use[index, resource])
        for index in range(count):
            squares[index] += (use[index, resource] - ideal) ** 2
    sort_with(squares, tasks)
    for rank in range(min(count, ranked.shape[0])):
        ranked[rank] = tasks[rank]


@kernel
def _movable_tasks(state: State, server: int, params: Array, survey: Survey) -> Array:
    """Tasks of a server that may move, by number; the fraction of lowest priority while a GPU is overloaded."""
    p = params[0]
    clock = state.clock[0]
    gpu_hot = _resource_overloaded(state, server, 0, params)
    found = np.empty(state.servers[server].num_tasks, np.int64)
    count = 0
    on_hot_gpus = 0
    task = state.servers[server].first_task
    while task != NONE:
        row = state.tasks[task]
        hot = row.gpu != NONE and gpu_overloaded(state, row.gpu, p.migrate_above)
        on_hot_gpus += 1 if hot else 0
        rested = clock.time - row.moved_at >= p.migration_cooldown_seconds and row.moved_at < clock.time
        if rested and (hot or not gpu_hot):
            found[count] = task
            count += 1
        task = row.next_on_server
    # The list of a server is in order of placement; sort by number so that the result depends on the state alone.
    found = found[:count]
    sort_numbers(found)
    if not gpu_hot:
        return found
    priorities = np.empty(count, np.float64)
    for index in range(count):
        priorities[index] = _task_priority(state, found[index], params, survey)
    sort_with(priorities, found)
    lowest = found[: min(count, int(np.ceil(p.lowest_priority_fraction * on_hot_gpus)))]
    sort_numbers(lowest)
    return lowest


@kernel
def _task_priority(state: State, task: int, params: Array, survey: Survey) -> float:
    row = state.tasks[task]
    partition_priorities(state, row.job, params, survey.priorities)
    return survey.priorities[row.partition]


@kernel
def _resource_overloaded(state: State, server: int, resource: int, params: Array) -> bool:
    host = state.servers[server]
    threshold = params[0].migrate_above
    if resource > 0:
        return utilisation(state, server, resource) > threshold
    for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
        if gpu_overloaded(state, gpu, threshold):
            return True
    return False


@kernel
def task_utilisation(state: State, task: int, resource: int) -> float:
    """What a task uses of its server: 0 GPU (of one GPU), 1 CPU, 2 host memory, 3 NIC; 1.0 is all of it."""
    row = state.tasks[task]
    host = state.servers[row.server]
    if resource == 0:
        return row.gpu_used / MILLI
    if resource == 1:
        return row.cpu_used / host.cpu
    if resource == 2:
        return row.memory / host.memory
    return row.nic_used / host.nic


@kernel
def _bytes_to_staying(state: State, task: int, survey: Survey) -> float:
    """Bytes per iteration between a task and its job's other tasks on the same server."""
    row = state.tasks[task]
    planned_servers(state, row.job, max(0, row.replica), survey.planned)
    communication_volumes(state, task, row.replica, survey.planned, survey.volumes)
    return survey.volumes[row.server]


@kernel
def move_targets(state: State, task: int, params: Array, order: Array, survey: Survey) -> int:
    """Servers that may take a task from its server, the nearest to the ideal host first.

    Args:
        state: the cluster.
        task: a placed task.
        params: shape (1,), dtype `PARAMS`.
        order: shape (S,), receives server numbers.
        survey: of this cluster.

    Returns:
        How many may.
    """
    row = state.tasks[task]
    planned_servers(state, row.job, max(0, row.replica), survey.planned)
    communication_volumes(state, task, row.replica, survey.planned, survey.volumes)
    distances(state, params, survey)
    for server in range(survey.nearest.shape[0]):
        survey.nearest[server] = server
    sort_with(survey.distances, survey.nearest)
    count = 0
    for server in survey.nearest:
        if move_host(state, task, server, params) != NONE:
            order[count] = server
            count += 1
    return count


@kernel
def move_host(state: State, task: int, server: int, params: Array) -> int:
    """The GPU (a parameter server: the server) that would take a task from another server, NONE if none may."""
    row = state.tasks[task]
    if server == row.server:
        return NONE
    remote = state.jobs[row.job].num_tasks > 1
    return may_host(state, task, server, params[0].overload_threshold, remote)
