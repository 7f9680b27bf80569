"""Fair share: what MLFS calls the TensorFlow scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.shares import PreemptiveParams, active_jobs, replica_demand, share_out


class Fair(Scheduler):
    """Max-min fair shares of the dominant resource, by progressive filling over replicas.

    The baseline "TensorFlow" of MLFS (Wang, Liu and Shen, CoNEXT 2020, section 4.1): TensorFlow jobs on Borg
    (Verma et al., EuroSys 2015) with fair sharing. The rule is that of dominant resource fairness (Ghodsi et al.,
    NSDI 2011): the next replica goes to the job whose dominant share is the smallest. With more jobs than GPUs
    shares become fair over time: among equal shares the job comes first whose dominant share on average since its
    arrival is the smallest, and jobs take turns.

    Deviations: the unit of a share is a replica with all its partitions, which train only together; the parameter
    server's CPU and memory are left out of the shares; preemption has a quantum, because restarts cost time; only the
    GPUs limit what is granted, CPU can be oversubscribed and memory is checked where a replica is placed.

    Args:
        params: the quantum; None for the defaults.
    """

    name = "fair"

    def __init__(self, params: PreemptiveParams | Mapping[str, Any] | None = None) -> None:
        self.params = PreemptiveParams.parse(params)
        self.wake_every_seconds = self.params.quantum_seconds

    def schedule(self, cluster: Cluster) -> None:
        """Fill the smallest share first."""
        state, active = cluster.state, active_jobs(cluster)
        average = np.empty(len(active))
        average_shares(state, active, average)
        order = active[np.argsort(average, kind="stable")]
        levels = np.empty(int(state.jobs["replicas"][order].sum()))
        fair_levels(state, order, levels)
        share_out(cluster, order, levels, True, self.params.quantum_seconds)


@kernel
def dominant_share(state: State, job: int) -> float:
    """The largest share of GPU compute, CPU and host memory of the cluster that one replica of a job takes."""
    cpu_total = 0
    memory_total = 0
    for server in range(state.servers.shape[0]):
        cpu_total += state.servers[server].cpu
        memory_total += state.servers[server].memory
    row = state.jobs[job]
    cpu = 0
    memory = 0
    for task in range(row.first_task, row.first_task + row.partitions):
        cpu += state.tasks[task].cpu_demand
        memory += state.tasks[task].memory
    gpu_share = replica_demand(state, job) / (state.gpus.shape[0] * MILLI)
    return float(max(gpu_share, cpu / cpu_total, memory / memory_total))


@kernel
def average_shares(state: State, jobs: Array, average: Array) -> None:
    """Dominant share that each job has had on average since its arrival.

    Args:
        state: the cluster, observed.
        jobs: shape (n,), active jobs.
        average: shape (n,), receives the shares.
    """
    for position in range(jobs.shape[0]):
        row = state.jobs[jobs[position]]
        average[position] = 0.0
        if row.attained_service > 0.0:
            replicas = row.attained_service / row.partitions / (state.clock[0].time - row.arrival)
            average[position] = replicas * dominant_share(state, jobs[position])


@kernel
def fair_levels(state: State, order: Array, levels: Array) -> None:
    """The dominant share that a job has before each of its replicas.

    Args:
        state: the cluster.
        order: shape (n,), active jobs.
        levels: shape (sum of replicas,), receives the shares.
    """
    unit = 0
    for job in order:
        share = dominant_share(state, job)
        for replica in range(state.jobs[job].replicas):
            levels[unit] = replica * share
            unit += 1
