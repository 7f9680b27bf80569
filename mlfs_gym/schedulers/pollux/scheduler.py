"""Pollux as a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.decisions import evict_job
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.pollux.allocation import allocate
from mlfs_gym.schedulers.pollux.goodput import observe_compute, speedup
from mlfs_gym.schedulers.preemptive import PreemptionSettings, PreemptiveScheduler, compute_demand, serve_in_order
from mlfs_gym.schedulers.room import Queue

SECONDS_PER_HOUR = 3600.0


class PolluxSettings(PreemptionSettings):
    """The objective."""

    power: float = Field(default=-1.0, ge=-10, le=1, description="p of the power mean of speedups; 0: geometric")
    weight_gpu_hours: float = Field(default=4.0, gt=0, description="attained service above which a job weighs less")
    weight_decay: float = Field(
        default=0.5, ge=0, description="lambda: its weight falls with this power of the service"
    )
    restart_seconds: float = Field(default=30.0, ge=0, description="delta: estimated cost of a reallocation")
    speedup_of_waiting: float = Field(
        default=0.01, gt=0, lt=1, description="speedup that a job without replicas counts with: a power mean needs one"
    )


class Pollux(PreemptiveScheduler):
    """Goodput-optimised elastic allocation (Qiao et al., "Pollux: co-adaptive cluster scheduling ...", OSDI 2021).

    At each decision, the numbers of replicas are chosen that maximise the weighted power mean, p = -1, of the
    speedups of all jobs: goodput with these replicas over goodput with a fair share of the GPUs (section 4.2). A job's
    weight falls with its attained service beyond 4 GPU-hours. A job that would have to restart counts with its
    speedup times (T - n * delta) / (T + delta): T its age, n its restarts so far, delta the cost of a restart.

    Deviations:
        - batch size and learning rate are not adapted: an iteration processes the same batches however many replicas
          run, so the statistical efficiency cancels (see `mlfs_gym.schedulers.pollux.goodput`);
        - at most the replicas that were asked for, at the least none; a replica is a gang of P GPUs;
        - the throughput model has one fitted parameter, the computation per iteration, taken from the present
          iteration time of a running job; the exchange follows from gradients, servers and NIC. A job that has not run
          is assumed to scale perfectly, as in the paper;
        - adding replicas is free here and counts as no restart; having fewer means a preemption;
        - a greedy and local search over the numbers of replicas in place of a genetic algorithm over placements; they
          are placed consolidated, and what does not fit goes to others;
        - jobs whose number is to be 0 run on until another needs their place, and a job placed less than a quantum
          ago keeps its replicas.

    Args:
        settings: `PolluxSettings`, a mapping, or None for the defaults.
    """

    name = "pollux"

    def __init__(self, settings: PolluxSettings | Mapping[str, Any] | None = None) -> None:
        self.objective = PolluxSettings.parse(settings)
        super().__init__(self.objective)
        self._compute = np.zeros(0)

    def reset(self, cluster: Cluster) -> None:
        """Forget what was observed."""
        super().reset(cluster)
        self._compute = np.zeros(0)

    def decide(self, cluster: Cluster, active: Array) -> None:
        """Allocate, shrink, place the least served first; then give away what is left."""
        state = cluster.state
        values = self.values(state, active)
        target = self.allocation(state, active, values)
        for job in active[(target > 0) & (target < state.jobs["running_replicas"][active])]:
            evict_job(state, job)  # starts again with fewer replicas
        service = state.jobs["attained_service"][active]
        level = np.where(target > 0, 0.0, 1.0)
        order = np.lexsort((service, level))
        queue = self.make_queue(state, active[order], level[order], wanted=target[order])
        if serve_in_order(state, queue, cluster.hosts_scratch) and state.clock["num_waiting"][0] > 0:
            order = np.argsort(service, kind="stable")
            queue = self._leftovers(state, active[order], values.argmax(axis=1)[order])
            serve_in_order(state, queue, cluster.hosts_scratch)

    def _leftovers(self, state: State, order: Array, wanted: Array) -> Queue:
        """Room that is left after all, for replicas that make their jobs faster; nobody preempts."""
        queue = self.make_queue(state, order, np.zeros(len(order)), wanted=wanted)
        return replace(queue, held=np.ones(len(order), bool), overdue=np.zeros(len(order), bool))

    def allocation(self, state: State, active: Array, values: Array) -> Array:
        """Replicas that jobs shall have, shape (n,), int64.

        Args:
            state: the cluster.
            active: shape (n,), jobs.
            values: shape (n, largest R + 1), see `values`.
        """
        most = state.jobs["replicas"][active].astype(np.int64)
        running = state.jobs["running_replicas"][active].astype(np.int64)
        held = self.make_queue(state, active, np.zeros(len(active))).held
        size = np.empty(len(active), np.int64)
        sizes_of_replicas(state, active, size)
        # Where jobs of many partitions share GPUs, what runs may add up to more than there is by nominal demand.
        capacity = max(len(state.gpus) * MILLI, int((running * size).sum()))
        return allocate(values, most, np.where(held, running, 0), running, size, capacity)

    def values(self, state: State, active: Array) -> Array:
        """What each number of replicas of a job adds to the objective, shape (n, largest R + 1).

        Args:
            state: the cluster.
            active: shape (n,), jobs.
        """
        if len(self._compute) != len(state.jobs):
            self._compute = np.full(len(state.jobs), np.nan)
        observe_compute(state, active, self._compute)
        settings = self.objective
        service = np.maximum(state.jobs["attained_service"][active], 1.0)
        weight = np.minimum(1.0, settings.weight_gpu_hours * SECONDS_PER_HOUR / service) ** settings.weight_decay
        values = np.empty((len(active), 1 + int(state.jobs["replicas"][active].max())))
        fill_values(
            state,
            active,
            weight,
            self._compute,
            settings.power,
            settings.restart_seconds,
            settings.speedup_of_waiting,
            values,
        )
        return values


@kernel
def sizes_of_replicas(state: State, jobs: Array, size: Array) -> None:
    """Milli-GPUs that one replica takes: whole GPUs, or its compute demand where they are shared."""
    for position in range(jobs.shape[0]):
        size[position] = compute_demand(state, jobs[position]) // state.jobs[jobs[position]].replicas


@kernel
def power_term(speedup: float, power: float) -> float:
    """A speedup's term in a sum that grows with the power mean."""
    if power == 0.0:
        return np.log(speedup)
    return speedup**power if power > 0.0 else -(speedup**power)


