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
    wanted = min(tasks.shape[0], survey.ranked.shape[1])
    overloaded = 0
    for server in range(state.servers.shape[0]):
        if server_overloaded(state, server, params[0].migrate_above):
            _rank_tasks(state, server, params, overloaded, survey)
            overloaded += 1
    count = 0
    for rank in range(wanted):
        for index in range(overloaded):
            if count < wanted and survey.ranked[index, rank] != NONE:
                tasks[count] = survey.ranked[index, rank]
                count += 1
    return count


@kernel
def _rank_tasks(state: State, server: int, params: Array, index: int, survey: Survey) -> None:
    """Movable tasks of one overloaded server by their distance from the ideal task to move, into row `index`."""
    count = _find_movable_tasks(state, server, params, survey)
    squares = survey.task_keys
    most_talk = 1.0
    for number in range(count):
        squares[number] = _bytes_to_staying(state, survey.tasks[number], survey)
        most_talk = max(most_talk, squares[number])
    for number in range(count):
        squares[number] = params[0].bandwidth_weight * (squares[number] / most_talk) ** 2
    for resource in range(RESOURCES):
        wants_most = _resource_overloaded(state, server, resource, params)
        ideal = -np.inf if wants_most else np.inf
        for number in range(count):
            use = task_utilisation(state, survey.tasks[number], resource)
            ideal = max(ideal, use) if wants_most else min(ideal, use)
        for number in range(count):
            squares[number] += (task_utilisation(state, survey.tasks[number], resource) - ideal) ** 2
    sort_with(squares[:count], survey.tasks[:count])
    for rank in range(survey.ranked.shape[1]):
        survey.ranked[index, rank] = survey.tasks[rank] if rank < count else NONE


@kernel
def _find_movable_tasks(state: State, server: int, params: Array, survey: Survey) -> int:
    """Tasks of a server that may move, by number; the fraction of lowest priority while a GPU is overloaded.

    Returns:
        How many stand in `survey.tasks`.
    """
    p = params[0]
    clock = state.clock[0]
    gpu_hot = _resource_overloaded(state, server, 0, params)
    count = 0
    on_hot_gpus = 0
    task = state.servers[server].first_task
    while task != NONE:
        row = state.tasks[task]
        hot = row.gpu != NONE and gpu_overloaded(state, row.gpu, p.migrate_above)
        on_hot_gpus += 1 if hot else 0
        rested = clock.time - row.moved_at >= p.migration_cooldown_seconds and row.moved_at < clock.time
        if rested and (hot or not gpu_hot):
            survey.tasks[count] = task
            count += 1
        task = row.next_on_server
    # The list of a server is in order of placement; sort by number so that the result depends on the state alone.
    sort_numbers(survey.tasks[:count])
    if not gpu_hot:
        return count
    for number in range(count):
        survey.task_keys[number] = _task_priority(state, survey.tasks[number], params, survey)
    sort_with(survey.task_keys[:count], survey.tasks[:count])
    count = min(count, int(np.ceil(p.lowest_priority_fraction * on_hot_gpus)))
    sort_numbers(survey.tasks[:count])
    return count


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
def move_targets(state: State, task: int, params: Array, survey: Survey) -> int:
    """Servers that may take a task from its server, the nearest to the ideal host first.

    Args:
        state: the cluster.
        task: a placed task.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster; its `targets` receive server numbers.

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
    for index in range(survey.nearest.shape[0]):
        server = survey.nearest[index]
        if move_host(state, task, server, params) != NONE:
            survey.targets[count] = server
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
