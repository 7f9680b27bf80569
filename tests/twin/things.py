"""Jobs, tasks, servers and GPUs as ordinary objects; sums are added up anew whenever somebody asks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from mlfs_gym.cluster.arrays import FINISHED, NONE, PENDING, QUEUED, RUNNING, STOPPED, Array
from mlfs_gym.config import ClusterConfig


class WorkloadArrays(Protocol):
    """What the twin reads of a workload; rows of the dtypes JOB, TASK and EDGE."""

    @property
    def jobs(self) -> Array: ...
    @property
    def tasks(self) -> Array: ...
    @property
    def edges(self) -> Array: ...


@dataclass(eq=False)
class Gpu:
    index: int
    server: Server
    memory: int
    speed: float
    tasks: list[Task] = field(default_factory=list)

    @property
    def used(self) -> int:
        return sum(task.gpu_used for task in self.tasks)

    @property
    def memory_used(self) -> int:
        return sum(task.gpu_memory for task in self.tasks)


@dataclass(eq=False)
class Server:
    index: int
    cpu: int
    memory: int
    nic: int
    gpus: list[Gpu] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)

    @property
    def gpu_used(self) -> int:
        return sum(task.gpu_used for task in self.tasks)

    @property
    def cpu_used(self) -> int:
        return sum(task.cpu_used for task in self.tasks)

    @property
    def nic_used(self) -> int:
        return sum(task.nic_used for task in self.tasks)

    @property
    def memory_used(self) -> int:
        return sum(task.memory for task in self.tasks)


@dataclass(eq=False)
class Task:
    index: int
    job: int
    replica: int
    partition: int
    memory: int
    gpu_memory: int
    gpu_demand: int
    cpu_demand: int
    nic_demand: int
    compute_time: float
    share: float  # of the job's gradients and checkpoint
    server: Server | None = None  # None: not placed
    gpu: Gpu | None = None  # None: not placed, or a parameter server
    gpu_used: int = 0
    cpu_used: int = 0
    nic_used: int = 0
    moved_at: float = -math.inf


@dataclass(frozen=True)
class Edge:
    source: int
    target: int
    bytes: float


@dataclass(eq=False)
class Job:
    index: int
    request: Any  # the row of the workload: never written
    replicas: list[list[Task]]  # by replica, then by partition
    parameter_server: Task | None
    edges: list[Edge]

    status: int = PENDING
    restart_due: bool = False
    progress: float = 0.0
    settled_at: float = 0.0
    iteration_time: float = math.inf
    bytes_per_iteration: float = 0.0
    stalled_until: float = -math.inf
    stall_due: float = 0.0  # of the decisions since the last refresh
    finish_at: float = math.inf
    first_loss: float = 0.0
    loss: float = 0.0
    previous_loss: float = 0.0
    accuracy: float = 0.0
    accuracy_by_deadline: float = 0.0
    requirement_met: bool = False
    first_start: float = math.nan
    finish: float = math.nan
    waiting_time: float = 0.0
    attained_service: float = 0.0
    bytes_sent: float = 0.0
    preemptions: int = 0
    migrations: int = 0

    @property
    def tasks(self) -> list[Task]:
        """All of them, placed or not."""
        tasks = [task for replica in self.replicas for task in replica]
        return tasks if self.parameter_server is None else [*tasks, self.parameter_server]

    @property
    def placed_tasks(self) -> list[Task]:
        return [task for task in self.tasks if task.server is not None]

    @property
    def running_replicas(self) -> list[list[Task]]:
        """In order of the replicas; a replica is placed as a whole, so its first task tells."""
        return [replica for replica in self.replicas if replica[0].server is not None]

    @property
    def next_replica(self) -> list[Task] | None:
        """The lowest replica that does not run."""
        return next((replica for replica in self.replicas if replica[0].server is None), None)

    @property
    def active(self) -> bool:
        return self.status in (QUEUED, RUNNING)

    @property
    def ended(self) -> bool:
        return self.status in (FINISHED, STOPPED)

    @property
    def spans_servers(self) -> bool:
        return len({task.server.index for task in self.tasks if task.server is not None}) > 1


def build_servers(config: ClusterConfig) -> list[Server]:
    servers = []
    for index in range(config.servers):
        server = Server(
            index=index,
            cpu=round(config.cpu_cores * 1000),
            memory=round(config.memory_gib * 1024),
            nic=round(config.nic_gbit_per_s * 1e9 / 8),
        )
        for slot in range(config.gpus_per_server):
            gpu_index = index * config.gpus_per_server + slot
            memory = round(config.gpu_memory_gib * 1024)
            server.gpus.append(Gpu(index=gpu_index, server=server, memory=memory, speed=config.gpu_speed))
        servers.append(server)
    return servers


def build_jobs(workload: WorkloadArrays) -> list[Job]:
    tasks = [_task(index, row) for index, row in enumerate(workload.tasks)]
    jobs = []
    for index, row in enumerate(workload.jobs):
        first, partitions = int(row["first_task"]), int(row["partitions"])
        replicas = [
            tasks[first + replica * partitions : first + (replica + 1) * partitions]
            for replica in range(int(row["replicas"]))
        ]
        parameter_server = tasks[first + int(row["num_tasks"]) - 1] if row["parameter_server"] else None
        assert parameter_server is None or parameter_server.partition == NONE
        first_edge = int(row["first_edge"])
        edges = [
            Edge(int(edge["source"]), int(edge["target"]), float(edge["bytes"]))
            for edge in workload.edges[first_edge : first_edge + int(row["num_edges"])]
        ]
        job = Job(index=index, request=row, replicas=replicas, parameter_server=parameter_server, edges=edges)
        job.first_loss = job.loss = job.previous_loss = float(row["loss_start"])
        jobs.append(job)
    return jobs


def _task(index: int, row: Any) -> Task:
    return Task(
        index=index,
        job=int(row["job"]),
        replica=int(row["replica"]),
        partition=int(row["partition"]),
        memory=int(row["memory"]),
        gpu_memory=int(row["gpu_memory"]),
        gpu_demand=int(row["gpu_demand"]),
        cpu_demand=int(row["cpu_demand"]),
        nic_demand=int(row["nic_demand"]),
        compute_time=float(row["compute_time"]),
        share=float(row["parameter_share"]),
    )
