"""The rows of jobs, tasks and edges that follow from the columns of jobs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import ClusterConfig
from mlfs_gym.workloads.job_columns import JobColumns
from mlfs_gym.workloads.job_graphs import Graphs
from mlfs_gym.workloads.profiles import (
    BYTES_PER_PARAMETER,
    CHECKPOINT_COPIES,
    FAMILIES,
    GPU_CONTEXT_MIB,
    GPU_COPIES,
    PARAMETER_SERVER_CPU_MILLI,
    PARAMETER_SERVER_MEMORY_MIB,
)

MIB: Final = 2**20
# A task that waits for the network sends at less than its ideal rate. Demands are estimated on a server of the
# default kind: without this bound a short job would claim many times what a NIC can carry.
REFERENCE_NIC_BYTES_PER_S: Final = ClusterConfig().nic_gbit_per_s * 1e9 / 8

_PARAMETERS: Final = np.array([profile.parameters for profile in FAMILIES], np.float64)
_CPU: Final = np.array([profile.cpu_demand_milli for profile in FAMILIES], np.int64)
_MEMORY: Final = np.array([profile.memory_mib for profile in FAMILIES], np.float64)
_GPU_MEMORY: Final = np.array([profile.gpu_memory_mib for profile in FAMILIES], np.float64)
_LOSS_START: Final = np.array([profile.loss_start for profile in FAMILIES])
_LOSS_FLOOR: Final = np.array([profile.loss_floor for profile in FAMILIES])
_CEILING: Final = np.array([profile.accuracy_ceiling for profile in FAMILIES])
_POWER: Final = np.array([profile.curve_power for profile in FAMILIES])


@kernel
def write_rows(
    columns: JobColumns, graphs: Graphs, arrival: Array, order: Array, jobs: Array, tasks: Array, edges: Array
) -> None:
    """Fill the rows of jobs, tasks and edges; the required accuracy is left.

    Args:
        columns: the jobs in any order.
        graphs: of the jobs, in that order.
        arrival: shape (J,), s, on the grid of the clock, in that order.
        order: shape (J,), int64, of arrival.
        jobs: shape (J,), dtype `JOB`, zero.
        tasks: dtype `TASK`, zero, one for each GPU and parameter server.
        edges: dtype `EDGE`, zero.
    """
    task = 0
    edge = 0
    for job in range(order.shape[0]):
        number = order[job]
        row = jobs[job]
        row.arrival = arrival[number]
        row.first_task = task
        row.first_edge = edge
        _write_job(columns, graphs, number, row)
        _write_edges(columns, graphs, number, edge, edges)
        _write_tasks(columns, graphs, number, job, task, tasks)
        task += row.num_tasks
        edge += row.num_edges


@kernel
def _write_job(columns: JobColumns, graphs: Graphs, number: int, row: Any) -> None:
    family = columns.family[number]
    row.deadline = columns.deadline[number]
    row.urgency = columns.urgency[number]
    row.model = family
    row.replicas = columns.replicas[number]
    row.partitions = columns.partitions[number]
    row.parameter_server = columns.parameter_server[number]
    row.num_gpus = row.replicas * row.partitions
    row.num_tasks = row.num_gpus + row.parameter_server
    row.num_edges = graphs.num_edges[number]
    row.max_iterations = columns.max_iterations[number]
    row.stop_option = columns.stop_option[number]
    row.stop_option_limit = columns.stop_option_limit[number]
    row.gradient_bytes = columns.gradient_bytes[number]
    row.checkpoint_bytes = _PARAMETERS[family] * (BYTES_PER_PARAMETER * CHECKPOINT_COPIES)
    row.loss_start = _LOSS_START[family]
    row.loss_floor = _LOSS_FLOOR[family]
    row.curve_scale = columns.curve_scale[number]
    row.curve_power = _POWER[family]
    row.overfit_start = columns.overfit_start[number]
    row.overfit_slope = columns.overfit_slope[number]
    row.loss_noise = columns.loss_noise[number]
    row.accuracy_ceiling = _CEILING[family]


@kernel
def _write_edges(columns: JobColumns, graphs: Graphs, number: int, first: int, edges: Array) -> None:
    for index in range(graphs.num_edges[number]):
        pattern = graphs.first_edge[number] + index
        edges[first + index].source = graphs.edges[pattern, 0]
        edges[first + index].target = graphs.edges[pattern, 1]
        edges[first + index].bytes = columns.link_bytes[number]


@kernel
def _write_tasks(columns: JobColumns, graphs: Graphs, number: int, job: int, first: int, tasks: Array) -> None:
    """Partitions of all replicas, then the parameter server."""
    family = columns.family[number]
    partitions = columns.partitions[number]
    replicas = columns.replicas[number]
    iteration_time = columns.run_time[number] / columns.max_iterations[number]
    parameters_mib = _PARAMETERS[family] * (BYTES_PER_PARAMETER / MIB)
    exchanged = 2.0 * columns.gradient_bytes[number] if replicas > 1 else 0.0
    for index in range(replicas * partitions):
        partition = index % partitions
        slot = graphs.first_partition[number] + partition
        share = graphs.share[slot]
        row = tasks[first + index]
        row.job = job
        row.replica = index // partitions
        row.partition = partition
        row.parameter_share = share
        row.compute_time = graphs.compute[slot] * iteration_time
        row.memory = int(np.ceil(_MEMORY[family] + columns.data_bytes[number] / replicas / MIB))
        on_gpu = share * (_GPU_MEMORY[family] + GPU_COPIES * parameters_mib)
        row.gpu_memory = int(GPU_CONTEXT_MIB + np.ceil(on_gpu))
        row.gpu_demand = columns.gpu_demand[number]
        row.cpu_demand = _CPU[family]
        traffic = graphs.degree[slot] * columns.link_bytes[number] + share * exchanged
        row.nic_demand = nic_demand(traffic, iteration_time)
    if columns.parameter_server[number] == 1:
        server = tasks[first + replicas * partitions]
        server.job = job
        server.replica = NONE
        server.partition = NONE
        server.cpu_demand = PARAMETER_SERVER_CPU_MILLI
        server.memory = int(PARAMETER_SERVER_MEMORY_MIB + np.ceil(parameters_mib))
        server.nic_demand = nic_demand(exchanged * replicas, iteration_time)


@kernel(allocates=True)
def set_ideal_iteration_times(jobs: Array, tasks: Array, edges: Array) -> None:
    """Fill ``ideal_iteration_time`` with the critical path of compute, added up as the simulator adds it up."""
    done = np.zeros(max(1, jobs["partitions"].max()))
    for job in range(jobs.shape[0]):
        row = jobs[job]
        longest = 0.0
        edge = row.first_edge
        for partition in range(row.partitions):
            ready = 0.0
            while edge < row.first_edge + row.num_edges and edges[edge].target == partition:
                ready = max(ready, done[edges[edge].source])
                edge += 1
            done[partition] = ready + tasks[row.first_task + partition].compute_time
            longest = max(longest, done[partition])
        jobs[job].ideal_iteration_time = longest


@kernel
def nic_demand(bytes_per_iteration: float, iteration_time: float) -> int:
    """Bytes/s of a task that computes for an iteration time and sends what an iteration has to send."""
    return int(np.rint(bytes_per_iteration / (iteration_time + bytes_per_iteration / REFERENCE_NIC_BYTES_PER_S)))
