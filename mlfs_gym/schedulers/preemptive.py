"""Serve active jobs in a given order, preempting the less important ones.

Two ways to do it. `serve_admitted` is the rule of the public simulators: admit jobs while their GPUs fit the
cluster's total, preempt the running rest, place. `serve_in_order` preempts only where that lets a more important job
run, which matters where restarts cost time: jobs are held for a quantum once placed, whatever runs goes on until
somebody needs its place, and room is made on the one server where it costs least (see `mlfs_gym.schedulers.room`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import NONE, QUEUED, RUNNING, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.consolidated import consolidated_hosts, usable_gpus
from mlfs_gym.cluster.decisions import evict_job, place_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import Settings
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.ordered import place_what_fits
from mlfs_gym.schedulers.packing import hosts_on_server, spread_hosts
from mlfs_gym.schedulers.room import Queue, could_make_room, make_room, may_preempt, new_room_scratch

# How to place a job: values of `Queue.style`.
CONSOLIDATED: Final = 0  # each replica on as few servers as possible
SPREAD: Final = 1  # the same, but anywhere if that is not possible now
# All replicas on one server, or none of them. As CONSOLIDATED if the job is larger than a server, if it has waited
# beyond the patience, or if nothing runs at all (whatever is in its way then, it is not other jobs).
ONE_SERVER: Final = 2


class PreemptionSettings(Settings):
    """When a job may be preempted."""

    quantum_seconds: float = Field(
        default=300.0, ge=0, le=1e7, description="a placed job is left alone at least so long"
    )
    patience_seconds: float = Field(
        default=3600.0, ge=0, le=1e9, description="who waits longer may preempt later arrivals of its own level"
    )


class PreemptiveScheduler(Scheduler):
    """Base of schedulers that rank the active jobs anew each time and preempt.

    It gets a round at least once a quantum. A large gang is not bypassed for ever by small jobs that find room: once
    it has waited longer than the patience, since its arrival or its last preemption, it may preempt later arrivals
    of its own level, and while only their quantum keeps it waiting, nobody behind it starts.

    Args:
        settings: the quantum and the patience.
    """

    def __init__(self, settings: PreemptionSettings) -> None:
        self.settings = settings
        self.wake_every_seconds = settings.quantum_seconds if settings.quantum_seconds > 0 else np.inf
        self._round_times = np.full(1, -np.inf)
        self._state: State | None = None

    def reset(self, cluster: Cluster) -> None:
        """Forget when the rounds were."""
        del cluster
        self._round_times = np.full(1, -np.inf)
        self._state = None

    def schedule(self, cluster: Cluster) -> None:
        """Decide, if somebody waits."""
        state = cluster.state
        if state.clock["num_waiting"][0] > 0:
            self._note_round(state)
            self.decide(cluster, state.active[: state.clock["num_active"][0]])

    @abstractmethod
    def decide(self, cluster: Cluster, active: Array) -> None:
        """Preempt and place.

        Args:
            cluster: with a job that waits for at least one of its replicas.
            active: shape (n,), jobs in order of arrival.
        """

    def make_queue(
        self, state: State, order: Array, level: Array, wanted: Array | None = None, style: Array | None = None
    ) -> Queue:
        """A queue in which quantum and patience are accounted for.

        Args:
            state: the cluster.
            order: shape (n,), jobs, the most important first.
            level: shape (n,), ascending.
            wanted: shape (n,), replicas; None: all that the job asks for.
            style: shape (n,); None: `CONSOLIDATED`.
        """
        if self._state is not state:
            self._state, self._room = state, new_room_scratch(state)
            self._rank = np.zeros(len(state.jobs), np.int64)
        jobs = state.jobs
        status = jobs["status"][order]
        since = self._placed_at(jobs["placed_round"][order])
        now = state.clock["time"][0]
        waited = now - np.maximum(jobs["arrival"][order], since)
        return Queue(
            order=np.ascontiguousarray(order, np.int64),
            level=np.ascontiguousarray(level, np.float64),
            wanted=np.ascontiguousarray(jobs["replicas"][order] if wanted is None else wanted, np.int64),
            held=(status == RUNNING) & (now - since < self.settings.quantum_seconds),
            overdue=(status == QUEUED) & (waited >= self.settings.patience_seconds),
            style=np.zeros(len(order), np.int64) if style is None else np.ascontiguousarray(style, np.int64),
            rank=self._rank,
            room=self._room,
        )

    def _note_round(self, state: State) -> None:
        """Remember when this round is: jobs know only the number of the round in which they were placed."""
        number = int(state.clock["rounds"][0])
        if number >= len(self._round_times):
            longer = np.full(2 * number + 64, -np.inf)
            longer[: len(self._round_times)] = self._round_times
            self._round_times = longer
        self._round_times[number] = state.clock["time"][0]

    def _placed_at(self, placed_round: Array) -> Array:
        """Times of rounds in seconds; -inf for round -1 (never) and for rounds of others."""
        known = (placed_round >= 0) & (placed_round < len(self._round_times))
        return np.where(known, self._round_times[np.where(known, placed_round, 0)], -np.inf)


class ByLevel(PreemptiveScheduler):
    """Base of those that say for each job how important it is, and no more."""

    @abstractmethod
    def level(self, state: State, active: Array) -> Array:
        """How important jobs are, shape (n,), float64, the lowest first; a job may preempt those of a higher level.

        Args:
            state: the cluster.
            active: shape (n,), jobs in order of arrival.
        """

    def decide(self, cluster: Cluster, active: Array) -> None:
        """By level, then by arrival."""
        level = self.level(cluster.state, active)
        order = np.argsort(level, kind="stable")
        serve_in_order(
            cluster.state, self.make_queue(cluster.state, active[order], level[order]), cluster.hosts_scratch
        )


@kernel
def serve_in_order(state: State, queue: Queue, hosts: Array) -> bool:
    """Place jobs in order, each with the replicas that it wants; preempt where that makes room for one.

    Args:
        state: the cluster.
        queue: the jobs.
        hosts: shape (largest P + 1,), scratch.

    Returns:
        False if it ended at an overdue job that only the quanta of others keep waiting: nobody may start in its place.
    """
    for position in range(queue.order.shape[0]):
        queue.rank[queue.order[position]] = position
    queue.room.refused.count[0] = 0
    queue.room.refused_for_good.count[0] = 0
    last = queue.order.shape[0] - 1
    for position in range(queue.order.shape[0]):
        job = queue.order[position]
        while state.jobs[job].running_replicas < queue.wanted[position]:
            if _place_next(state, job, queue.style[position], queue.overdue[position], hosts):
                continue
            while last >= 0 and (queue.held[last] or state.jobs[queue.order[last]].status != RUNNING):
                last -= 1
            needed = _gpus_together(state, job, queue.style[position], queue.overdue[position])
            possible = last >= 0 and may_preempt(state, queue, position, last, False)
            if possible and make_room(state, queue, position, needed):
                if _place_next(state, job, queue.style[position], queue.overdue[position], hosts):
                    continue
            elif queue.overdue[position] and could_make_room(state, queue, position, needed):
                return False
            break
    return True


@kernel
def _gpus_together(state: State, job: int, style: int, overdue: bool) -> int:
    """GPUs that must come free together for the job to go on."""
    row = state.jobs[job]
    waits_for_one = style == ONE_SERVER and not overdue and row.running_replicas == 0
    if waits_for_one and state.clock[0].num_running > 0 and row.num_gpus <= state.servers[0].num_gpus:
        return row.num_gpus
    return row.partitions


@kernel
def _place_next(state: State, job: int, style: int, overdue: bool, hosts: Array) -> bool:
    """Place one replica more, or all of a job that must be together. False if there is no room."""
    if _gpus_together(state, job, style, overdue) > state.jobs[job].partitions:
        return _place_together(state, job, hosts)
    if consolidated_hosts(state, job, hosts):
        return place_replica(state, job, hosts)
    return style == SPREAD and spread_hosts(state, job, hosts) and place_replica(state, job, hosts)


@kernel
def _place_together(state: State, job: int, hosts: Array) -> bool:
    """All replicas on the server with the fewest usable GPUs that takes them. False if there is none."""
    row = state.jobs[job]
    best = NONE
    fewest = 0
    exclusive = state.clock[0].sharing == 0
    for server in range(state.servers.shape[0]):
        if exclusive and state.servers[server].free_gpus < row.num_gpus:
            continue
        usable = usable_gpus(state, row.first_task, server)
        if usable >= row.num_gpus and (best == NONE or usable < fewest):
            best = server
            fewest = usable
    if best == NONE:
        return False
    while row.running_replicas < row.replicas:
        if not hosts_on_server(state, job, best, hosts) or not place_replica(state, job, hosts):
            break
    return row.running_replicas > 0


@kernel(allocates=True)
def serve_admitted(state: State, order: Array, hosts: Array) -> None:
    """Admit jobs while their GPUs fit the cluster's total, preempt the running rest, place the admitted ones.

    GPUs count by their compute demand where they are shared. Admitted jobs that do not fit now are skipped.

    Args:
        state: the cluster.
        order: shape (n,), active jobs, the most important first.
        hosts: shape (largest P + 1,), scratch.
    """
    free = state.gpus.shape[0] * MILLI
    admitted = np.empty(order.shape[0], np.int64)
    count = 0
    for job in order:
        demand = compute_demand(state, job)
        if demand <= free:
            free -= demand
            admitted[count] = job
            count += 1
        elif state.jobs[job].status == RUNNING:
            evict_job(state, job)
    for position in range(count):
        place_what_fits(state, admitted[position], hosts)


@kernel
def compute_demand(state: State, job: int) -> int:
    """Milli-GPUs that the whole job asks for."""
    row = state.jobs[job]
    if state.clock[0].sharing == 0:
        return row.num_gpus * MILLI
    demand = 0
    for task in range(row.first_task, row.first_task + row.num_tasks):
        demand += state.tasks[task].gpu_demand
    return demand
