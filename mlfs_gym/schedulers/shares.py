"""Share the GPUs out to jobs, replica by replica, and bring the cluster there.

Data parallelism is elastic: a job runs with any number of its replicas. A job grows by placing replicas, which costs
nothing. It shrinks by being evicted and placed with fewer, which costs a restart: only when somebody else needs the
GPUs, and never before its quantum is over.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.consolidated import consolidated_hosts
from mlfs_gym.cluster.decisions import place_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import Settings
from mlfs_gym.schedulers.emptiest_gpus import give_emptiest_first
from mlfs_gym.schedulers.quantum import had_its_quantum
from mlfs_gym.schedulers.room_for_shares import Plan, hold, make_room, new_plan, servers_to_hold


class PreemptiveParams(Settings):
    """Settings of every scheduler that preempts."""

    quantum_seconds: float = Field(
        default=300.0, gt=0, le=1e7, description="a job that was placed makes progress at least this long"
    )


class PatientParams(PreemptiveParams):
    """Settings of schedulers whose order alone would let some jobs wait as long as others keep coming."""

    patience_hours: float = Field(
        default=72.0,
        gt=0,
        le=1e5,
        description="of the jobs that have waited so long, the one that has waited longest gets a replica first",
    )


def active_jobs(cluster: Cluster) -> Array:
    """Jobs that have arrived and not ended, shape (n,), in order of arrival."""
    state = cluster.state
    return state.active[: state.clock["num_active"][0]]


def put_starved_first(state: State, order: Array, levels: Array, patience_hours: float) -> None:
    """Lower the level of one replica of the job that has waited longest, if it is beyond patience, below all others.

    Args:
        state: the cluster, observed.
        order: shape (n,), active jobs.
        levels: shape (sum of replicas,), changed in place.
        patience_hours: see `PatientParams`.
    """
    waited = state.jobs["waiting_time"][order]
    if len(order) and waited.max() >= patience_hours * 3600.0:
        starved = int(waited.argmax())
        levels[state.jobs["replicas"][order[:starved]].sum()] = -np.inf


def share_out(
    cluster: Cluster, order: Array, levels: Array, one_each: bool, quantum: float, line: Array | None = None
) -> None:
    """Grant replicas by their levels within the cluster's GPUs, then place them, preempting where that takes it.

    Args:
        cluster: the cluster.
        order: shape (n,), active jobs; the earlier one among equal levels.
        levels: shape (sum of replicas,), the level of each replica of each job in that order; the lowest is granted
            first. Within a job they must not fall.
        one_each: the first replica of every job comes before the second of any.
        quantum: s, see `PreemptiveParams`.
        line: shape (T,), which partitions get the emptiest GPUs (`give_emptiest_first`); None: none in particular.
    """
    plan = new_plan(len(cluster.jobs))
    if line is not None:
        plan = plan._replace(line=line)
    granted = grant(cluster.state, order, levels, one_each, plan)
    serve(cluster.state, order, granted, plan, quantum, cluster.hosts_scratch)


@kernel(allocates=True)
def replica_demand(state: State, job: int) -> int:
    """Milli-GPUs that one replica takes: whole GPUs if they are exclusive, its compute demand if they are shared."""
    row = state.jobs[job]
    if state.clock[0].sharing == 0:
        return int(row.partitions * MILLI)
    demand = 0
    for task in range(row.first_task, row.first_task + row.partitions):
        demand += state.tasks[task].gpu_demand
    return int(demand)


@kernel(allocates=True)
def grant(state: State, order: Array, levels: Array, one_each: bool, plan: Plan) -> Array:
    """Grant replicas by level until the GPUs are given away. What does not fit the rest is passed over.

    Args:
        state: the cluster.
        order: shape (n,), active jobs.
        levels: shape (sum of replicas,), see `share_out`.
        one_each: the first replica of every job comes before the second of any.
        plan: receives targets, and ranks in the order of first grants.

    Returns:
        Shape (number of grants,), int64: jobs, in the order in which replicas are granted to them.
    """
    owner = np.empty(levels.shape[0], np.int64)
    first = np.zeros(levels.shape[0], np.int64)
    unit = 0
    for job in order:
        plan.target[job] = 0
        plan.rank[job] = NONE
        for replica in range(state.jobs[job].replicas):
            owner[unit] = job
            first[unit] = 0 if replica == 0 and one_each else 1
            unit += 1
    by_level = np.argsort(levels, kind="mergesort")
    if one_each:
        by_level = by_level[np.argsort(first[by_level], kind="mergesort")]

    free = state.gpus.shape[0] * MILLI
    granted = np.empty(levels.shape[0], np.int64)
    count = 0
    ranks = 0
    for unit in by_level:
        job = owner[unit]
        if plan.rank[job] == NONE:
            plan.rank[job] = ranks  # also of those that get nothing: they come in this order
            ranks += 1
        demand = replica_demand(state, job)
        if demand <= free:
            free -= demand
            plan.target[job] += 1
            granted[count] = job
            count += 1
    return granted[:count]


@kernel(allocates=True)
def serve(state: State, order: Array, granted: Array, plan: Plan, quantum: float, hosts: Array) -> None:
    """Place what was granted, making room where that is needed, then whatever else fits.

    The most important job that finds no room even so gets servers held for it, else smaller jobs would take every
    GPU that becomes free before it.

    Args:
        state: the cluster.
        order: shape (n,), active jobs.
        granted: shape (m,), jobs, one entry for each replica.
        plan: targets and ranks.
        quantum: s.
        hosts: shape (largest P + 1,), scratch.
    """
    for job in order:
        plan.evictable[job] = 1 if had_its_quantum(state, job, quantum) else 0
    held = np.empty(0, np.int64)
    # A second time for those above their target that had to leave, and come back with fewer replicas.
    for _ in range(2):
        preemptions = state.clock[0].preemptions
        blocked = _place_granted(state, granted, plan, hosts, held)
        if blocked != NONE and held.shape[0] == 0:
            held = servers_to_hold(state, blocked, plan)
            hold(state, held, 1)
            _place_granted(state, granted, plan, hosts, held)
        if state.clock[0].preemptions == preemptions:
            break
    _place_rest(state, order, plan, hosts)
    hold(state, held, -1)


@kernel(allocates=True)
def _place_granted(state: State, granted: Array, plan: Plan, hosts: Array, held: Array) -> int:
    """Walk the grants. Stops at the first job that cannot run at all, unless servers are held already.

    Returns:
        That job, NONE if there is none.
    """
    room = most_room(state)
    seen = np.zeros(state.jobs.shape[0], np.int64)
    failed = np.zeros(state.jobs.shape[0], np.int64)
    for job in granted:
        seen[job] += 1
        row = state.jobs[job]
        if failed[job] == 1 or row.running_replicas >= seen[job]:
            continue
        fits = state.tasks[row.first_task].gpu_demand <= room and consolidated_hosts(state, job, hosts)
        if not fits:
            fits = make_room(state, job, plan, hosts)
        if fits and _place(state, job, plan, hosts):
            room = most_room(state)
            continue
        failed[job] = 1
        if row.running_replicas == 0 and held.shape[0] == 0:
            return int(job)
    return NONE


@kernel(allocates=True)
def _place_rest(state: State, order: Array, plan: Plan, hosts: Array) -> None:
    """Whatever else fits, the most important first: no GPU idles that somebody could use."""
    room = most_room(state)
    ranks = np.empty(order.shape[0], np.int64)
    for position in range(order.shape[0]):
        ranks[position] = plan.rank[order[position]]
    for position in np.argsort(ranks, kind="mergesort"):
        if room == 0:
            return
        job = order[position]
        row = state.jobs[job]
        if row.running_replicas < row.replicas and state.tasks[row.first_task].gpu_demand <= room:
            before = row.running_replicas
            while row.running_replicas < row.replicas and consolidated_hosts(state, job, hosts):
                if not _place(state, job, plan, hosts):
                    break
            if row.running_replicas > before:
                room = most_room(state)


@kernel(allocates=True)
def _place(state: State, job: int, plan: Plan, hosts: Array) -> bool:
    """Place the next replica of a job on hosts that fit."""
    if plan.line.shape[0] > 0:
        give_emptiest_first(state, job, plan.line, hosts)
    return place_replica(state, job, hosts)


@kernel(allocates=True)
def most_room(state: State) -> int:
    """Milli-GPUs free on the GPU that has most: a task that demands more fits nowhere."""
    most = 0
    for gpu in range(state.gpus.shape[0]):
        device = state.gpus[gpu]
        if device.num_tasks == 0:
            return MILLI
        if state.clock[0].sharing == 1:
            most = max(most, MILLI - device.used)
    return int(most)
