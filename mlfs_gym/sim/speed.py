"""How fast a job runs where it is placed: critical path, contention, gradient exchange.

    iteration time = (R / r) * slowest replica's critical path + gradient exchange

with r of R replicas running. Iteration and volumes as in MLFS (CoNEXT 2020, section 3.2): partitions form a
DAG, replicas exchange gradients once per iteration through a parameter server or by ring all-reduce.
"""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.jit import kernel


@kernel
def slowdown(state: State, task: int) -> float:
    """Factor on the compute time of a placed task: contention for GPU and CPU, and the GPU's speed."""
    row = state.tasks[task]
    gpu = state.gpus[row.gpu]
    pressure = 1.0
    if state.clock[0].contention == 1:
        server = state.servers[row.server]
        pressure = max(pressure, gpu.used / MILLI, server.cpu_used / server.cpu)
    return pressure / gpu.speed


@kernel
def bandwidth(state: State, server: int) -> float:
    """Bytes/s that a flow gets at a server's NIC; oversubscription slows all flows in proportion."""
    host = state.servers[server]
    if state.clock[0].contention == 0:
        return float(host.nic)
    return host.nic / max(1.0, host.nic_used / host.nic)


@kernel
def critical_path(state: State, job: int, replica: int, done: Array) -> float:
    """Seconds that one mini-batch round of one replica takes over its DAG.

    Args:
        state: the cluster.
        job: the job.
        replica: a replica that runs.
        done: shape (P,) or more, scratch; receives when each partition is done.
    """
    row = state.jobs[job]
    first = row.first_task + replica * row.partitions
    for partition in range(row.partitions):
        done[partition] = 0.0
    longest = 0.0
    edge = row.first_edge
    last_edge = row.first_edge + row.num_edges
    for partition in range(row.partitions):
        # Edges are sorted by target, so the inputs of a partition come one after another.
        while edge < last_edge and state.edges[edge].target == partition:
            arrow = state.edges[edge]
            source_server = state.tasks[first + arrow.source].server
            target_server = state.tasks[first + partition].server
            ready = done[arrow.source]
            if source_server != target_server:
                ready += arrow.bytes / min(bandwidth(state, source_server), bandwidth(state, target_server))
            done[partition] = max(done[partition], ready)
            edge += 1
        task = first + partition
        done[partition] += state.tasks[task].compute_time * slowdown(state, task)
        longest = max(longest, done[partition])
    return longest


@kernel
def _replica_runs(state: State, job: int, replica: int) -> bool:
    row = state.jobs[job]
    return bool(state.tasks[row.first_task + replica * row.partitions].server != NONE)


@kernel
def ring_exchange(state: State, job: int) -> tuple[float, float]:
    """Seconds and bytes between servers per iteration of a ring all-reduce.

    Each link of a ring over r replicas carries 2 (r - 1) / r of the gradients of its partition; the
    slowest NIC of the ring sets the pace; rings inside one server cost nothing.
    """
    row = state.jobs[job]
    running = row.running_replicas
    seconds = 0.0
    sent = 0.0
    if running < 2:
        return seconds, sent
    for partition in range(row.partitions):
        volume = 2.0 * (running - 1) / running * row.gradient_bytes
        volume *= state.tasks[row.first_task + partition].parameter_share
        slowest = np.inf
        first = NONE
        previous = NONE
        crossings = 0
        for replica in range(row.replicas):
            if not _replica_runs(state, job, replica):
                continue
            server = state.tasks[row.first_task + replica * row.partitions + partition].server
            slowest = min(slowest, bandwidth(state, server))
            if first == NONE:
                first = server
            elif server != previous:
                crossings += 1
            previous = server
        if previous != first:
            crossings += 1
        if crossings > 0:
            seconds += volume / slowest
            sent += volume * crossings
    return seconds, sent


@kernel
def parameter_server_exchange(state: State, job: int) -> tuple[float, float]:
    """Seconds and bytes between servers per iteration of push and pull through a parameter server.

    Remote tasks push gradients and pull parameters; all of it passes the parameter server's NIC.
    """
    row = state.jobs[job]
    home = state.tasks[row.first_task + row.num_tasks - 1].server
    sent = 0.0
    slowest = 0.0
    for replica in range(row.replicas):
        if not _replica_runs(state, job, replica):
            continue
        for partition in range(row.partitions):
            task = state.tasks[row.first_task + replica * row.partitions + partition]
            if task.server == home:
                continue
            volume = 2.0 * row.gradient_bytes * task.parameter_share
            sent += volume
            slowest = max(slowest, volume / bandwidth(state, task.server))
    if sent == 0.0:
        return 0.0, 0.0
    return max(slowest, sent / bandwidth(state, home)), sent


@kernel
def cross_server_edge_bytes(state: State, job: int, replica: int) -> float:
    """Bytes between servers per iteration inside one replica."""
    row = state.jobs[job]
    first = row.first_task + replica * row.partitions
    sent = 0.0
    for edge in range(row.first_edge, row.first_edge + row.num_edges):
        arrow = state.edges[edge]
        if state.tasks[first + arrow.source].server != state.tasks[first + arrow.target].server:
            sent += arrow.bytes
    return sent


@kernel
def iteration_time_and_bytes(state: State, job: int, done: Array) -> tuple[float, float]:
    """Seconds and bytes between servers per iteration as the job is placed now.

    Args:
        state: the cluster.
        job: the job.
        done: shape (largest P,) scratch.

    Returns:
        (inf, 0) while no replica runs.
    """
    row = state.jobs[job]
    if row.running_replicas == 0:
        return np.inf, 0.0
    slowest = 0.0
    sent = 0.0
    for replica in range(row.replicas):
        if _replica_runs(state, job, replica):
            slowest = max(slowest, critical_path(state, job, replica, done))
            if row.spans_servers == 1:
                sent += cross_server_edge_bytes(state, job, replica)
    seconds = row.replicas / row.running_replicas * slowest
    if row.spans_servers == 1:
        if row.parameter_server == 1:
            exchange, volume = parameter_server_exchange(state, job)
        else:
            exchange, volume = ring_exchange(state, job)
        seconds += exchange
        sent += volume
    return seconds, sent
