"""From the state to the numbers an agent sees: raw features, scaled to [-1, 1], never a priority or a rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.bundle import F4, Bundle, Of, kinds_of
from mlfs_gym.cluster.decisions import next_replica, restart_seconds
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.overload import server_overloaded
from mlfs_gym.envs.feature_cache import FeatureCache
from mlfs_gym.envs.features import observation_shapes
from mlfs_gym.envs.layout import Layout
from mlfs_gym.envs.window import Window
from mlfs_gym.schedulers.mlf_h.migration import task_utilisation
from mlfs_gym.schedulers.mlf_h.placement import first_task
from mlfs_gym.schedulers.mlf_h.priority import loss_progress
from mlfs_gym.schedulers.mlf_h.survey import Survey, update
from mlfs_gym.schedulers.mlf_h.utilisation import RESOURCES
from mlfs_gym.schedulers.mlf_h.volumes import communication_volumes, planned_servers

# Where the log scales reach 1; divisors, so that no logarithm is taken twice.
SECONDS: Final = float(np.log1p(30.0 * 86_400.0))
GPU_SECONDS: Final = float(np.log1p(32.0 * 30.0 * 86_400.0))
ITERATION_SECONDS: Final = float(np.log1p(86_400.0))
STALL_SECONDS: Final = float(np.log1p(3600.0))
COUNT: Final = float(np.log1p(1024.0))
JOBS: Final = float(np.log1p(1e6))
CLUSTERS: Final = float(np.log1p(100.0))
TRAFFIC: Final = float(np.log1p(10.0))
SERVERS: Final = float(np.log1p(32.0))

FAMILIES = 5
FIRST_FAMILY = 26  # position of the first model_* feature, see features.JOB


@dataclass(frozen=True, eq=False, repr=False)
class Buffers(Bundle):
    """The parts of an observation, float32, overwritten at each step. Shapes: `features.observation_shapes`."""

    cluster: Annotated[Array, Of(F4)]
    jobs: Annotated[Array, Of(F4, 2)]
    pairs: Annotated[Array, Of(F4, 3)]
    moves: Annotated[Array, Of(F4, 2)]
    move_pairs: Annotated[Array, Of(F4, 3)]
    progress: Annotated[Array, Of(F4)]
    running: Annotated[Array, Of(F4, 2)]


def row_sizes(layout: Layout) -> dict[str, int]:
    """Numbers in each part of an observation, in the order of `Buffers`; 0 for a part that there is not."""
    shapes = observation_shapes(layout)
    return {name: math.prod(shapes[name]) if name in shapes else 0 for name in kinds_of(Buffers)}


def buffers_over(flat: Array, layout: Layout) -> Buffers:
    """The parts of an observation as views of one vector, which holds them one after another.

    Args:
        flat: shape (sum of `row_sizes`,), float32.
        layout: sizes of the window.
    """
    shapes = observation_shapes(layout)
    shapes.setdefault("running", (0, shapes["jobs"][1]))
    parts, begin = {}, 0
    for name, size in row_sizes(layout).items():
        parts[name] = flat[begin : begin + size].reshape(shapes[name])
        begin += size
    return Buffers(**parts)


@kernel
def _log(value: float, divisor: float) -> float:
    """Log scale: 0 at 0, 1 where log1p reaches the divisor, the sign of the value."""
    size = min(1.0, np.log1p(abs(value)) / divisor)
    return size if value >= 0.0 else -size


@kernel
def _clip(value: float) -> float:
    return min(1.0, max(-1.0, value))


@kernel
def encode(
    state: State, window: Window, params: Array, survey: Survey, cache: FeatureCache, facts: Array, out: Buffers
) -> None:
    """Fill an observation.

    Args:
        state: the cluster, observed.
        window: as filled by `look`.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        survey: of this cluster.
        cache: rows of this episode, described.
        facts: shape (3,), number of jobs, mean ideal run time in s and load of the episode.
        out: receives the features.
    """
    update(state, params, survey)
    _encode_cluster(state, window, survey, out.cluster)
    _encode_progress(state, facts, out.progress)
    for slot in range(window.slots.shape[0]):
        _encode_slot(state, window, params, survey, cache, slot, out)
    for index in range(window.moves.shape[0]):
        _encode_move(state, window, survey, cache, index, out)
    for index in range(window.running.shape[0]):
        _encode_job(state, window.running[index], window.preemptible[index] == 1, cache, out.running[index])


@kernel
def describe_jobs(state: State, cache: FeatureCache) -> None:
    """Fill in what never changes of all jobs, before an episode begins."""
    for job in range(state.jobs.shape[0]):
        row = state.jobs[job]
        ideal = row.ideal_iteration_time
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

        out = cache.jobs[job]
        out[0] = 1.0
        out[2] = _clip(row.urgency / 10.0)
        out[3] = _log(row.num_gpus, COUNT)
        out[4] = _log(row.replicas, COUNT)
        out[5] = _log(row.partitions, COUNT)
        out[11] = _clip(row.required_accuracy)
        out[13] = _log(row.max_iterations * ideal, SECONDS)
        out[16] = _log(ideal, ITERATION_SECONDS)
        out[20] = _log(traffic, TRAFFIC)
        out[21] = row.parameter_server
        out[23] = _clip(gpu_demand)
        out[24] = _clip(cpu_demand)
        out[25] = _clip(largest_share)
        for family in range(FAMILIES):
            out[FIRST_FAMILY + family] = 1.0 if row.model == family else 0.0


@kernel
def _describe_now(state: State, job: int, out: Array) -> None:
    """Fill in what changes of a job as time passes and replicas are placed."""
    row = state.jobs[job]
    remaining = (row.max_iterations - row.progress) * row.ideal_iteration_time
    to_deadline = row.deadline - state.clock[0].time
    out[6] = row.running_replicas / row.replicas
    out[7] = _clip(row.progress / row.max_iterations)
    out[8] = 1.0 / (np.floor(row.progress) + 1.0)
    out[9] = _clip(loss_progress(state, job))
    out[10] = _clip(row.accuracy)
    out[12] = _clip(row.required_accuracy - row.accuracy)
    out[14] = _log(remaining, SECONDS)
    out[15] = _log(remaining * row.num_gpus, GPU_SECONDS)
    out[17] = _log(to_deadline, SECONDS)
    out[18] = _log(to_deadline - remaining, SECONDS)
    out[19] = _log(row.waiting_time, SECONDS)
    out[22] = row.restart_due


@kernel
def _encode_cluster(state: State, window: Window, survey: Survey, out: Array) -> None:
    clock = state.clock[0]
    servers = state.servers.shape[0]
    gpus = state.gpus.shape[0]
    out[0] = clock.free_gpus / gpus
    for resource in range(RESOURCES):
        total = 0.0
        for server in range(servers):
            total += min(1.0, survey.use[server, resource] / 2.0)
        out[1 + resource] = total / servers
    overloaded = 0
    for server in range(servers):
        if server_overloaded(state, server, 1.0):
            overloaded += 1
    out[5] = overloaded / servers
    wanted = 0
    remaining = 0.0
    for position in range(clock.num_waiting):
        row = state.jobs[state.waiting[position]]
        wanted += (row.replicas - row.running_replicas) * row.partitions
        remaining += (row.max_iterations - row.progress) * row.ideal_iteration_time
    shown = 0
    for slot in range(window.slots.shape[0]):
        if window.slots[slot] != NONE:
            shown += 1
    out[6] = _log(clock.num_waiting, COUNT)
    out[7] = _log(clock.num_running, COUNT)
    out[8] = _log(wanted / gpus, CLUSTERS)
    out[9] = _log(remaining / max(1, clock.num_waiting), SECONDS)
    out[10] = _log(clock.num_waiting - shown, COUNT)
    out[11] = clock.sharing


@kernel
def _encode_progress(state: State, facts: Array, out: Array) -> None:
    clock = state.clock[0]
    out[0] = clock.next_arrival / facts[0]
    out[1] = clock.num_done / facts[0]
    out[2] = _log(facts[0], JOBS)
    out[3] = _log(clock.time, SECONDS)
    out[4] = _log(facts[1], SECONDS)
    out[5] = _clip(facts[2] / 4.0)


@kernel
def _encode_job(state: State, job: int, fits: bool, cache: FeatureCache, out: Array) -> None:
    """Copy the row of a job, 0 for none."""
    if job == NONE:
        out[:] = 0.0
        return
    row = cache.jobs[job]
    if cache.job_versions[job] != cache.now[0]:
        cache.job_versions[job] = cache.now[0]
        _describe_now(state, job, row)
    for feature in range(row.shape[0]):
        out[feature] = row[feature]
    out[1] = 1.0 if fits else 0.0


@kernel
def _encode_slot(
    state: State, window: Window, params: Array, survey: Survey, cache: FeatureCache, slot: int, out: Buffers
) -> None:
    job = window.slots[slot]
    fits = False
    for candidate in range(window.feasible.shape[1]):
        fits = fits or window.feasible[slot, candidate] == 1
    _encode_job(state, job, fits, cache, out.jobs[slot])
    out.pairs[slot] = 0.0
    if not fits:
        return
    fresh = state.jobs[job].running_replicas == 0  # it talks to nobody yet
    if not fresh:
        replica = next_replica(state, job)
        _fill_volumes(state, job, first_task(state, job, params, survey), replica, survey)
    for candidate in range(window.servers.shape[1]):
        server = window.servers[slot, candidate]
        if server != NONE:
            features = out.pairs[slot, candidate]
            _encode_server(state, server, survey, cache, features)
            if not fresh:
                _encode_peers(state, job, server, survey.volumes, features)
            features[1] = window.feasible[slot, candidate]
            features[10] = _log(window.spread[slot, candidate], SERVERS)


@kernel
def _fill_volumes(state: State, job: int, task: int, replica: int, survey: Survey) -> None:
    planned_servers(state, job, max(0, replica), survey.planned)
    communication_volumes(state, task, replica, survey.planned, survey.volumes)


@kernel
def _encode_server(state: State, server: int, survey: Survey, cache: FeatureCache, out: Array) -> None:
    """Copy the row of a server."""
    host = state.servers[server]
    row = cache.servers[server]
    if cache.server_versions[server] != host.version:
        cache.server_versions[server] = host.version
        row[0] = 1.0
        for resource in range(RESOURCES):
            row[2 + resource] = _clip(survey.use[server, resource] / 2.0)
        least = np.inf
        for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
            least = min(least, state.gpus[gpu].used / MILLI)
        row[6] = host.free_gpus / host.num_gpus
        row[7] = _clip(least / 2.0)
    for feature in range(row.shape[0]):
        out[feature] = row[feature]


@kernel
def _encode_peers(state: State, job: int, server: int, volumes: Array, out: Array) -> None:
    """What a server holds of the job, and the traffic that would stay inside of it."""
    row = state.jobs[job]
    placed = 0
    here = 0
    for task in range(row.first_task, row.first_task + row.num_tasks):
        if state.tasks[task].server != NONE:
            placed += 1
            if state.tasks[task].server == server:
                here += 1
    out[8] = here / max(1, placed)
    total = 0.0
    for index in range(volumes.shape[0]):
        total += volumes[index]
    out[9] = volumes[server] / total if total > 0.0 else 0.0


@kernel
def _encode_move(state: State, window: Window, survey: Survey, cache: FeatureCache, index: int, out: Buffers) -> None:
    out.moves[index] = 0.0
    out.move_pairs[index] = 0.0
    task = window.moves[index]
    if task == NONE:
        return
    row = state.tasks[task]
    job = state.jobs[row.job]
    features = out.moves[index]
    features[0] = 1.0
    for resource in range(RESOURCES):
        features[1 + resource] = _clip(task_utilisation(state, task, resource))
    features[5] = _clip(survey.use[row.server, 0] / 2.0)
    features[6] = _clip(survey.use[row.server, 1] / 2.0)
    features[7] = _clip(survey.use[row.server, 3] / 2.0)
    if row.gpu != NONE:
        features[8] = _clip(state.gpus[row.gpu].used / MILLI / 2.0)
    features[9] = _log((job.max_iterations - job.progress) * job.ideal_iteration_time, SECONDS)
    features[10] = _clip(job.progress / job.max_iterations)
    share = row.parameter_share if row.partition != NONE else 1.0
    stall = restart_seconds(state, row.job) + share * job.checkpoint_bytes / state.servers[row.server].nic
    features[11] = _log(stall, STALL_SECONDS)
    _fill_volumes(state, row.job, task, row.replica, survey)
    for candidate in range(window.move_servers.shape[1]):
        server = window.move_servers[index, candidate]
        if server != NONE:
            _encode_server(state, server, survey, cache, out.move_pairs[index, candidate])
            _encode_peers(state, row.job, server, survey.volumes, out.move_pairs[index, candidate])
            out.move_pairs[index, candidate, 1] = 1.0
