"""From requests and settings to a fresh state."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mlfs_gym.cluster.arrays import CLOCK, GPU, NONE, PENDING, SERVER, Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import ClusterConfig, SimulationConfig


def new_state(
    jobs: Array,
    tasks: Array,
    edges: Array,
    cluster: ClusterConfig,
    simulation: SimulationConfig,
    seed: int,
) -> State:
    """A cluster at time 0 with nothing placed and nothing arrived.

    Args:
        jobs: shape (J,), dtype `JOB`, request fields filled, in order of arrival.
        tasks: shape (T,), dtype `TASK`, request fields filled.
        edges: shape (E,), dtype `EDGE`.
        cluster: the servers.
        simulation: how time passes.
        seed: of demand fluctuation and loss noise.
    """
    jobs, tasks, edges = jobs.copy(), tasks.copy(), edges.copy()
    _reset(jobs, tasks)
    servers, gpus = (array.copy() for array in _servers(cluster))
    active, waiting, marked, finishing = np.zeros((4, len(jobs)), np.int64)
    clock = _clock(simulation, seed)
    clock["free_gpus"] = len(gpus)
    clock["largest_server"], clock["largest_memory"] = servers["num_gpus"].max(), servers["memory"].max()
    return State(jobs, tasks, edges, servers, gpus, active, waiting, marked, finishing, clock)


@kernel
def _reset(jobs: Array, tasks: Array) -> None:
    """Everything that is not part of a request, as it is before anything has happened."""
    for job in range(jobs.shape[0]):
        row = jobs[job]
        row.status = PENDING
        row.running_replicas = 0
        row.spans_servers = 0
        row.dirty = 0
        row.heap_position = NONE
        row.restart_due = 0
        row.placed_round = -1
        row.held_gpus = 0
        row.stall_due = 0.0
        row.progress = 0.0
        row.settled_at = 0.0
        row.iteration_time = np.inf
        row.stalled_until = -np.inf
        row.finish_at = np.inf
        row.bytes_per_iteration = 0.0
        row.loss = row.loss_start
        row.previous_loss = row.loss_start
        row.first_loss = row.loss_start
        row.accuracy = 0.0
        row.accuracy_by_deadline = 0.0
        row.requirement_met = 0
        row.first_start = np.nan
        row.finish = np.nan
        row.waiting_time = 0.0
        row.attained_service = 0.0
        row.bytes_sent = 0.0
        row.preemptions = 0
        row.migrations = 0
    for task in range(tasks.shape[0]):
        placed = tasks[task]
        placed.server = NONE
        placed.gpu = NONE
        placed.next_on_server = NONE
        placed.previous_on_server = NONE
        placed.gpu_used = 0
        placed.cpu_used = 0
        placed.nic_used = 0
        placed.moved_at = -np.inf


@lru_cache(maxsize=16)
def _servers(cluster: ClusterConfig) -> tuple[Array, Array]:
    servers = np.zeros(cluster.total_servers, SERVER)
    servers["num_gpus"] = cluster.server_sizes
    servers["first_gpu"] = np.cumsum(servers["num_gpus"]) - servers["num_gpus"]
    servers["cpu"] = round(cluster.cpu_cores * 1000)
    servers["memory"] = round(cluster.memory_gib * 1024)
    servers["nic"] = round(cluster.nic_gbit_per_s * 1e9 / 8)
    servers["first_task"] = NONE
    servers["free_gpus"] = servers["num_gpus"]
    gpus = np.zeros(cluster.total_gpus, GPU)
    gpus["server"] = np.repeat(np.arange(len(servers)), servers["num_gpus"])
    gpus["memory"] = round(cluster.gpu_memory_gib * 1024)
    gpus["speed"] = cluster.gpu_speed
    return servers, gpus


def _clock(simulation: SimulationConfig, seed: int) -> Array:
    clock = _clock_at_zero(simulation).copy()
    clock["seed"] = np.uint64(seed)
    return clock


@lru_cache(maxsize=16)
def _clock_at_zero(simulation: SimulationConfig) -> Array:
    clock = np.zeros(1, CLOCK)
    row = clock[0]
    row["sharing"] = simulation.sharing
    row["contention"] = simulation.contention
    row["round_seconds"] = simulation.round_seconds
    row["redraw_seconds"] = simulation.redraw_seconds
    row["fluctuation"] = simulation.fluctuation
    row["restart_one_gpu"] = simulation.restart_one_gpu_seconds
    row["restart_up_to_8"] = simulation.restart_up_to_8_seconds
    row["restart_larger"] = simulation.restart_larger_seconds
    row["overload_threshold"] = simulation.overload_threshold
    row["time_limit"] = simulation.time_limit_seconds
    row["last_round"] = -np.inf
    return clock
