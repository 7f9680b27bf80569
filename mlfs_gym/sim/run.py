"""Play a workload to its end under one scheduler."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.errors import SchedulerError
from mlfs_gym.sim.engine import DONE, LIMIT, STUCK
from mlfs_gym.sim.simulated_cluster import SimulatedCluster


class Decides(Protocol):
    """What a run needs of a scheduler; `mlfs_gym.schedulers.Scheduler` is the base class to use."""

    name: str
    observes: bool
    wake_every_seconds: float

    def reset(self, cluster: Cluster) -> None:
        """Forget earlier runs."""

    def schedule(self, cluster: Cluster) -> None:
        """Decide."""


@dataclass
class RunRecord:
    """What a run leaves beside the cluster's state.

    Attributes:
        reached_limit: True if the time limit ended the run before the last job.
        scheduler_seconds: wall-clock seconds of each round's decisions.
    """

    reached_limit: bool = False
    scheduler_seconds: list[float] = field(default_factory=list)


def run(cluster: SimulatedCluster, scheduler: Decides) -> RunRecord:
    """Let a scheduler play a fresh cluster to the last job or the time limit.

    Raises:
        SchedulerError: if it leaves jobs waiting on an idle cluster with nothing to come.
    """
    record = RunRecord()
    scheduler.reset(cluster)
    while True:
        reason = cluster.advance(scheduler.wake_every_seconds)
        if reason in (DONE, LIMIT):
            record.reached_limit = reason == LIMIT
            return record
        if reason == STUCK:
            raise SchedulerError(_stuck_message(cluster, scheduler))
        if scheduler.observes:
            cluster.observe()
        begin = time.perf_counter()
        scheduler.schedule(cluster)
        record.scheduler_seconds.append(time.perf_counter() - begin)
        cluster.apply()


def _stuck_message(cluster: SimulatedCluster, scheduler: Decides) -> str:
    waiting = cluster.waiting_jobs()
    names = ", ".join(cluster.workload.job_ids[job] for job in waiting[:3])
    return (
        f"scheduler '{scheduler.name}' left {len(waiting)} job(s) waiting on an idle cluster "
        f"at {cluster.time:.0f} s with nothing to come (first: {names}); place at least one of them, "
        f"or set wake_every_seconds (now {scheduler.wake_every_seconds:g})"
    )
