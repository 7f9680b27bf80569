"""First in, first out."""

from __future__ import annotations

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.ordered import serve_until_blocked


class FIFO(Scheduler):
    """Jobs in order of arrival; the first that does not fit blocks the queue. Never preempts."""

    name = "fifo"
    observes = False

    def schedule(self, cluster: Cluster) -> None:
        """Place from the head of the queue."""
        state = cluster.state
        serve_until_blocked(state, state.active[: state.clock["num_active"][0]], cluster.hosts_scratch)
