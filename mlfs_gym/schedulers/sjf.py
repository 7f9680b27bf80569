"""Shortest job first."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.ordered import serve_until_blocked


class SJF(Scheduler):
    """The job with the shortest ideal run time first (an oracle's knowledge); never preempts.

    The first job that does not fit blocks the queue. Ties go to the earlier arrival.
    """

    name = "sjf"
    observes = False

    def schedule(self, cluster: Cluster) -> None:
        """Place from the head of the queue, sorted by run time."""
        state = cluster.state
        active = state.active[: state.clock["num_active"][0]]
        waiting = active[state.jobs["running_replicas"][active] < state.jobs["replicas"][active]]
        run_time = state.jobs["max_iterations"][waiting] * state.jobs["ideal_iteration_time"][waiting]
        serve_until_blocked(state, waiting[np.argsort(run_time, kind="stable")], cluster.hosts_scratch)
