"""First in, first out."""

from __future__ import annotations

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.ordered import serve_first_come


class FIFO(Scheduler):
    """Jobs in order of arrival; the first that does not fit blocks the queue. Never preempts."""

    name = "fifo"
    observes = False

    def schedule(self, cluster: Cluster) -> None:
        """Place from the head of the queue."""
        serve_first_come(cluster.state, cluster.hosts_scratch)
