"""From one row per job to the arrays of jobs, tasks and edges, without a loop over jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import EDGE, JOB, NONE, TASK, Array
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import ClusterConfig
from mlfs_gym.errors import WorkloadError
from mlfs_gym.workloads.graphs import GraphTemplate, template
from mlfs_gym.workloads.profiles import (
    BYTES_PER_PARAMETER,
    CHECKPOINT_COPIES,
    FAMILIES,
    GPU_CONTEXT_MIB,
    GPU_COPIES,
    PARAMETER_SERVER_CPU_MILLI,
    PARAMETER_SERVER_MEMORY_MIB,
)
from mlfs_gym.workloads.skips import SkipReport
from mlfs_gym.workloads.validation import check_times
from mlfs_gym.workloads.workload import Workload

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


@dataclass(frozen=True, eq=False)
class JobColumns:
    """One entry per job in every array, each of shape (J,).

    Attributes:
        arrival: s.
        run_time: s, with all replicas on one server and no contention.
        family: index into `FAMILIES`.
        replicas: R.
        partitions: P.
        parameter_server: 1 or 0.
        max_iterations: I_max.
        urgency: in [0, 10].
        deadline: s, absolute.
        required_at: the accuracy of this part of the iterations is the required one, in [0, 1].
        stop_option: what the user picked.
        stop_option_limit: the furthest downgrade permitted.
        gpu_demand: milli-GPU of each task.
        link_bytes: per iteration on each edge.
        gradient_bytes: of the whole model, per iteration.
        data_bytes: training data, shared out to the replicas.
        curve_scale: iterations.
        overfit_start: iteration, inf for never.
        overfit_slope: loss per iteration.
        loss_noise: relative amplitude.
    """

    arrival: Array
    run_time: Array
    family: Array
    replicas: Array
    partitions: Array
    parameter_server: Array
    max_iterations: Array
    urgency: Array
    deadline: Array
    required_at: Array
    stop_option: Array
    stop_option_limit: Array
    gpu_demand: Array
    link_bytes: Array
    gradient_bytes: Array
    data_bytes: Array
    curve_scale: Array
    overfit_start: Array
    overfit_slope: Array
    loss_noise: Array

    def __post_init__(self) -> None:
        lengths = {field.name: np.shape(getattr(self, field.name)) for field in fields(self)}
        if any(shape != (len(self.arrival),) for shape in lengths.values()):
            raise WorkloadError(f"job columns: found shapes {lengths}, expected one entry per job in each")

    def taking(self, rows: Array) -> JobColumns:
        """These rows in this order."""
        return replace(self, **{field.name: getattr(self, field.name)[rows] for field in fields(self)})


_SAME_NAME: Final = tuple(field.name for field in fields(JobColumns) if field.name in (JOB.names or ()))


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


def assemble(
    columns: JobColumns,
    *,
    name: str,
    job_ids: Sequence[str] | None = None,
    connected: bool = True,
    skipped: SkipReport | None = None,
) -> Workload:
    """A workload from one row per job.

    Compute times are scaled so that the critical path of an iteration, times the iterations, is the run time.

    Args:
        columns: the jobs, in any order; the workload has them in order of arrival.
        name: of the workload.
        job_ids: in the order of the columns; numbers in order of arrival by default.
        connected: False cuts every job into equal partitions that exchange nothing: a plain gang.
        skipped: what the source held beside these jobs.
    """
    arrival = np.rint(np.asarray(columns.arrival, np.float64) * 1e6) / 1e6
    order = np.argsort(arrival, kind="stable")
    if job_ids is None:
        job_ids = [str(number) for number in range(len(order))]
    else:
        job_ids = [job_ids[row] for row in order.tolist()]
    columns = replace(columns.taking(order), arrival=arrival[order])
    graphs = _Graphs(columns, connected)
    jobs = _jobs(columns, graphs)
    edges = _edges(columns, jobs, graphs)
    tasks = _tasks(columns, jobs, graphs)
    if len(jobs):
        set_ideal_iteration_times(jobs, tasks, edges)
    workload = Workload(jobs, tasks, edges, tuple(job_ids), name, skipped or SkipReport(), sound=True)
    check_times(workload)
    return workload


class _Graphs:
    """The templates that occur, laid end to end, and where each job's template begins."""

    def __init__(self, columns: JobColumns, connected: bool) -> None:
        stride = int(columns.partitions.max(initial=1)) + 1
        codes = np.asarray(columns.family, np.int64) * stride + columns.partitions
        distinct, which = np.unique(codes, return_inverse=True)
        kinds: list[GraphTemplate] = [template(int(c // stride), int(c % stride), connected) for c in distinct]
        lengths = np.array([len(kind.compute) for kind in kinds], np.int64)
        edge_counts = np.array([len(kind.edges) for kind in kinds], np.int64)
        self.compute = _joined([kind.compute for kind in kinds], np.float64)
        self.share = _joined([kind.parameter_share for kind in kinds], np.float64)
        self.degree = _joined([kind.degree for kind in kinds], np.int64)
        self.edges = _joined([kind.edges.ravel() for kind in kinds], np.int64).reshape(-1, 2)
        self.first_partition = _starts(lengths)[which]
        self.first_edge = _starts(edge_counts)[which]
        self.num_edges = edge_counts[which]


def _joined(parts: list[Array], dtype: type) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _starts(lengths: Array) -> Array:
    starts: Array = np.cumsum(lengths) - lengths
    return starts


def _jobs(columns: JobColumns, graphs: _Graphs) -> Array:
    jobs = np.zeros(len(columns.arrival), JOB)
    for field in _SAME_NAME:
        jobs[field] = getattr(columns, field)
    family = columns.family
    jobs["model"] = family
    jobs["num_gpus"] = jobs["replicas"] * jobs["partitions"]
    jobs["num_tasks"] = jobs["num_gpus"] + jobs["parameter_server"]
    jobs["first_task"] = _starts(jobs["num_tasks"])
    jobs["num_edges"] = graphs.num_edges
    jobs["first_edge"] = _starts(jobs["num_edges"])
    jobs["checkpoint_bytes"] = _PARAMETERS[family] * (BYTES_PER_PARAMETER * CHECKPOINT_COPIES)
    jobs["loss_start"] = _LOSS_START[family]
    jobs["loss_floor"] = _LOSS_FLOOR[family]
    jobs["curve_power"] = _POWER[family]
    jobs["accuracy_ceiling"] = _CEILING[family]
    jobs["required_accuracy"] = _accuracy(jobs, columns.required_at * columns.max_iterations)
    return jobs


def _accuracy(jobs: Array, iteration: Array) -> Array:
    """`mlfs_gym.workloads.curves.accuracy` for a whole column."""
    to_go = (1.0 + iteration / jobs["curve_scale"]) ** -jobs["curve_power"]
    late = np.maximum(0.0, iteration - jobs["overfit_start"])  # inf - inf does not occur: iterations are finite
    lost = to_go + jobs["overfit_slope"] * late / (jobs["loss_start"] - jobs["loss_floor"])
    accuracy: Array = np.maximum(0.0, jobs["accuracy_ceiling"] * (1.0 - lost))
    return accuracy


def _edges(columns: JobColumns, jobs: Array, graphs: _Graphs) -> Array:
    owner = np.repeat(np.arange(len(jobs)), jobs["num_edges"])
    edges = np.zeros(len(owner), EDGE)
    pattern = graphs.edges[np.arange(len(owner)) - jobs["first_edge"][owner] + graphs.first_edge[owner]]
    edges["source"] = pattern[:, 0]
    edges["target"] = pattern[:, 1]
    edges["bytes"] = columns.link_bytes[owner]
    return edges


def _tasks(columns: JobColumns, jobs: Array, graphs: _Graphs) -> Array:
    owner = np.repeat(np.arange(len(jobs)), jobs["num_tasks"])
    local = np.arange(len(owner)) - jobs["first_task"][owner]
    served = np.flatnonzero(jobs["parameter_server"])
    servers = jobs["first_task"][served] + jobs["num_tasks"][served] - 1
    tasks = np.zeros(len(owner), TASK)
    tasks["job"] = owner
    partition = local % jobs["partitions"][owner]
    tasks["replica"] = local // jobs["partitions"][owner]
    tasks["partition"] = partition

    slot = graphs.first_partition[owner] + partition
    family = columns.family[owner]
    share = graphs.share[slot]
    iteration_time = (columns.run_time / columns.max_iterations)[owner]
    tasks["parameter_share"] = share
    tasks["compute_time"] = graphs.compute[slot] * iteration_time
    data_mib = (columns.data_bytes / columns.replicas / MIB)[owner]
    tasks["memory"] = np.ceil(_MEMORY[family] + data_mib)
    parameters_mib = _PARAMETERS[family] * (BYTES_PER_PARAMETER / MIB)
    tasks["gpu_memory"] = GPU_CONTEXT_MIB + np.ceil(share * (_GPU_MEMORY[family] + GPU_COPIES * parameters_mib))
    tasks["gpu_demand"] = columns.gpu_demand[owner]
    tasks["cpu_demand"] = _CPU[family]
    exchanged = np.where(jobs["replicas"] > 1, 2.0 * columns.gradient_bytes, 0.0)
    traffic = graphs.degree[slot] * columns.link_bytes[owner] + share * exchanged[owner]

    tasks["replica"][servers] = NONE
    tasks["partition"][servers] = NONE
    for field in ("parameter_share", "compute_time", "gpu_memory", "gpu_demand"):
        tasks[field][servers] = 0
    tasks["cpu_demand"][servers] = PARAMETER_SERVER_CPU_MILLI
    tasks["memory"][servers] = PARAMETER_SERVER_MEMORY_MIB + np.ceil(parameters_mib[servers])
    traffic[servers] = exchanged[served] * columns.replicas[served]
    tasks["nic_demand"] = nic_demand(traffic, iteration_time)
    return tasks


def nic_demand(bytes_per_iteration: Array, iteration_time: Array) -> Array:
    """Bytes/s of a task that computes for an iteration time and sends what an iteration has to send."""
    rate: Array = np.rint(bytes_per_iteration / (iteration_time + bytes_per_iteration / REFERENCE_NIC_BYTES_PER_S))
    return rate.astype(np.int64)