@kernel
def fill_values(
    state: State,
    jobs: Array,
    weight: Array,
    compute: Array,
    power: float,
    restart: float,
    waiting: float,
    values: Array,
) -> None:
    """See `Pollux.values`.

    Args:
        state: the cluster.
        jobs: shape (n,), active jobs.
        weight: shape (n,).
        compute: shape (J,), see `mlfs_gym.schedulers.pollux.goodput.observe_compute`.
        power: p.
        restart: s, delta.
        waiting: speedup of a job without replicas.
        values: shape (n, largest R + 1), receives the terms; -inf beyond the replicas of a job.
    """
    fair_gpus = state.gpus.shape[0] / jobs.shape[0]
    for position in range(jobs.shape[0]):
        row = state.jobs[jobs[position]]
        age = state.clock[0].time - row.arrival
        factor = max(waiting, (age - row.preemptions * restart) / (age + restart)) if age > 0.0 else 1.0
        values[position, 0] = weight[position] * power_term(waiting, power)
        for replicas in range(1, values.shape[1]):
            if replicas > row.replicas:
                values[position, replicas] = -np.inf
                continue
            gain = speedup(state, jobs[position], replicas, compute[jobs[position]], fair_gpus)
            restarts = replicas < row.running_replicas or row.restart_due == 1
            if restarts:
                gain *= factor
            values[position, replicas] = weight[position] * power_term(max(gain, waiting), power)
