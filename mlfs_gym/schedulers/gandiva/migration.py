"""Migration in Gandiva (Xiao et al., OSDI 2018, sections 3.1 and 4.2): away from interference, and to make room."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.consolidated import consolidated_hosts, usable_gpus
from mlfs_gym.cluster.decisions import move_task
from mlfs_gym.cluster.jit import kernel


@kernel(allocates=True)
def measured_slowdown(state: State, job: int) -> float:
    """Measured iteration time of a running job over that of its profile with as many replicas."""
    row = state.jobs[job]
    return float(row.iteration_time * row.running_replicas / row.replicas / row.ideal_iteration_time)


@kernel(allocates=True)
def unpack(state: State, slowdown_limit: float, cooldown: float) -> None:
    """Take one job off each GPU whose jobs are measured to slow each other down, if another GPU has room for it.

    Args:
        state: the cluster, observed.
        slowdown_limit: what a job may be slowed down by.
        cooldown: s that a moved task stays at least.
    """
    for gpu in range(state.gpus.shape[0]):
        device = state.gpus[gpu]
        if device.num_tasks < 2 or device.used <= MILLI:
            continue
        slowest = NONE
        most = slowdown_limit
        task = state.servers[device.server].first_task
        while task != NONE:
            placed = state.tasks[task]
            if placed.gpu == gpu and _may_move(state, task, cooldown):
                slowdown = measured_slowdown(state, placed.job)
                if slowdown > most or (slowest != NONE and slowdown == most and task < slowest):
                    slowest = task
                    most = slowdown
            task = placed.next_on_server
        if slowest != NONE:
            _move_to_room(state, slowest)


@kernel(allocates=True)
def _may_move(state: State, task: int, cooldown: float) -> bool:
    """True if the task has not just been moved and its job is not in the middle of a restart."""
    row = state.tasks[task]
    job = state.jobs[row.job]
    now = state.clock[0].time
    return bool(now - row.moved_at >= cooldown and job.stalled_until <= now and np.isfinite(job.iteration_time))


@kernel(allocates=True)
def _move_to_room(state: State, task: int) -> None:
    """To the least used GPU that holds the task without being overbooked; several tasks stay on their server."""
    row = state.tasks[task]
    alone = state.jobs[row.job].num_tasks == 1
    best = NONE
    for gpu in range(state.gpus.shape[0]):
        device = state.gpus[gpu]
        if gpu == row.gpu or (not alone and device.server != row.server):
            continue
        if _has_room(state, task, gpu) and (best == NONE or device.used < state.gpus[best].used):
            best = gpu
    if best != NONE:
        move_task(state, task, state.gpus[best].server, best)


@kernel(allocates=True)
def _has_room(state: State, task: int, gpu: int) -> bool:
    device = state.gpus[gpu]
    host = state.servers[device.server]
    row = state.tasks[task]
    if device.memory_used + row.gpu_memory > device.memory:
        return False
    if device.num_tasks > 0 and (state.clock[0].sharing == 0 or device.used + row.gpu_used > MILLI):
        return False
    if device.server == row.server:
        return True
    if host.memory_used + row.memory > host.memory:
        return False
    return bool(host.num_tasks == 0 or host.cpu_used + row.cpu_used <= host.cpu)


@kernel(allocates=True)
def defragment(state: State, job: int, cooldown: float, hosts: Array) -> None:
    """Move single-task jobs off the server where that takes the fewest moves to make a gang fit, if one exists.

    Args:
        state: the cluster.
        job: the job that is next; nothing happens if it fits or is wider than a server.
        cooldown: s that a moved task stays at least.
        hosts: shape (P + 1,) or more, scratch.
    """
    row = state.jobs[job]
    if row.partitions < 2 or consolidated_hosts(state, job, hosts):
        return
    best = NONE
    fewest = 0
    for server in range(state.servers.shape[0]):
        if row.partitions > state.servers[server].num_gpus:
            continue
        missing = row.partitions - usable_gpus(state, row.first_task, server)
        movers = _movers_on(state, server, cooldown)
        possible = 0 < missing <= movers.shape[0] and _room_elsewhere(state, movers, missing, server)
        if possible and (best == NONE or missing < fewest):
            best = server
            fewest = missing
    if best == NONE:
        return
    movers = _movers_on(state, best, cooldown)
    for index in range(fewest):
        gpu = _tightest_gpu(state, movers[index], best)
        if gpu != NONE:
            move_task(state, movers[index], state.gpus[gpu].server, gpu)


@kernel(allocates=True)
def _movers_on(state: State, server: int, cooldown: float) -> Array:
    """Tasks of single-task jobs that have a GPU of the server to themselves and may move, the lowest first."""
    found = np.empty(state.servers[server].num_tasks, np.int64)
    count = 0
    task = state.servers[server].first_task
    while task != NONE:
        placed = state.tasks[task]
        # The parameter server, with no GPU, belongs to a job of several tasks.
        alone = state.jobs[placed.job].num_tasks == 1 and state.gpus[placed.gpu].num_tasks == 1
        if alone and _may_move(state, task, cooldown):
            found[count] = task
            count += 1
        task = placed.next_on_server
    return np.sort(found[:count])


@kernel(allocates=True)
def _room_elsewhere(state: State, movers: Array, wanted: int, server: int) -> bool:
    """True if so many of the movers find GPUs of other servers, each one of its own."""
    found = 0
    for gpu in range(state.gpus.shape[0]):
        if found < wanted and state.gpus[gpu].server != server and _has_room(state, movers[found], gpu):
            found += 1
    return found == wanted


@kernel(allocates=True)
def _tightest_gpu(state: State, task: int, server: int) -> int:
    """The most used GPU of other servers that has room, on the server with the most tasks among equals."""
    best = NONE
    most = (-1, -1)
    for gpu in range(state.gpus.shape[0]):
        device = state.gpus[gpu]
        if device.server == server or not _has_room(state, task, gpu):
            continue
        fullness = (int(device.used), int(state.servers[device.server].num_tasks))
        if fullness > most:
            best = gpu
            most = fullness
    return best
