"""Workloads and clusters from a terse description, field by field: independent of the generator and of job specs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import EDGE, JOB, NONE, TASK, Array, State
from mlfs_gym.schedulers import Scheduler
from mlfs_gym.sim.engine import ROUND
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads.workload import Workload

NIC = 1e9  # bytes/s of a server of `cluster_of`: 8 Gbit/s
CPU = 10_000  # milli-cores of a server of `cluster_of`
MEMORY = 100 * 1024  # MiB of a server of `cluster_of`
GPU_MEMORY = 16 * 1024  # MiB of a GPU of `cluster_of`

Each = float | Sequence[float]  # one value for all partitions, or one for each


@dataclass(frozen=True)
class J:
    """One job. By default a single task that fills a GPU and computes ten iterations of 10 s.

    Attributes:
        compute: seconds of each partition per iteration; its length is P.
        edges: (source, target, bytes) over the partitions.
        gpu: demand in milli-GPU; cpu in milli-cores; nic in bytes/s; memory, gpu_memory in MiB.
        ps: True for a parameter server, with its own demands ps_cpu, ps_memory, ps_nic.
        shares: of the parameters; None: equal.
        stop: what the owner picked: 0 all iterations, 1 OptStop, 2 required accuracy.
        stop_limit: the furthest downgrade that the owner permits.
        ideal: s per iteration; None: the critical path of compute.
    """

    arrival: float = 0.0
    replicas: int = 1
    compute: Sequence[float] = (10.0,)
    edges: Sequence[tuple[int, int, float]] = ()
    iterations: int = 10
    ps: bool = False
    gpu: Each = 1000
    cpu: Each = 0
    nic: Each = 0
    memory: Each = 0
    gpu_memory: Each = 0
    ps_cpu: int = 0
    ps_memory: int = 0
    ps_nic: int = 0
    shares: Sequence[float] | None = None
    ideal: float | None = None
    gradient: float = 0.0
    checkpoint: float = 0.0
    deadline: float = 1e8
    urgency: float = 5.0
    required: float = 0.5
    stop: int = 0
    stop_limit: int = 0
    loss_start: float = 2.0
    loss_floor: float = 0.0
    scale: float = 10.0
    power: float = 1.0
    overfit_start: float = np.inf
    overfit_slope: float = 0.0
    noise: float = 0.0
    ceiling: float = 0.9

    @property
    def partitions(self) -> int:
        return len(self.compute)

    @property
    def ideal_iteration(self) -> float:
        """Critical path of compute over the partition graph."""
        if self.ideal is not None:
            return self.ideal
        done = [0.0] * self.partitions
        for partition, seconds in enumerate(self.compute):
            done[partition] = max((done[s] for s, t, _ in self.edges if t == partition), default=0.0) + seconds
        return max(done)


def workload_of(*jobs: J, name: str = "by hand") -> Workload:
    """A workload of these jobs, which must stand in order of arrival. Job ids are "j0", "j1", ..."""
    rows = np.zeros(len(jobs), JOB)
    tasks: list[Array] = []
    edges: list[tuple[int, int, float]] = []
    for number, (row, job) in enumerate(zip(rows, jobs, strict=True)):
        row["first_task"], row["first_edge"] = sum(map(len, tasks)), len(edges)
        _fill_job(row, job)
        tasks.append(_tasks(job, number))
        edges += sorted(job.edges, key=lambda edge: (edge[1], edge[0]))
    all_tasks = np.concatenate(tasks) if tasks else np.zeros(0, TASK)
    return Workload(rows, all_tasks, np.array(edges, EDGE), tuple(f"j{n}" for n in range(len(jobs))), name)


def _fill_job(row: Any, job: J) -> None:
    for field, value in {
        "arrival": job.arrival,
        "deadline": job.deadline,
        "urgency": job.urgency,
        "required_accuracy": job.required,
        "stop_option": job.stop,
        "stop_option_limit": max(job.stop, job.stop_limit),
        "replicas": job.replicas,
        "partitions": job.partitions,
        "parameter_server": job.ps,
        "num_gpus": job.replicas * job.partitions,
        "num_tasks": job.replicas * job.partitions + job.ps,
        "num_edges": len(job.edges),
        "max_iterations": job.iterations,
        "gradient_bytes": job.gradient,
        "checkpoint_bytes": job.checkpoint,
        "ideal_iteration_time": job.ideal_iteration,
        "loss_start": job.loss_start,
        "loss_floor": job.loss_floor,
        "curve_scale": job.scale,
        "curve_power": job.power,
        "overfit_start": job.overfit_start,
        "overfit_slope": job.overfit_slope,
        "loss_noise": job.noise,
        "accuracy_ceiling": job.ceiling,
    }.items():
        row[field] = value


def _tasks(job: J, number: int) -> Array:
    replica = np.zeros(job.partitions, TASK)
    replica["partition"] = np.arange(job.partitions)
    replica["compute_time"] = job.compute
    replica["parameter_share"] = 1.0 / job.partitions if job.shares is None else job.shares
    replica["gpu_demand"], replica["cpu_demand"], replica["nic_demand"] = job.gpu, job.cpu, job.nic
    replica["memory"], replica["gpu_memory"] = job.memory, job.gpu_memory
    tasks = np.tile(replica, job.replicas)
    tasks["replica"] = np.repeat(np.arange(job.replicas), job.partitions)
    if job.ps:
        server = np.zeros(1, TASK)
        server["replica"] = server["partition"] = NONE
        server["cpu_demand"], server["memory"], server["nic_demand"] = job.ps_cpu, job.ps_memory, job.ps_nic
        tasks = np.concatenate([tasks, server])
    tasks["job"] = number
    return tasks


def cluster_of(
    *jobs: J, servers: int = 1, gpus: int = 1, seed: int = 0, speed: float = 1.0, **simulation: Any
) -> SimulatedCluster:
    """A cluster of round numbers (`NIC`, `CPU`, `MEMORY`, `GPU_MEMORY`) without fluctuation, at time 0."""
    config = {
        "servers": servers,
        "gpus_per_server": gpus,
        "gpu_speed": speed,
        "gpu_memory_gib": GPU_MEMORY / 1024,
        "cpu_cores": CPU / 1000,
        "memory_gib": MEMORY / 1024,
        "nic_gbit_per_s": NIC * 8 / 1e9,
    }
    return SimulatedCluster(workload_of(*jobs), config, {"fluctuation": 0.0, **simulation}, seed)


def at_first_round(*jobs: J, servers: int = 1, gpus: int = 1, **options: Any) -> SimulatedCluster:
    """The same, after the arrivals at 0, when the scheduler is asked for the first time."""
    cluster = cluster_of(*jobs, servers=servers, gpus=gpus, **options)
    assert cluster.advance() == ROUND
    return cluster


def place(cluster: SimulatedCluster, job: int, *hosts: int) -> None:
    """Place a replica that must fit: GPU of each partition, then the server of the parameter server."""
    assert cluster.place(job, hosts)


def next_round(cluster: SimulatedCluster, wake_every: float = np.inf) -> float:
    """Make the decisions effective and go on to the next round. Returns its time."""
    cluster.apply()
    assert cluster.advance(wake_every) == ROUND
    return cluster.time


def contents(state: State) -> dict[str, bytes]:
    """Every byte of every field: "jobs.progress" and so on. Padding between fields, and versions, are left out."""
    found = {}
    for name, array in state.values().items():
        if array.dtype.names is None:  # a list of jobs: only the part in use
            found[name] = array[: state.clock[f"num_{name}"][0]].tobytes()
        for field in array.dtype.names or ():
            found[f"{name}.{field}"] = array[field].tobytes()
    del found["servers.version"]
    return found


class Script(Scheduler):
    """Does what a function says, round by round: for tests of the engine."""

    name = "script"

    def __init__(self, *steps: Any, wake_every_seconds: float = np.inf) -> None:
        self.steps = list(steps)
        self.times: list[float] = []
        self.wake_every_seconds = wake_every_seconds

    def schedule(self, cluster: Any) -> None:
        """The next step; none when there are no more."""
        self.times.append(cluster.time)
        if self.steps:
            self.steps.pop(0)(cluster)


def random_workload(rng: np.random.Generator, count: int, span: float, gpus: int) -> Workload:
    """Jobs of all shapes: chains, parallel parts, replicas, parameter servers, noise, overfitting.

    Args:
        rng: to draw from.
        count: how many.
        span: s, of the arrivals, some of which coincide.
        gpus: of the cluster that they must fit.
    """
    arrivals = np.sort(np.round(rng.uniform(0, span, count) / 30.0) * 30.0)
    return workload_of(*(_random_job(rng, float(arrival), gpus) for arrival in arrivals), name="random")


def _random_job(rng: np.random.Generator, arrival: float, gpus: int) -> J:
    partitions = int(rng.choice([1, 1, 2, 3, 4]))
    replicas = int(rng.choice([1, 1, 2, 4]))
    while partitions * replicas > gpus:
        partitions, replicas = max(1, partitions - 1), max(1, replicas // 2)
    pairs = [(s, t) for t in range(partitions) for s in range(t) if t == s + 1 or rng.random() < 0.3]
    compute = tuple(rng.uniform(1, 20, partitions).round(3).tolist())
    iterations = int(rng.integers(1, 60))
    share = rng.dirichlet(np.full(partitions, 5.0))
    job = J(
        arrival=arrival,
        replicas=replicas,
        compute=compute,
        edges=tuple((s, t, float(rng.uniform(1e6, 1e8))) for s, t in pairs),
        iterations=iterations,
        ps=bool(rng.integers(2)),
        gpu=tuple(rng.integers(200, 1001, partitions).tolist()),
        cpu=tuple(rng.integers(0, 3000, partitions).tolist()),
        nic=tuple(rng.integers(0, 3 * 10**8, partitions).tolist()),
        memory=int(rng.integers(0, 8 * 1024)),
        gpu_memory=int(rng.integers(1024, 8 * 1024)),
        ps_cpu=int(rng.integers(0, 2000)),
        ps_memory=int(rng.integers(0, 8 * 1024)),
        ps_nic=int(rng.integers(0, 3 * 10**8)),
        shares=tuple(share.tolist()),
        gradient=float(rng.uniform(0, 1e8)),
        checkpoint=float(rng.uniform(0, 2e9)),
        urgency=float(rng.uniform(0, 10)),
        required=float(rng.uniform(0.1, 0.8)),
        scale=float(rng.uniform(2, 20)),
        overfit_start=float(rng.choice([np.inf, 20.0])),
        overfit_slope=float(rng.uniform(0, 0.02)),
        noise=float(rng.choice([0.0, 0.02])),
    )
    run_time = job.ideal_iteration * iterations
    stop, stop_limit = sorted(rng.integers(0, 3, 2).tolist())
    return replace(job, deadline=arrival + float(rng.uniform(0.8, 6.0)) * run_time, stop=stop, stop_limit=stop_limit)
