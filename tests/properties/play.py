"""Random instances and the schedulers to play them, with a look at every invariant before and after every round."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, STOPPED
from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.schedulers import Scheduler, make_scheduler, scheduler_names
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.scheduler import MLFH
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import contents, random_workload

SCHEDULERS = (*scheduler_names(), "mlf_h paper", *(f"{name}+mlf_c" for name in scheduler_names()))


def scheduler_of(name: str) -> Scheduler:
    return MLFH(MLFHParams.paper()) if name == "mlf_h paper" else make_scheduler(name)


def instance(seed: int, *, sharing: bool, jobs: int = 20, **simulation: Any) -> SimulatedCluster:
    """A small cluster under load, everything drawn from the seed: memory, CPU and NIC are all scarce at times."""
    rng = np.random.default_rng(seed)
    servers, gpus = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    workload = random_workload(rng, jobs, float(rng.uniform(0, 3000)), servers * gpus)
    cluster = {
        "servers": servers,
        "gpus_per_server": gpus,
        "cpu_cores": float(rng.choice([4.0, 8.0, 32.0])),
        "memory_gib": 64.0,
        "nic_gbit_per_s": float(rng.choice([1.0, 2.5])),
    }
    settings = {
        "sharing": sharing,
        "contention": bool(rng.random() < 0.8),
        "fluctuation": float(rng.choice([0.0, 0.3])),
        "redraw_seconds": float(rng.choice([45.0, 600.0])),
        "round_seconds": float(rng.choice([1.0, 60.0])),
        **simulation,
    }
    return SimulatedCluster(workload, cluster, settings, seed)


class Watched(Scheduler):
    """Plays like another scheduler and checks what must hold at every round."""

    def __init__(self, inner: Scheduler, wake_every_seconds: float | None = None, observes: bool | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.observes = inner.observes if observes is None else observes
        self.wake_every_seconds = inner.wake_every_seconds if wake_every_seconds is None else wake_every_seconds
        self.time = -np.inf
        self.progress = np.zeros(0)
        self.ended = np.zeros(0, bool)

    def reset(self, cluster: Any) -> None:
        self.inner.reset(cluster)
        self.progress = cluster.jobs["progress"].copy()
        self.ended = np.zeros(len(cluster.jobs), bool)

    def schedule(self, cluster: Any) -> None:
        check_invariants(cluster.state)
        assert cluster.time > self.time, "rounds at one time"
        self.time = cluster.time
        jobs = cluster.jobs
        assert (jobs["progress"] >= self.progress).all(), "progress was lost"
        assert (jobs["progress"] <= jobs["max_iterations"]).all(), "more than all iterations"
        ended = np.isin(jobs["status"], (FINISHED, STOPPED))
        assert (ended >= self.ended).all(), "a job came back"
        assert (jobs["finish"][ended] <= self.time).all()
        self.progress, self.ended = jobs["progress"].copy(), ended
        self.inner.schedule(cluster)
        check_invariants(cluster.state)


def play(cluster: SimulatedCluster, name: str, **watching: Any) -> SimulatedCluster:
    """To the end, watched."""
    record = run(cluster, Watched(scheduler_of(name), **watching))
    assert not record.reached_limit
    check_invariants(cluster.state)
    return cluster


def digest(cluster: SimulatedCluster) -> str:
    """Of every byte of every field."""
    digest = hashlib.sha256()
    for name, data in sorted(contents(cluster.state).items()):
        digest.update(name.encode() + data)
    return digest.hexdigest()
