"""Make room for a job by preempting less important ones, as little as possible.

A gang needs its GPUs on one server (or whole servers, if it is larger than one): evicting just anybody until the
numbers add up leaves the free GPUs scattered. So the choice is a server: the one where the fewest GPUs must be taken
from others, and there the least important jobs go first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import NONE, RUNNING, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.decisions import evict_job
from mlfs_gym.cluster.jit import kernel


class Queue(NamedTuple):
    """Active jobs in the order of service, with what there is to know of each position.

    Attributes:
        order: shape (n,), int64, jobs, the most important first.
        level: shape (n,), float64, ascending: a job may preempt those of a higher level.
        wanted: shape (n,), int64, replicas that it shall have.
        held: shape (n,), bool: it may not be preempted now.
        overdue: shape (n,), bool: it has waited so long that it may preempt later arrivals of its own level too.
        style: shape (n,), int64: how to place it, see `mlfs_gym.schedulers.preemptive`.
        rank: shape (J,), int64: position of each active job.
    """

    order: Array
    level: Array
    wanted: Array
    held: Array
    overdue: Array
    style: Array
    rank: Array


@kernel(allocates=True)
def may_preempt(state: State, queue: Queue, position: int, victim: int, even_held: bool) -> bool:
    """True if the job at a position may take the place of the one at position `victim`."""
    if victim == position or state.jobs[queue.order[victim]].status != RUNNING:
        return False
    if queue.held[victim] and not even_held:
        return False
    if queue.level[victim] > queue.level[position]:
        return True
    bypassed = queue.order[victim] > queue.order[position]  # arrived later
    return queue.overdue[position] and bypassed and queue.level[victim] == queue.level[position]


@kernel(allocates=True)
def make_room(state: State, queue: Queue, position: int, needed: int) -> bool:
    """Evict so that the next replica of a job, or all of them, fits.

    Args:
        state: the cluster.
        queue: the jobs.
        position: of the job that needs room.
        needed: GPUs that it needs on one server, or on whole ones if no server has so many.

    Returns:
        False, with nothing changed, if that cannot be.
    """
    if needed > state.servers[0].num_gpus:
        return _clear_servers(state, queue, position, needed, False)
    server = cheapest_server(state, queue, position, needed, False)
    if server == NONE:
        return False
    task = state.jobs[queue.order[position]].first_task
    victims = np.empty(state.servers[server].num_tasks, np.int64)
    count = _victims_on(state, queue, position, server, False, victims)
    for gone in range(1, count + 1):
        enough = usable_without(state, queue, task, server, victims, gone) >= needed
        if enough:
            for index in range(gone):
                evict_job(state, queue.order[victims[index]])
            return True
    return False


@kernel(allocates=True)
def could_make_room(state: State, queue: Queue, position: int, needed: int) -> bool:
    """True if there would be room if also those jobs could be preempted that are held now."""
    if needed > state.servers[0].num_gpus:
        return _clear_servers(state, queue, position, needed, True)
    return cheapest_server(state, queue, position, needed, True) != NONE


@kernel(allocates=True)
def cheapest_server(state: State, queue: Queue, position: int, needed: int, even_held: bool) -> int:
    """The server on which the fewest GPUs must be taken away to have `needed` of them, NONE if none can do."""
    task = state.jobs[queue.order[position]].first_task
    best = NONE
    least = 0
    for server in range(state.servers.shape[0]):
        victims = np.empty(state.servers[server].num_tasks, np.int64)
        count = _victims_on(state, queue, position, server, even_held, victims)
        taken = 0
        for gone in range(1, count + 1):
            victim = state.jobs[queue.order[victims[gone - 1]]]
            taken += victim.running_replicas * victim.partitions
            if best != NONE and taken >= least:
                break
            if usable_without(state, queue, task, server, victims, gone) >= needed:
                best = server
                least = taken
                break
    return best


@kernel(allocates=True)
def _victims_on(state: State, queue: Queue, position: int, server: int, even_held: bool, victims: Array) -> int:
    """Positions of jobs on a server that may be preempted, the least important first. Returns how many."""
    count = 0
    task = state.servers[server].first_task
    while task != NONE:
        victim = queue.rank[state.tasks[task].job]
        task = state.tasks[task].next_on_server
        if not may_preempt(state, queue, position, victim, even_held):
            continue
        place = 0
        while place < count and victims[place] > victim:
            place += 1
        if place < count and victims[place] == victim:
            continue
        for later in range(count, place, -1):
            victims[later] = victims[later - 1]
        victims[place] = victim
        count += 1
    return count


@kernel(allocates=True)
def usable_without(state: State, queue: Queue, task: int, server: int, victims: Array, gone: int) -> int:
    """GPUs of a server that could take a task if the first `gone` victims had left.

    The twin of `mlfs_gym.cluster.consolidated.usable_gpus` for a state that is not there yet.
    """
    host = state.servers[server]
    row = state.tasks[task]
    tasks_on = np.zeros(host.num_gpus, np.int64)
    memory_on = np.zeros(host.num_gpus, np.int64)
    used_on = np.zeros(host.num_gpus, np.int64)
    memory = 0
    cpu = 0
    left = 0
    other = host.first_task
    while other != NONE:
        stays = state.tasks[other]
        other = stays.next_on_server
        leaves = False
        for index in range(gone):
            leaves = leaves or queue.order[victims[index]] == stays.job
        if leaves:
            continue
        left += 1
        memory += stays.memory
        cpu += stays.cpu_used
        if stays.gpu != NONE:
            index = stays.gpu - host.first_gpu
            tasks_on[index] += 1
            memory_on[index] += stays.gpu_memory
            used_on[index] += stays.gpu_used
    sharing = state.clock[0].sharing == 1
    count = 0
    for index in range(host.num_gpus):
        if memory_on[index] + row.gpu_memory > state.gpus[host.first_gpu + index].memory:
            continue
        if tasks_on[index] == 0 or (sharing and used_on[index] + row.gpu_demand <= MILLI):
            count += 1
    if row.memory > 0:
        count = min(count, (host.memory - memory) // row.memory)
    if sharing and left > 0 and row.cpu_demand > 0:
        count = min(count, max(0, host.cpu - cpu) // row.cpu_demand)
    return count


@kernel(allocates=True)
def _clear_servers(state: State, queue: Queue, position: int, needed: int, even_held: bool) -> bool:
    """Evict everybody from as many servers as a large gang needs, those with the fewest GPUs to take away first.

    With `even_held` it only says whether that could be done, and evicts nobody.
    """
    number = state.servers.shape[0]
    cost = np.empty(number)  # tasks to take away for each GPU
    for server in range(number):
        cost[server] = 0.0
        task = state.servers[server].first_task
        while task != NONE:
            row = state.tasks[task]
            task = row.next_on_server
            if not may_preempt(state, queue, position, queue.rank[row.job], even_held):
                cost[server] = np.inf
                break
            cost[server] += 1.0 / state.servers[server].num_gpus
    order = np.argsort(cost, kind="mergesort")
    whole = 0
    gpus = 0
    while gpus < needed:
        if whole == number or cost[order[whole]] == np.inf:
            return False
        gpus += state.servers[order[whole]].num_gpus
        whole += 1
    if even_held:
        return True
    for index in range(whole):
        while state.servers[order[index]].first_task != NONE:
            evict_job(state, state.tasks[state.servers[order[index]].first_task].job)
    return True
