"""From the state to the numbers an agent sees: raw features, scaled to [-1, 1], never a priority or a rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.decisions import next_replica, restart_seconds
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.overload import server_overloaded
from mlfs_gym.envs.features import observation_shapes
from mlfs_gym.envs.layout import Layout
from mlfs_gym.envs.window import Window
from mlfs_gym.schedulers.mlf_h.migration import task_utilisation
from mlfs_gym.schedulers.mlf_h.placement import first_task
from mlfs_gym.schedulers.mlf_h.priority import loss_progress
from mlfs_gym.schedulers.mlf_h.utilisation import utilisation
from mlfs_gym.schedulers.mlf_h.volumes import communication_volumes, planned_servers

# Where the log scales reach 1.
LONGEST_SECONDS = 30.0 * 86_400.0
LARGEST_COUNT = 1024.0
FAMILIES = 5
FIRST_FAMILY = 26  # position of the first model_* feature, see features.JOB


class Buffers(NamedTuple):
    """The parts of an observation, float32, overwritten at each step. Shapes: `features.observation_shapes`."""

    cluster: Array
    jobs: Array
    pairs: Array
    moves: Array
    move_pairs: Array
    progress: Array
    running: Array


def new_buffers(layout: Layout) -> Buffers:
    """Zeroed buffers for a layout."""
    shapes = observation_shapes(layout)
    shapes.setdefault("running", (0, shapes["jobs"][1]))
    return Buffers(**{name: np.zeros(shapes[name], np.float32) for name in Buffers._fields})


@kernel
def _log(value: float, largest: float) -> float:
    """Log scale: 0 at 0, 1 at the largest, the sign of the value."""
    size = min(1.0, np.log1p(abs(value)) / np.log1p(largest))
    return size if value >= 0.0 else -size


@kernel
def _clip(value: float) -> float:
    return min(1.0, max(-1.0, value))


@kernel
def encode(state: State, window: Window, params: Array, facts: Array, out: Buffers) -> None:
    """Fill an observation.

    Args:
        state: the cluster, observed.
        window: as filled by `look`.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        facts: shape (3,), number of jobs, mean ideal run time in s and load of the episode.
        out: receives the features.
    """
    _encode_cluster(state, window, out.cluster)
    _encode_progress(state, facts, out.progress)
    for slot in range(window.slots.shape[0]):
        _encode_slot(state, window, params, slot, out)
    for index in range(window.moves.shape[0]):
        _encode_move(state, window, index, out)
    for index in range(window.running.shape[0]):
        out.running[index] = 0.0
        if window.running[index] != NONE:
            _encode_job(state, window.running[index], window.preemptible[index] == 1, out.running[index])


@kernel
def _encode_cluster(state: State, window: Window, out: Array) -> None:
    clock = state.clock[0]
    servers = state.servers.shape[0]
    gpus = state.gpus.shape[0]
    out[:] = 0.0
    for gpu in range(gpus):
        if state.gpus[gpu].num_tasks == 0:
            out[0] += 1.0 / gpus
    for server in range(servers):
        for resource in range(4):
            out[1 + resource] += min(1.0, utilisation(state, server, resource) / 2.0) / servers
        if server_overloaded(state, server, 1.0):
            out[5] += 1.0 / servers
    wanted = 0
    remaining = 0.0
    for position in range(clock.num_active):
        row = state.jobs[state.active[position]]
        if row.running_replicas < row.replicas:
            wanted += (row.replicas - row.running_replicas) * row.partitions
            remaining += (row.max_iterations - row.progress) * row.ideal_iteration_time
    shown = 0
    for slot in range(window.slots.shape[0]):
        if window.slots[slot] != NONE:
            shown += 1
    out[6] = _log(clock.num_waiting, LARGEST_COUNT)
    out[7] = _log(clock.num_running, LARGEST_COUNT)
    out[8] = _log(wanted / gpus, 100.0)
    out[9] = _log(remaining / max(1, clock.num_waiting), LONGEST_SECONDS)
    out[10] = _log(clock.num_waiting - shown, LARGEST_COUNT)
    out[11] = clock.sharing
    for feature in range(6):
        out[feature] = _clip(out[feature])


@kernel
def _encode_progress(state: State, facts: Array, out: Array) -> None:
    clock = state.clock[0]
    out[0] = clock.next_arrival / facts[0]
    out[1] = clock.num_done / facts[0]
    out[2] = _log(facts[0], 1e6)
    out[3] = _log(clock.time, LONGEST_SECONDS)
    out[4] = _log(facts[1], LONGEST_SECONDS)
    out[5] = _clip(facts[2] / 4.0)


@kernel
def _encode_job(state: State, job: int, fits: bool, out: Array) -> None:
    row = state.jobs[job]
    clock = state.clock[0]
    ideal = row.ideal_iteration_time
    remaining = (row.max_iterations - row.progress) * ideal
    to_deadline = row.deadline - clock.time
    gpu_demand = 0.0
    cpu_demand = 0.0
    largest_share = 0.0
    for task in range(row.first_task, row.first_task + row.partitions):
        gpu_demand += state.tasks[task].gpu_demand / MILLI / row.partitions
        cpu_demand += state.tasks[task].cpu_demand / state.servers[0].cpu / row.partitions
        largest_share = max(largest_share, state.tasks[task].parameter_share)
    edge_bytes = 0.0
    for edge in range(row.first_edge, row.first_edge + row.num_edges):
        edge_bytes += state.edges[edge].bytes
    traffic = (2.0 * row.gradient_bytes + edge_bytes) / ideal / state.servers[0].nic

    out[:] = 0.0
    out[0] = 1.0
    out[1] = 1.0 if fits else 0.0
    out[2] = _clip(row.urgency / 10.0)
    out[3] = _log(row.num_gpus, LARGEST_COUNT)
    out[4] = _log(row.replicas, LARGEST_COUNT)
    out[5] = _log(row.partitions, LARGEST_COUNT)
    out[6] = row.running_replicas / row.replicas
    out[7] = _clip(row.progress / row.max_iterations)
    out[8] = 1.0 / (np.floor(row.progress) + 1.0)
    out[9] = _clip(loss_progress(state, job))
    out[10] = _clip(row.accuracy)
    out[11] = _clip(row.required_accuracy)
    out[12] = _clip(row.required_accuracy - row.accuracy)
    out[13] = _log(row.max_iterations * ideal, LONGEST_SECONDS)
    out[14] = _log(remaining, LONGEST_SECONDS)
    out[15] = _log(remaining * row.num_gpus, LONGEST_SECONDS * 32.0)
    out[16] = _log(ideal, 86_400.0)
    out[17] = _log(to_deadline, LONGEST_SECONDS)
    out[18] = _log(to_deadline - remaining, LONGEST_SECONDS)
    out[19] = _log(row.waiting_time, LONGEST_SECONDS)
    out[20] = _log(traffic, 10.0)
    out[21] = row.parameter_server
    out[22] = row.restart_due
    out[23] = _clip(gpu_demand)
    out[24] = _clip(cpu_demand)
    out[25] = _clip(largest_share)
    if 0 <= row.model < FAMILIES:
        out[FIRST_FAMILY + row.model] = 1.0


@kernel
def _encode_slot(state: State, window: Window, params: Array, slot: int, out: Buffers) -> None:
    out.jobs[slot] = 0.0
    out.pairs[slot] = 0.0
    job = window.slots[slot]
    if job == NONE:
        return
    fits = window.feasible[slot].max() == 1
    _encode_job(state, job, fits, out.jobs[slot])
    if not fits:
        return
    volumes = np.empty(state.servers.shape[0], np.float64)
    replica = next_replica(state, job)
    _volumes_of(state, job, first_task(state, job, params), replica, volumes)
    for candidate in range(window.servers.shape[1]):
        server = window.servers[slot, candidate]
        if server != NONE:
            features = out.pairs[slot, candidate]
            _encode_server(state, job, server, volumes, features)
            features[1] = window.feasible[slot, candidate]
            features[10] = _log(window.spread[slot, candidate], 32.0)


@kernel
def _volumes_of(state: State, job: int, task: int, replica: int, volumes: Array) -> None:
    planned = np.empty(state.jobs[job].partitions + 1, np.int64)
    planned_servers(state, job, max(0, replica), planned)
    communication_volumes(state, task, replica, planned, volumes)


@kernel
def _encode_server(state: State, job: int, server: int, volumes: Array, out: Array) -> None:
    host = state.servers[server]
    row = state.jobs[job]
    out[0] = 1.0
    for resource in range(4):
        out[2 + resource] = _clip(utilisation(state, server, resource) / 2.0)
    free = 0.0
    least = np.inf
    for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
        free += 1.0 if state.gpus[gpu].num_tasks == 0 else 0.0
        least = min(least, state.gpus[gpu].used / MILLI)
    out[6] = free / host.num_gpus
    out[7] = _clip(least / 2.0)
    placed = 0
    here = 0
    for task in range(row.first_task, row.first_task + row.num_tasks):
        if state.tasks[task].server != NONE:
            placed += 1
            if state.tasks[task].server == server:
                here += 1
    out[8] = here / max(1, placed)
    total = volumes.sum()
    out[9] = volumes[server] / total if total > 0.0 else 0.0


@kernel
def _encode_move(state: State, window: Window, index: int, out: Buffers) -> None:
    out.moves[index] = 0.0
    out.move_pairs[index] = 0.0
    task = window.moves[index]
    if task == NONE:
        return
    row = state.tasks[task]
    job = state.jobs[row.job]
    features = out.moves[index]
    features[0] = 1.0
    for resource in range(4):
        features[1 + resource] = _clip(task_utilisation(state, task, resource))
    features[5] = _clip(utilisation(state, row.server, 0) / 2.0)
    features[6] = _clip(utilisation(state, row.server, 1) / 2.0)
    features[7] = _clip(utilisation(state, row.server, 3) / 2.0)
    if row.gpu != NONE:
        features[8] = _clip(state.gpus[row.gpu].used / MILLI / 2.0)
    features[9] = _log((job.max_iterations - job.progress) * job.ideal_iteration_time, LONGEST_SECONDS)
    features[10] = _clip(job.progress / job.max_iterations)
    share = row.parameter_share if row.partition != NONE else 1.0
    stall = restart_seconds(state, row.job) + share * job.checkpoint_bytes / state.servers[row.server].nic
    features[11] = _log(stall, 3600.0)
    volumes = np.empty(state.servers.shape[0], np.float64)
    _volumes_of(state, row.job, task, row.replica, volumes)
    for candidate in range(window.move_servers.shape[1]):
        server = window.move_servers[index, candidate]
        if server != NONE:
            _encode_server(state, row.job, server, volumes, out.move_pairs[index, candidate])
            out.move_pairs[index, candidate, 1] = 1.0
