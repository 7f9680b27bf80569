"""Graphene: troublesome tasks first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import NONE, RUNNING, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.quantum import had_its_quantum
from mlfs_gym.schedulers.shares import PatientParams, active_jobs, put_starved_first, share_out

RESOURCES = 3  # GPU compute, CPU, host memory


class GrapheneParams(PatientParams):
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


class Graphene(Scheduler):
    """What is long-running or hard to pack goes first, packed where it fits best, weighed against remaining work.

    Grandl, Kandula, Rao, Akella and Kulkarni, "GRAPHENE: Packing and Dependency-Aware Scheduling for Data-Parallel
    Clusters", OSDI 2016. Troublesome tasks (section 4.1): LongScore, the duration over the longest, is at least l,
    or FragScore, how far tasks of the kind fill a machine, is at most f; tasks on a path of the graph between two of
    them belong to them. They get their places before the others (4.2). At run time (section 5) the order is by
    priority score times packing score (the dot product of demands and free resources, as in Tetris) minus eta times
    the remaining work, with bounded unfairness. Run times are known, as in the paper, here from the jobs' estimates.
    It packs fractions of every resource, so it shares GPUs.

    Deviations: the paper's tasks end within minutes, and what they held goes to whoever scores best then. A training
    holds its GPUs for hours; here it may be asked to leave them once a quantum, as in SLAQ, whose paper relies on
    short tasks too. The tasks of a replica train together, so all of them are placed at once; the order within the
    graph decides who gets the emptiest GPU, and among jobs a whole replica counts as a task, its duration the remaining
    run time. l and f are fixed instead of searched for, and which tasks precede or follow the troublesome ones makes
    no difference to a gang. Unfairness is bounded by waiting time instead of by deficits of queues. Scores are computed
    once a round.

    Args:
        params: thresholds, weights, quantum and patience; None for the defaults.
    """

    name = "graphene"
    shares_gpus = True

    def __init__(self, params: GrapheneParams | Mapping[str, Any] | None = None) -> None:
        self.params = GrapheneParams.parse(params)
        self.wake_every_seconds = self.params.quantum_seconds
        self._line = np.zeros(0, np.int64)

    def reset(self, cluster: Cluster) -> None:
        """Find the troublesome partitions of every job."""
        self._line = np.zeros(len(cluster.state.tasks), np.int64)
        lines_of_all(cluster.state, self.params.long_above, self._line)

    def schedule(self, cluster: Cluster) -> None:
        """Share out, the highest score first."""
        if len(self._line) != len(cluster.state.tasks):
            self.reset(cluster)
        state, active, p = cluster.state, active_jobs(cluster), self.params
        scores = np.empty(len(active))
        online_scores(state, active, p, scores)
        levels = np.repeat(-scores, state.jobs["replicas"][active])
        put_starved_first(state, active, levels, p.patience_hours)
        share_out(cluster, active, levels, False, p.quantum_seconds, self._line)


def online_scores(state: State, jobs: Array, params: GrapheneParams, scores: Array) -> None:
    """Score of each job: priority times packing minus eta times remaining work, each over its mean.

    Args:
        state: the cluster, observed.
        jobs: shape (n,), active jobs.
        params: thresholds and weights.
        scores: shape (n,), receives the scores.
    """
    p = params
    _scores(
        state,
        jobs,
        p.quantum_seconds,
        p.long_above,
        p.fragmenting_below,
        p.later_priority,
        p.remaining_work_weight,
        scores,
    )


@kernel(allocates=True)
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


@kernel(allocates=True)
def _scores(
    state: State,
    jobs: Array,
    quantum: float,
    long_above: float,
    fragmenting_below: float,
    later: float,
    eta: float,
    scores: Array,
) -> None:
    count = jobs.shape[0]
    available = np.empty(RESOURCES)
    totals = np.empty(RESOURCES)
    _resources(state, jobs, quantum, totals, available)
    work = np.empty(count)
    longest = 0.0
    for position in range(count):
        row = state.jobs[jobs[position]]
        work[position] = (row.max_iterations - row.progress) * row.ideal_iteration_time
        longest = max(longest, work[position])
    for position in range(count):
        job = jobs[position]
        troublesome = work[position] >= long_above * longest or frag_score(state, job) <= fragmenting_below
        scores[position] = (1.0 if troublesome else later) * packing_score(state, job, totals, available)
        work[position] *= state.jobs[job].num_gpus
    mean_packing = scores.sum() / max(1, count)
    mean_work = work.sum() / max(1, count)
    for position in range(count):
        packing = scores[position] / mean_packing if mean_packing > 0.0 else 0.0
        remaining = work[position] / mean_work if mean_work > 0.0 else 0.0
        scores[position] = packing - eta * remaining


@kernel(allocates=True)
def _resources(state: State, jobs: Array, quantum: float, totals: Array, available: Array) -> None:
    """What the cluster has of each resource, and what share of that can be given away now."""
    totals[:] = 0.0
    totals[0] = state.gpus.shape[0] * MILLI
    for server in range(state.servers.shape[0]):
        host = state.servers[server]
        totals[1] += host.cpu
        totals[2] += host.memory
    kept = np.zeros(RESOURCES)
    for job in jobs:
        row = state.jobs[job]
        if row.status != RUNNING or had_its_quantum(state, job, quantum):
            continue
        for task in range(row.first_task, row.first_task + row.num_tasks):
            placed = state.tasks[task]
            if placed.server != NONE:
                kept[1] += placed.cpu_used
                kept[2] += placed.memory
            if placed.gpu != NONE:
                kept[0] += placed.gpu_used if state.clock[0].sharing == 1 else MILLI
    for resource in range(RESOURCES):
        available[resource] = max(0.0, 1.0 - kept[resource] / totals[resource])


@kernel(allocates=True)
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


@kernel(allocates=True)
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


@kernel(allocates=True)
def lines_of_all(state: State, long_above: float, line: Array) -> None:
    """The order of `troublesome_first` for every job.

    Args:
        state: the cluster.
        long_above: l.
        line: shape (T,), receives the partitions of each job where the tasks of its first replica stand.
    """
    for job in range(state.jobs.shape[0]):
        row = state.jobs[job]
        troublesome_first(state, job, long_above, line[row.first_task : row.first_task + row.partitions])
