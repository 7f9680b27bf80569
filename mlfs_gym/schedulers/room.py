"""Make room for a job by preempting less important ones, as little as possible.

A gang needs its GPUs on one server (or whole servers, if it is larger than one): evicting just anybody until the
numbers add up leaves the free GPUs scattered. So the choice is a server: the one where the fewest GPUs must be taken
from others, and there the least important jobs go first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mlfs_gym.cluster.arrays import NONE, RUNNING, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.bundle import B1, F8, I8, Bundle, Of
from mlfs_gym.cluster.decisions import evict_job
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.sorting import sort_with
from mlfs_gym.schedulers.refusals import Refusals, is_refused, new_refusals, refuse


@dataclass(frozen=True, eq=False, repr=False)
class RoomScratch(Bundle):
    """Arrays to plan with.

    Attributes:
        victims: shape (T,), int64, positions in the queue.
        tasks_on: shape (GPUs of the largest server,), int64.
        memory_on: likewise.
        used_on: likewise.
        cost: shape (S,).
        servers: shape (S,), int64.
        memory_mattered: shape (1,), int64, 1 if the last search for a server failed for memory somewhere.
        refused: for what no room could be made in this round.
        refused_for_good: for what there would be none even if held jobs could be preempted.
    """

    victims: Annotated[Array, Of(I8)]
    tasks_on: Annotated[Array, Of(I8)]
    memory_on: Annotated[Array, Of(I8)]
    used_on: Annotated[Array, Of(I8)]
    cost: Annotated[Array, Of(F8)]
    servers: Annotated[Array, Of(I8)]
    memory_mattered: Annotated[Array, Of(I8)]
    refused: Refusals
    refused_for_good: Refusals


def new_room_scratch(state: State) -> RoomScratch:
    """For one cluster."""
    servers, largest = len(state.servers), int(state.servers["num_gpus"].max())
    tasks_on, memory_on, used_on = np.zeros((3, largest), np.int64)
    return RoomScratch(
        victims=np.zeros(len(state.tasks), np.int64),
        tasks_on=tasks_on,
        memory_on=memory_on,
        used_on=used_on,
        cost=np.zeros(servers),
        servers=np.zeros(servers, np.int64),
        memory_mattered=np.zeros(1, np.int64),
        refused=new_refusals(),
        refused_for_good=new_refusals(),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Queue(Bundle):
    """Active jobs in the order of service, with what there is to know of each position.

    Attributes:
        order: shape (n,), int64, jobs, the most important first.
        level: shape (n,), float64, ascending: a job may preempt those of a higher level.
        wanted: shape (n,), int64, replicas that it shall have.
        held: shape (n,), bool: it may not be preempted now.
        overdue: shape (n,), bool: it has waited so long that it may preempt later arrivals of its own level too.
        style: shape (n,), int64: how to place it, see `mlfs_gym.schedulers.preemptive`.
        rank: shape (J,), int64: position of each active job.
        room: to try out what would be if others left.
    """

    order: Annotated[Array, Of(I8)]
    level: Annotated[Array, Of(F8)]
    wanted: Annotated[Array, Of(I8)]
    held: Annotated[Array, Of(B1)]
    overdue: Annotated[Array, Of(B1)]
    style: Annotated[Array, Of(I8)]
    rank: Annotated[Array, Of(I8)]
    room: RoomScratch


@kernel
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


@kernel
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
    if _known_refusal(state, queue, position, needed, queue.room.refused):
        return False
    if not _make_room(state, queue, position, needed):
        _remember(state, queue, position, needed, queue.room.refused)
        return False
    queue.room.refused.count[0] = 0
    queue.room.refused_for_good.count[0] = 0
    return True


@kernel
def _make_room(state: State, queue: Queue, position: int, needed: int) -> bool:
    if needed > state.clock[0].largest_server:
        return _clear_servers(state, queue, position, needed, False)
    server = cheapest_server(state, queue, position, needed, False)
    if server == NONE:
        return False
    task = state.jobs[queue.order[position]].first_task
    victims = queue.room.victims
    count = _victims_on(state, queue, position, server, False, victims)
    for gone in range(1, count + 1):
        enough = usable_without(state, queue, task, server, victims, gone) >= needed
        if enough:
            for index in range(gone):
                evict_job(state, queue.order[victims[index]])
            return True
    return False


@kernel
def could_make_room(state: State, queue: Queue, position: int, needed: int) -> bool:
    """True if there would be room if also those jobs could be preempted that are held now."""
    if _known_refusal(state, queue, position, needed, queue.room.refused_for_good):
        return False
    if needed > state.clock[0].largest_server:
        could = _clear_servers(state, queue, position, needed, True)
    else:
        could = cheapest_server(state, queue, position, needed, True) != NONE
    if not could:
        _remember(state, queue, position, needed, queue.room.refused_for_good)
    return could


@kernel
def _known_refusal(state: State, queue: Queue, position: int, needed: int, refusals: Refusals) -> bool:
    if state.clock[0].sharing == 1:
        return False
    job = queue.order[position]
    task = state.tasks[state.jobs[job].first_task]
    level, overdue, largest = queue.level[position], queue.overdue[position], state.clock[0].largest_server
    return is_refused(refusals, needed, job, level, overdue, task.memory, task.gpu_memory, largest)


@kernel
def _remember(state: State, queue: Queue, position: int, needed: int, refusals: Refusals) -> None:
    job = queue.order[position]
    task = state.tasks[state.jobs[job].first_task]
    mattered = needed <= state.clock[0].largest_server and queue.room.memory_mattered[0] == 1
    memory = task.memory if mattered else 0
    gpu_memory = task.gpu_memory if mattered else 0
    refuse(refusals, needed, job, queue.level[position], queue.overdue[position], memory, gpu_memory)


@kernel
def cheapest_server(state: State, queue: Queue, position: int, needed: int, even_held: bool) -> int:
    """The server on which the fewest GPUs must be taken away to have `needed` of them, NONE if none can do."""
    task = state.jobs[queue.order[position]].first_task
    exclusive = state.clock[0].sharing == 0
    victims = queue.room.victims
    queue.room.memory_mattered[0] = 0
    best = NONE
    least = 0
    for server in range(state.servers.shape[0]):
        host = state.servers[server]
        if host.num_tasks == 0 or (host.num_gpus < needed and exclusive):
            continue
        if exclusive and best != NONE and needed - host.free_gpus >= least:
            continue  # so many must be taken at least
        count = _victims_on(state, queue, position, server, even_held, victims)
        taken = 0
        freed = 0
        for gone in range(1, count + 1):
            victim = queue.order[victims[gone - 1]]
            taken += state.jobs[victim].running_replicas * state.jobs[victim].partitions
            if best != NONE and taken >= least:
                break
            if exclusive:
                freed += _gpus_of(state, victim, server)
                if host.free_gpus + freed < needed:
                    continue
            if usable_without(state, queue, task, server, victims, gone) >= needed:
                best = server
                least = taken
                break
            queue.room.memory_mattered[0] = 1  # there were GPUs enough
    return best


@kernel
def _gpus_of(state: State, job: int, server: int) -> int:
    """GPUs of a server that a job holds, where none is shared."""
    count = 0
    task = state.servers[server].first_task
    while task != NONE:
        row = state.tasks[task]
        task = row.next_on_server
        count += 1 if row.job == job and row.gpu != NONE else 0
    return count


@kernel
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


@kernel
def usable_without(state: State, queue: Queue, task: int, server: int, victims: Array, gone: int) -> int:
    """GPUs of a server that could take a task if the first `gone` victims had left.

    The twin of `mlfs_gym.cluster.consolidated.usable_gpus` for a state that is not there yet.
    """
    host = state.servers[server]
    row = state.tasks[task]
    tasks_on, memory_on, used_on = queue.room.tasks_on, queue.room.memory_on, queue.room.used_on
    tasks_on[:] = 0
    memory_on[:] = 0
    used_on[:] = 0
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


@kernel
def _clear_servers(state: State, queue: Queue, position: int, needed: int, even_held: bool) -> bool:
    """Evict everybody from as many servers as a large gang needs, those with the fewest GPUs to take away first.

    With `even_held` it only says whether that could be done, and evicts nobody.
    """
    number = state.servers.shape[0]
    cost, order = queue.room.cost, queue.room.servers  # tasks to take away for each GPU
    for server in range(number):
        cost[server] = 0.0
        order[server] = server
        task = state.servers[server].first_task
        while task != NONE:
            row = state.tasks[task]
            task = row.next_on_server
            if not may_preempt(state, queue, position, queue.rank[row.job], even_held):
                cost[server] = np.inf
                break
            cost[server] += 1.0 / state.servers[server].num_gpus
    sort_with(cost, order)
    whole = 0
    gpus = 0
    while gpus < needed:
        if whole == number or cost[whole] == np.inf:
            return False
        gpus += state.servers[order[whole]].num_gpus
        whole += 1
    if even_held:
        return True
    for index in range(whole):
        while state.servers[order[index]].first_task != NONE:
            evict_job(state, state.tasks[state.servers[order[index]].first_task].job)
    return True
