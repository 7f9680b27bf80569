"""Let a gang in that does not fit: evict as few GPUs' worth of others as it takes, or hold servers for it.

Free GPUs that lie scattered are no use to a gang. Whoever preempts by order alone lets wide jobs wait for ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import count_on_gpu
from mlfs_gym.cluster.consolidated import consolidated_hosts, usable_gpus
from mlfs_gym.cluster.decisions import evict_job, next_replica
from mlfs_gym.cluster.jit import kernel


class Plan(NamedTuple):
    """What a scheduler wants each active job to have. Entries of other jobs mean nothing.

    Attributes:
        target: shape (J,), int64, replicas.
        rank: shape (J,), int64, importance, the lower the more.
        evictable: shape (J,), int64, 1: may be evicted in this round.
        line: shape (T,), int64, who gets the emptiest GPUs (`give_emptiest_first`); shape (0,): nobody in particular.
    """

    target: Array
    rank: Array
    evictable: Array
    line: Array


def new_plan(jobs: int) -> Plan:
    """A plan for so many jobs, to be filled."""
    zeros = np.zeros(jobs, np.int64)
    return Plan(zeros, zeros.copy(), zeros.copy(), np.zeros(0, np.int64))


@kernel(allocates=True)
def gives_way(state: State, plan: Plan, holder: int, job: int) -> bool:
    """True if a job should leave its GPUs to another one, now or once its quantum is over.

    One that has more than its target must. One within its target does so only for the first replica of a job that is
    more important: without that a gang would never find room among many small jobs.
    """
    if holder == job:
        return False
    if state.jobs[holder].running_replicas > plan.target[holder]:
        return True
    return bool(state.jobs[job].running_replicas == 0 and plan.rank[holder] > plan.rank[job])


@kernel(allocates=True)
def make_room(state: State, job: int, plan: Plan, hosts: Array) -> bool:
    """Evict the cheapest set of jobs that lets the next replica of a job in; nobody if there is none.

    Args:
        state: the cluster.
        job: a job whose next replica does not fit.
        plan: who may be evicted, and for whom; the evicted are marked as no longer evictable.
        hosts: shape (P + 1,) or more; receives the hosts.

    Returns:
        True if `hosts` now holds hosts that fit.
    """
    replica = next_replica(state, job)
    if replica == NONE:
        return False
    row = state.jobs[job]
    widest = 0
    for server in range(state.servers.shape[0]):
        widest = max(widest, state.servers[server].num_gpus)
    if row.partitions > widest:
        return _clear_servers(state, job, plan, hosts)

    task = row.first_task + replica * row.partitions
    best = NONE
    fewest = 0
    for server in range(state.servers.shape[0]):
        victims, gpus = _victims_on(state, job, plan, server, task, row.partitions)
        if victims.shape[0] > 0 and (best == NONE or gpus < fewest):
            best = server
            fewest = gpus
    if best == NONE:
        return False
    victims, _ = _victims_on(state, job, plan, best, task, row.partitions)
    return _evict_if_it_helps(state, job, plan, victims, hosts)


@kernel(allocates=True)
def _victims_on(state: State, job: int, plan: Plan, server: int, task: int, wanted: int) -> tuple[Array, int]:
    """The least important jobs of a server that must go for so many tasks to fit there, and the GPUs they hold.

    None if that does not help.
    """
    candidates = _candidates_on(state, job, plan, server)
    gpus = 0
    taken = 0
    fits = False
    while taken < candidates.shape[0] and not fits:
        victim = candidates[taken]
        _count(state, victim, -1)
        gpus += state.jobs[victim].running_replicas * state.jobs[victim].partitions
        taken += 1
        fits = usable_gpus(state, task, server) >= wanted
    for index in range(taken):
        _count(state, candidates[index], 1)
    if not fits:
        taken = 0
    return candidates[:taken], gpus


@kernel(allocates=True)
def _candidates_on(state: State, job: int, plan: Plan, server: int) -> Array:
    """Jobs on a server that may be evicted for a job: those above their target first, then the least important."""
    # Not as many as the server's `num_tasks`: jobs that are counted out on trial are still in its list.
    found = np.empty(state.clock[0].num_running, np.int64)
    keys = np.empty(state.clock[0].num_running, np.int64)
    count = 0
    task = state.servers[server].first_task
    while task != NONE:
        holder = state.tasks[task].job
        known = False
        for index in range(count):
            known = known or found[index] == holder
        if not known and plan.evictable[holder] == 1 and gives_way(state, plan, holder, job):
            within = state.jobs[holder].running_replicas <= plan.target[holder]
            found[count] = holder
            keys[count] = -plan.rank[holder] + (1 << 40 if within else 0)
            count += 1
        task = state.tasks[task].next_on_server
    return found[:count][np.argsort(keys[:count], kind="mergesort")]


@kernel(allocates=True)
def _clear_servers(state: State, job: int, plan: Plan, hosts: Array) -> bool:
    """Evict from whole servers, the cheapest first, until a gang that is wider than a server fits."""
    servers = state.servers.shape[0]
    cost = np.empty(servers, np.int64)
    order = np.empty(servers, np.int64)
    count = 0
    for server in range(servers):
        if state.servers[server].num_tasks > 0:
            gpus = _gpus_to_clear(state, job, plan, server)
            if gpus > 0:
                cost[count] = gpus
                order[count] = server
                count += 1
    order = order[:count][np.argsort(cost[:count], kind="mergesort")]
    victims = np.empty(state.clock[0].num_running, np.int64)
    taken = 0
    fits = False
    for cleared in order:
        for victim in _candidates_on(state, job, plan, int(cleared)):
            known = False
            for index in range(taken):
                known = known or victims[index] == victim
            if not known:
                victims[taken] = victim
                _count(state, victim, -1)
                taken += 1
        fits = consolidated_hosts(state, job, hosts)
        if fits:
            break
    for index in range(taken):
        _count(state, victims[index], 1)
    if not fits:
        return False
    return _evict_if_it_helps(state, job, plan, victims[:taken], hosts)


@kernel(allocates=True)
def _gpus_to_clear(state: State, job: int, plan: Plan, server: int) -> int:
    """GPUs held by all jobs of a server, 0 if one of them may not be evicted."""
    task = state.servers[server].first_task
    while task != NONE:
        holder = state.tasks[task].job
        if plan.evictable[holder] == 0 or not gives_way(state, plan, holder, job):
            return 0
        task = state.tasks[task].next_on_server
    gpus = 0
    for victim in _candidates_on(state, job, plan, server):
        gpus += state.jobs[victim].running_replicas * state.jobs[victim].partitions
    return gpus


@kernel(allocates=True)
def _evict_if_it_helps(state: State, job: int, plan: Plan, victims: Array, hosts: Array) -> bool:
    for victim in victims:
        _count(state, victim, -1)
    fits = consolidated_hosts(state, job, hosts)
    for victim in victims:
        _count(state, victim, 1)
    if fits:
        for victim in victims:
            evict_job(state, victim)
            plan.evictable[victim] = 0
    return fits


@kernel(allocates=True)
def _count(state: State, job: int, sign: int) -> None:
    """Count a running job out of the sums of its hosts (sign -1), or in again (1). Nobody else is told."""
    row = state.jobs[job]
    for task in range(row.first_task, row.first_task + row.num_tasks):
        placed = state.tasks[task]
        if placed.server == NONE:
            continue
        host = state.servers[placed.server]
        host.num_tasks += sign
        host.memory_used += sign * placed.memory
        host.cpu_used += sign * placed.cpu_used
        host.version += 1
        if placed.gpu != NONE:
            device = state.gpus[placed.gpu]
            count_on_gpu(state, placed.gpu, sign)
            device.memory_used += sign * placed.gpu_memory
            device.used += sign * placed.gpu_used


@kernel(allocates=True)
def servers_to_hold(state: State, job: int, plan: Plan) -> Array:
    """Servers to keep free of others until a gang fits: those that it could have soonest.

    First by GPUs whose holders give way once their quantum is over, then by GPUs that are empty now; the lower number
    among equals.
    """
    servers = state.servers.shape[0]
    score = np.empty(servers, np.int64)
    for server in range(servers):
        host = state.servers[server]
        empty = 0
        clear = 0
        for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
            empty += 1 if state.gpus[gpu].num_tasks == 0 else 0
            clear += 1 if _all_give_way(state, job, plan, server, gpu) else 0
        score[server] = -(clear * (host.num_gpus + 1) + empty)
    order = np.argsort(score, kind="mergesort")
    gpus = 0
    count = 0
    while count < servers and gpus < state.jobs[job].partitions:
        gpus += state.servers[order[count]].num_gpus
        count += 1
    return order[:count]


@kernel(allocates=True)
def _all_give_way(state: State, job: int, plan: Plan, server: int, gpu: int) -> bool:
    task = state.servers[server].first_task
    while task != NONE:
        placed = state.tasks[task]
        if placed.gpu == gpu and not gives_way(state, plan, placed.job, job):
            return False
        task = placed.next_on_server
    return True


@kernel(allocates=True)
def hold(state: State, servers: Array, sign: int) -> None:
    """Make servers look full (sign 1), or as they are again (-1), within one call of a kernel."""
    for server in servers:
        host = state.servers[server]
        host.memory_used += sign * (host.memory + 1)
        for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
            device = state.gpus[gpu]
            device.memory_used += sign * (device.memory + 1)
