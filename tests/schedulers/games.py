"""Play jobs made by hand under a scheduler, or ask it for one round of decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED
from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.schedulers import Scheduler
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, cluster_of

HIDDEN = (
    "loss_start",
    "loss_floor",
    "curve_scale",
    "curve_power",
    "overfit_start",
    "overfit_slope",
    "accuracy_ceiling",
    "loss_noise",
    "finish_at",
)
"""Columns of jobs that no real scheduler could read: the constants of the learning curve, and the future."""


def play(scheduler: Scheduler, *jobs: J, gpus: int, **options: Any) -> SimulatedCluster:
    """To the end; GPUs are exclusive unless said otherwise."""
    cluster = cluster_of(*jobs, gpus=gpus, **{"sharing": False, **options})
    run(cluster, scheduler)
    assert (cluster.jobs["status"] == FINISHED).all()
    return cluster


def decide(scheduler: Scheduler, cluster: SimulatedCluster) -> list[int]:
    """One round of decisions. Returns the running replicas of each job."""
    cluster.observe()
    scheduler.schedule(cluster)
    check_invariants(cluster.state)
    found: list[int] = cluster.jobs["running_replicas"].tolist()
    cluster.apply()
    return found


class Blindfolded(Scheduler):
    """Plays like another scheduler that is shown nan in place of what it must not read."""

    def __init__(self, inner: Scheduler) -> None:
        self.inner, self.name = inner, inner.name
        self.observes, self.wake_every_seconds = inner.observes, inner.wake_every_seconds

    def reset(self, cluster: Any) -> None:
        self.inner.reset(cluster)

    def schedule(self, cluster: Any) -> None:
        jobs = cluster.jobs
        kept = {name: jobs[name].copy() for name in HIDDEN}
        for name in HIDDEN:
            jobs[name] = np.nan
        self.inner.schedule(cluster)
        for name in HIDDEN:
            jobs[name] = kept[name]
