"""The interface of everything that decides."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from mlfs_gym.cluster.cluster import Cluster


class Scheduler(ABC):
    """Looks at a cluster once a round and calls ``place``, ``move``, ``evict`` and ``stop`` on it.

    A scheduler in a few lines::

        class LongestWaitFirst(Scheduler):
            name = "longest_wait"

            def schedule(self, cluster):
                for job in sorted(cluster.waiting_jobs(), key=lambda j: -cluster.jobs["waiting_time"][j]):
                    cluster.place_all(job)

    Attributes:
        name: shown in tables and plots.
        observes: True if it reads what jobs have done (progress, losses, service); the cluster then
            brings them up to date before each round.
        wake_every_seconds: it wants a round at least this often while jobs are active; inf: only when
            something has happened.
        shares_gpus: True if several tasks share a GPU in its paper: which of the two settings of a comparison is "as
            published". Whether GPUs are shared in a run is up to `SimulationConfig.sharing`.
    """

    name: str = "unnamed"
    observes: bool = True
    wake_every_seconds: float = math.inf
    shares_gpus: bool = False

    def reset(self, cluster: Cluster) -> None:
        """Called once before the first round of a run; forget everything."""
        del cluster

    @abstractmethod
    def schedule(self, cluster: Cluster) -> None:
        """Decide. Nothing takes effect on speeds before it returns."""
