"""From requests and settings to a fresh state."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import CLOCK, GPU, JOB, NONE, PENDING, SERVER, Array, State
from mlfs_gym.config import ClusterConfig, SimulationConfig

STATE_OF_A_JOB = (JOB.names or ())[(JOB.names or ()).index("status") :]


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
    _reset_jobs(jobs)
    _reset_tasks(tasks)
    servers, gpus = _servers(cluster)
    active, marked, finishing = np.zeros((3, len(jobs)), np.int64)
    clock = _clock(simulation, seed)
    clock["free_gpus"] = len(gpus)
    return State(jobs, tasks, edges, servers, gpus, active, marked, finishing, clock)


def _reset_jobs(jobs: Array) -> None:
    for name in STATE_OF_A_JOB:
        jobs[name] = 0
    jobs["status"] = PENDING
    jobs["heap_position"] = NONE
    jobs["placed_round"] = -1
    jobs["iteration_time"] = np.inf
    jobs["finish_at"] = np.inf
    jobs["stalled_until"] = -np.inf
    for name in ("loss", "previous_loss", "first_loss"):
        jobs[name] = jobs["loss_start"]
    jobs["first_start"] = np.nan
    jobs["finish"] = np.nan


def _reset_tasks(tasks: Array) -> None:
    for name in ("server", "gpu", "next_on_server", "previous_on_server"):
        tasks[name] = NONE
    for name in ("gpu_used", "cpu_used", "nic_used"):
        tasks[name] = 0
    tasks["moved_at"] = -np.inf


def _servers(cluster: ClusterConfig) -> tuple[Array, Array]:
    servers = np.zeros(cluster.servers, SERVER)
    servers["first_gpu"] = np.arange(cluster.servers) * cluster.gpus_per_server
    servers["num_gpus"] = cluster.gpus_per_server
    servers["cpu"] = round(cluster.cpu_cores * 1000)
    servers["memory"] = round(cluster.memory_gib * 1024)
    servers["nic"] = round(cluster.nic_gbit_per_s * 1e9 / 8)
    servers["first_task"] = NONE
    servers["free_gpus"] = servers["num_gpus"]
    gpus = np.zeros(cluster.total_gpus, GPU)
    gpus["server"] = np.repeat(np.arange(cluster.servers), cluster.gpus_per_server)
    gpus["memory"] = round(cluster.gpu_memory_gib * 1024)
    gpus["speed"] = cluster.gpu_speed
    return servers, gpus


def _clock(simulation: SimulationConfig, seed: int) -> Array:
    clock = np.zeros(1, CLOCK)
    row = clock[0]
    row["seed"] = np.uint64(seed)
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
