"""Jobs written by hand: every partition, edge and demand stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import EDGE, JOB, NONE, TASK, Array
from mlfs_gym.config import Settings
from mlfs_gym.errors import WorkloadError
from mlfs_gym.workloads.profiles import FAMILY_NAMES, PARAMETER_SERVER_CPU_MILLI, PARAMETER_SERVER_MEMORY_MIB
from mlfs_gym.workloads.rows import nic_demand, set_ideal_iteration_times
from mlfs_gym.workloads.validation import validate
from mlfs_gym.workloads.workload import Workload

FamilyName = Literal["AlexNet", "ResNet", "MLP", "LSTM", "SVM"]


class PartitionSpec(Settings):
    """One partition of a model; each replica has one task for it."""

    compute_seconds: float = Field(gt=0, le=1e9, description="per iteration on an uncontended GPU of speed 1")
    parameter_weight: float = Field(
        default=1.0, gt=0, le=1e15, description="parameters, relative to the other partitions"
    )
    gpu_demand_milli: int = Field(default=500, ge=1, le=1000)
    cpu_demand_milli: int = Field(default=1000, ge=0, le=100_000_000)
    memory_mib: int = Field(default=1024, ge=0, le=10**12)
    gpu_memory_mib: int = Field(default=1024, ge=0, le=10**9)


class EdgeSpec(Settings):
    """One partition needs what another one has computed."""

    source: int = Field(ge=0, description="partition, counted from 0")
    target: int = Field(ge=0, description="partition, counted from 0")
    megabytes: float = Field(default=0.0, ge=0, le=1e9, description="per iteration")


class CurveSpec(Settings):
    """Learning curve, see `mlfs_gym.workloads.curves`."""

    loss_start: float = Field(default=2.3, gt=0, le=1e9)
    loss_floor: float = Field(default=0.1, ge=0, le=1e9)
    scale_iterations: float = Field(default=20.0, gt=0, le=1e9)
    power: float = Field(default=1.2, gt=0, le=100)
    overfit_start_iteration: float | None = Field(default=None, ge=0, le=1e9, description="None: never")
    overfit_slope: float = Field(default=0.0, ge=0, le=1e9, description="loss per iteration")
    noise: float = Field(default=0.0, ge=0, le=0.5, description="relative amplitude")
    accuracy_ceiling: float = Field(default=0.9, gt=0, le=1)


class JobSpec(Settings):
    """One job. Partitions may be given in any order; edges must not form a cycle."""

    id: str = Field(min_length=1, max_length=200)
    arrival_seconds: float = Field(default=0.0, ge=0, le=1e9)
    deadline_seconds: float = Field(default=1e9, ge=0, le=2e9, description="absolute")
    urgency: float = Field(default=5.0, ge=0, le=10)
    required_accuracy: float = Field(default=0.0, ge=0, le=1)
    family: FamilyName = "MLP"
    replicas: int = Field(default=1, ge=1, le=100_000)
    partitions: tuple[PartitionSpec, ...] = Field(min_length=1, max_length=10_000)
    edges: tuple[EdgeSpec, ...] = ()
    parameter_server: bool = False
    parameter_server_cpu_milli: int = Field(default=PARAMETER_SERVER_CPU_MILLI, ge=0, le=100_000_000)
    parameter_server_memory_mib: int = Field(default=PARAMETER_SERVER_MEMORY_MIB, ge=0, le=10**12)
    max_iterations: int = Field(default=100, ge=1, le=10_000_000)
    stop_option: int = Field(default=0, ge=0, le=2, description="0 fixed, 1 OptStop, 2 required accuracy")
    stop_option_limit: int = Field(default=2, ge=0, le=2, description="the furthest downgrade permitted")
    gradient_megabytes: float = Field(default=0.0, ge=0, le=1e9, description="per iteration")
    checkpoint_megabytes: float = Field(default=0.0, ge=0, le=1e9)
    curve: CurveSpec = CurveSpec()


def workload_from_specs(specs: Sequence[JobSpec], name: str = "specs") -> Workload:
    """A workload of hand-written jobs.

    Raises:
        WorkloadError: a cycle, an edge to nowhere, a duplicate id, a deadline before the arrival, ...
    """
    specs = sorted(specs, key=lambda spec: spec.arrival_seconds)
    jobs = np.zeros(len(specs), JOB)
    tasks: list[Array] = []
    edges: list[Array] = []
    for number, spec in enumerate(specs):
        order = topological_order(spec)
        row = jobs[number]
        _fill_job(row, spec)
        row["first_task"] = sum(len(part) for part in tasks)
        row["first_edge"] = sum(len(part) for part in edges)
        edges.append(_edges(spec, order))
        tasks.append(_tasks(spec, number, order))
    all_tasks = np.concatenate(tasks) if tasks else np.zeros(0, TASK)
    all_edges = np.concatenate(edges) if edges else np.zeros(0, EDGE)
    if specs:
        set_ideal_iteration_times(jobs, all_tasks, all_edges)
        _set_nic_demand(jobs, all_tasks, all_edges)
    workload = Workload(jobs, all_tasks, all_edges, tuple(spec.id for spec in specs), name)
    validate(workload)
    return workload


def topological_order(spec: JobSpec) -> list[int]:
    """Partitions such that every edge points forward; of several possible ones always the lowest first.

    Raises:
        WorkloadError: the edges form a cycle or name a partition that does not exist.
    """
    count = len(spec.partitions)
    for number, edge in enumerate(spec.edges):
        for field, partition in (("source", edge.source), ("target", edge.target)):
            if partition >= count:
                raise WorkloadError(
                    f"job '{spec.id}', field 'edges.{number}.{field}': found {partition}, "
                    f"expected a partition from 0 to {count - 1}"
                )
    remaining = set(range(count))
    order: list[int] = []
    while remaining:
        blocked = {edge.target for edge in spec.edges if edge.source in remaining}
        ready = sorted(remaining - blocked)
        if not ready:
            cycle = " -> ".join(str(partition) for partition in _cycle(spec, remaining))
            raise WorkloadError(f"job '{spec.id}', field 'edges': found the cycle {cycle}, expected none")
        order.append(ready[0])
        remaining.remove(ready[0])
    return order


def _cycle(spec: JobSpec, among: set[int]) -> list[int]:
    """A cycle, given partitions of which each one waits for another one."""
    path = [min(among)]
    while True:
        before = min(edge.source for edge in spec.edges if edge.target == path[-1] and edge.source in among)
        if before in path:
            return [before, *reversed(path[path.index(before) :])]
        path.append(before)


def _fill_job(row: Array, spec: JobSpec) -> None:
    curve = spec.curve
    row["arrival"] = np.rint(spec.arrival_seconds * 1e6) / 1e6
    row["deadline"] = spec.deadline_seconds
    for field in ("urgency", "required_accuracy", "replicas", "max_iterations", "stop_option", "stop_option_limit"):
        row[field] = getattr(spec, field)
    row["model"] = FAMILY_NAMES.index(spec.family)
    row["partitions"] = len(spec.partitions)
    row["parameter_server"] = spec.parameter_server
    row["num_gpus"] = spec.replicas * len(spec.partitions)
    row["num_tasks"] = row["num_gpus"] + spec.parameter_server
    row["num_edges"] = len(spec.edges)
    row["gradient_bytes"] = spec.gradient_megabytes * 1e6
    row["checkpoint_bytes"] = spec.checkpoint_megabytes * 1e6
    row["loss_start"] = curve.loss_start
    row["loss_floor"] = curve.loss_floor
    row["curve_scale"] = curve.scale_iterations
    row["curve_power"] = curve.power
    row["overfit_start"] = np.inf if curve.overfit_start_iteration is None else curve.overfit_start_iteration
    row["overfit_slope"] = curve.overfit_slope
    row["loss_noise"] = curve.noise
    row["accuracy_ceiling"] = curve.accuracy_ceiling


def _edges(spec: JobSpec, order: list[int]) -> Array:
    place = {partition: position for position, partition in enumerate(order)}
    edges = np.zeros(len(spec.edges), EDGE)
    edges["source"] = [place[edge.source] for edge in spec.edges]
    edges["target"] = [place[edge.target] for edge in spec.edges]
    edges["bytes"] = [edge.megabytes * 1e6 for edge in spec.edges]
    sorted_edges: Array = edges[np.lexsort((edges["source"], edges["target"]))]
    return sorted_edges


def _tasks(spec: JobSpec, job: int, order: list[int]) -> Array:
    partitions = [spec.partitions[partition] for partition in order]
    total = sum(partition.parameter_weight for partition in partitions)
    replica = np.zeros(len(partitions), TASK)
    replica["partition"] = np.arange(len(partitions))
    replica["memory"] = [partition.memory_mib for partition in partitions]
    replica["gpu_memory"] = [partition.gpu_memory_mib for partition in partitions]
    replica["gpu_demand"] = [partition.gpu_demand_milli for partition in partitions]
    replica["cpu_demand"] = [partition.cpu_demand_milli for partition in partitions]
    replica["compute_time"] = [partition.compute_seconds for partition in partitions]
    replica["parameter_share"] = [partition.parameter_weight / total for partition in partitions]
    tasks = np.tile(replica, spec.replicas)
    tasks["replica"] = np.repeat(np.arange(spec.replicas), len(partitions))
    if spec.parameter_server:
        server = np.zeros(1, TASK)
        server["replica"] = server["partition"] = NONE
        server["memory"] = spec.parameter_server_memory_mib
        server["cpu_demand"] = spec.parameter_server_cpu_milli
        tasks = np.concatenate([tasks, server])
    tasks["job"] = job
    return tasks


def _set_nic_demand(jobs: Array, tasks: Array, edges: Array) -> None:
    """What each task sends and receives in an iteration, as `mlfs_gym.workloads.assemble` counts it."""
    traffic = np.zeros(len(tasks))
    for row in jobs:
        first, partitions = row["first_task"], row["partitions"]
        exchanged = 2.0 * row["gradient_bytes"] if row["replicas"] > 1 else 0.0
        touching = np.zeros(partitions)
        for edge in edges[row["first_edge"] : row["first_edge"] + row["num_edges"]]:
            touching[edge["source"]] += edge["bytes"]
            touching[edge["target"]] += edge["bytes"]
        workers = slice(first, first + row["num_gpus"])
        traffic[workers] = np.tile(touching, row["replicas"]) + exchanged * tasks["parameter_share"][workers]
        if row["parameter_server"]:
            traffic[first + row["num_tasks"] - 1] = exchanged * row["replicas"]
    iteration_time = jobs["ideal_iteration_time"][tasks["job"]]
    tasks["nic_demand"] = [nic_demand(*pair) for pair in zip(traffic.tolist(), iteration_time.tolist(), strict=True)]
