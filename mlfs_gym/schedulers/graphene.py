"""Graphene: troublesome tasks first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.consolidated import consolidated_hosts
from mlfs_gym.cluster.decisions import next_replica, place_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import Settings
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.room_for_shares import Plan, hold, new_plan, servers_to_hold
from mlfs_gym.schedulers.shares import active_jobs, most_room

RESOURCES = 3  # GPU compute, CPU, host memory


class GrapheneParams(Settings):
    """Settings of Graphene."""

    long_above: float = Field(
        default=0.8, gt=0, le=1, description="l: troublesome is what takes at least so much of the longest time"
    )
    fragmenting_below: float = Field(
        default=0.8, gt=0, le=1, description="f: troublesome is what fills a GPU or server at most so far with its like"
    )
    later_priority: float = Field(
        default=0.5, gt=0, le=1, description="priority score of what is not troublesome; that of what is: 1"
    )
    remaining_work_weight: float = Field(
        default=1.0, ge=0, le=1e3, description="eta: weight of the remaining work, both terms scaled to a mean of 1"
    )
    patience_hours: float = Field(
        default=72.0, gt=0, le=1e5, description="a job that has waited so long goes first and gets servers held for it"
    )


class Graphene(Scheduler):
    """What is long-running or hard to pack goes first, packed where it fits best, weighed against remaining work.

    Grandl, Kandula, Rao, Akella and Kulkarni, "GRAPHENE: Packing and Dependency-Aware Scheduling for Data-Parallel
    Clusters", OSDI 2016. Troublesome tasks (section 4.1): LongScore, the duration over the longest, is at least l,
    or FragScore, how far tasks of the kind fill a machine, is at most f; tasks on a path of the graph between two of
    them belong to them. They get their places before the others (4.2). At run time (section 5) the order is by
    priority score times packing score (the dot product of demands and free resources, as in Tetris) minus eta times
    the remaining work, with bounded unfairness. Run times are known, as in the paper, here from the jobs' estimates.

    Deviations: the tasks of a replica train together, so all of them are placed at once; the order within the graph
    decides who gets the emptiest GPU, and among waiting jobs a whole replica counts as a task, its duration the
    remaining run time. l and f are fixed instead of searched for, and which tasks precede or follow the troublesome
    ones makes no difference to a gang. Unfairness is bounded by waiting time instead of by deficits of queues. Never
    preempts, and scores are computed once a round.

    Args:
        params: thresholds and weights; None for the defaults.
    """

    name = "graphene"

    def __init__(self, params: GrapheneParams | Mapping[str, Any] | None = None) -> None:
        self.params = GrapheneParams.parse(params)

    def schedule(self, cluster: Cluster) -> None:
        """Place what fits, the highest score first."""
        state, active, p = cluster.state, active_jobs(cluster), self.params
        waiting = active[state.jobs["running_replicas"][active] < state.jobs["replicas"][active]]
        if len(waiting) == 0:
            return
        scores = np.empty(len(waiting))
        online_scores(
            state, waiting, p.long_above, p.fragmenting_below, p.later_priority, p.remaining_work_weight, scores
        )
        rows = state.jobs[waiting]
        starved = (rows["running_replicas"] == 0) & (rows["waiting_time"] >= p.patience_hours * 3600.0)
        order = waiting[np.lexsort((waiting, -scores, np.where(starved, -rows["waiting_time"], 1.0)))]
        plan = new_plan(len(cluster.jobs))
        _place_in_order(state, order, int(starved.sum()), p.long_above, plan, cluster.hosts_scratch)


@kernel
def frag_score(state: State, job: int) -> float:
    """How much of the GPUs, or of the servers, is in use when they are filled with replicas of this kind alone."""
    row = state.jobs[job]
    size = state.servers[0].num_gpus
    if row.partitions <= size:
        score = row.partitions * (size // row.partitions) / size
    else:
        score = row.partitions / (size * -(-row.partitions // size))
    if state.clock[0].sharing == 1:
        for task in range(row.first_task, row.first_task + row.partitions):
            demand = state.tasks[task].gpu_demand
            score = min(score, demand * (MILLI // demand) / MILLI)
    return float(score)


@kernel
def online_scores(
    state: State, waiting: Array, long_above: float, fragmenting_below: float, later: float, eta: float, scores: Array
) -> None:
    """Score of each waiting job: priority times packing minus eta times remaining work, each over its mean.

    Args:
        state: the cluster, observed.
        waiting: shape (n,), jobs with a replica to place.
        long_above: l.
        fragmenting_below: f.
        later: priority score of replicas that are not troublesome.
        eta: weight of the remaining work.
        scores: shape (n,), receives the scores.
    """
    count = waiting.shape[0]
    available = np.empty(RESOURCES)
    totals = np.empty(RESOURCES)
    _resources(state, totals, available)
    work = np.empty(count)
    longest = 0.0
    for position in range(count):
        row = state.jobs[waiting[position]]
        work[position] = (row.max_iterations - row.progress) * row.ideal_iteration_time
        longest = max(longest, work[position])
    for position in range(count):
        job = waiting[position]
        troublesome = work[position] >= long_above * longest or frag_score(state, job) <= fragmenting_below
        scores[position] = (1.0 if troublesome else later) * packing_score(state, job, totals, available)
        work[position] *= state.jobs[job].num_gpus
    mean_packing = scores.mean()
    mean_work = work.mean()
    for position in range(count):
        packing = scores[position] / mean_packing if mean_packing > 0.0 else 0.0
        remaining = work[position] / mean_work if mean_work > 0.0 else 0.0
        scores[position] = packing - eta * remaining


@kernel
def _resources(state: State, totals: Array, available: Array) -> None:
    """What the cluster has of each resource, and what share of that is free."""
    totals[:] = 0.0
    used = np.zeros(RESOURCES)
    totals[0] = state.gpus.shape[0] * MILLI
    for server in range(state.servers.shape[0]):
        host = state.servers[server]
        totals[1] += host.cpu
        totals[2] += host.memory
        used[1] += host.cpu_used
        used[2] += host.memory_used
    for gpu in range(state.gpus.shape[0]):
        device = state.gpus[gpu]
        if state.clock[0].sharing == 1:
            used[0] += device.used
        elif device.num_tasks > 0:
            used[0] += MILLI
    for resource in range(RESOURCES):
        available[resource] = max(0.0, 1.0 - used[resource] / totals[resource])


@kernel
def packing_score(state: State, job: int, totals: Array, available: Array) -> float:
    """Dot product of the shares of the cluster that a replica demands and that are free."""
    row = state.jobs[job]
    score = 0.0
    for task in range(row.first_task, row.first_task + row.partitions):
        placed = state.tasks[task]
        gpu = placed.gpu_demand if state.clock[0].sharing == 1 else MILLI
        score += gpu / totals[0] * available[0]
        score += placed.cpu_demand / totals[1] * available[1]
        score += placed.memory / totals[2] * available[2]
    return float(score)


@kernel
def troublesome_first(state: State, job: int, long_above: float, order: Array) -> int:
    """Partitions of a replica, the troublesome ones first, each group along the graph.

    Args:
        state: the cluster.
        job: a job.
        long_above: l; the longest partition is always troublesome.
        order: shape (P,), receives the partitions.

    Returns:
        How many are troublesome.
    """
    row = state.jobs[job]
    longest = 0.0
    for task in range(row.first_task, row.first_task + row.partitions):
        longest = max(longest, state.tasks[task].compute_time)
    above = np.zeros(row.partitions, np.int64)  # 1: troublesome, or reached from one
    below = np.zeros(row.partitions, np.int64)  # 1: troublesome, or reaches one
    for partition in range(row.partitions):
        if state.tasks[row.first_task + partition].compute_time >= long_above * longest:
            above[partition] = 1
            below[partition] = 1
    for edge in range(row.first_edge, row.first_edge + row.num_edges):  # sorted by target
        arrow = state.edges[edge]
        above[arrow.target] = max(above[arrow.target], above[arrow.source])
    for edge in range(row.first_edge + row.num_edges - 1, row.first_edge - 1, -1):
        arrow = state.edges[edge]
        below[arrow.source] = max(below[arrow.source], below[arrow.target])
    count = 0
    for partition in range(row.partitions):
        if above[partition] == 1 and below[partition] == 1:
            order[count] = partition
            count += 1
    troublesome = count
    for partition in range(row.partitions):
        if above[partition] == 0 or below[partition] == 0:
            order[count] = partition
            count += 1
    return troublesome


@kernel
def graphene_hosts(state: State, job: int, long_above: float, hosts: Array) -> bool:
    """Consolidated hosts for the next replica, with the emptiest GPUs of a server for the troublesome partitions.

    Args:
        state: the cluster.
        job: a job.
        long_above: l.
        hosts: shape (P + 1,) or more; receives the GPUs, then the parameter server's server.
    """
    if not consolidated_hosts(state, job, hosts):
        return False
    row = state.jobs[job]
    server = state.gpus[hosts[0]].server
    first = row.first_task + next_replica(state, job) * row.partitions
    if state.clock[0].sharing == 0 or row.partitions > state.servers[server].num_gpus:
        return True
    for partition in range(row.partitions):
        if not _alike(state, first, first + partition):
            return True  # GPUs may fit one partition and not another: leave them as they are
    used = np.empty(row.partitions, np.int64)
    chosen = hosts[: row.partitions].copy()
    for partition in range(row.partitions):
        used[partition] = state.gpus[chosen[partition]].used
    emptiest = np.argsort(used, kind="mergesort")
    order = np.empty(row.partitions, np.int64)
    troublesome_first(state, job, long_above, order)
    for position in range(row.partitions):
        hosts[order[position]] = chosen[emptiest[position]]
    return True


@kernel
def _alike(state: State, one: int, other: int) -> bool:
    """True if two tasks may swap their hosts."""
    a = state.tasks[one]
    b = state.tasks[other]
    return bool(a.gpu_demand == b.gpu_demand and a.gpu_memory == b.gpu_memory and a.memory == b.memory)


@kernel
def _place_in_order(state: State, order: Array, starved: int, long_above: float, plan: Plan, hosts: Array) -> None:
    """Place what fits. The first of the starved jobs that does not fit gets servers held for it."""
    held = np.empty(0, np.int64)
    room = most_room(state)
    for position in range(order.shape[0]):
        job = order[position]
        row = state.jobs[job]
        if state.tasks[row.first_task].gpu_demand <= room:
            before = row.running_replicas
            while graphene_hosts(state, job, long_above, hosts) and place_replica(state, job, hosts):
                pass
            if row.running_replicas > before:
                room = most_room(state)
        if position < starved and row.running_replicas == 0 and held.shape[0] == 0:
            _rank_above_all(state, plan, job)
            held = servers_to_hold(state, job, plan)
            hold(state, held, 1)
    hold(state, held, -1)


@kernel
def _rank_above_all(state: State, plan: Plan, job: int) -> None:
    """Everybody gives way to a job, in time."""
    for position in range(state.clock[0].num_active):
        other = state.active[position]
        plan.target[other] = state.jobs[other].running_replicas
        plan.rank[other] = 1
    plan.rank[job] = 0
