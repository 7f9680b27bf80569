"""Is it the turn of a scheduler that sits inside a wrapper with more rounds than its own?"""

from __future__ import annotations

import math

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.overload import any_overloaded
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.sim.engine import OVERLOADED_ABOVE


class Due:
    """Gives a scheduler the rounds that it would have without a wrapper, and those after a stop.

    Args:
        scheduler: the one inside.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._last_turn = -math.inf
        self._last_happening: tuple[int, ...] = ()
        self._stopped = 0

    def now(self, cluster: Cluster, stopped: int) -> bool:
        """True if it is the scheduler's turn; the caller then lets it decide.

        Args:
            cluster: the cluster.
            stopped: jobs that the wrapper has ended in this round; they no longer are in the cluster.
        """
        clock = cluster.state.clock[0]
        # Jobs that the wrapper stopped in earlier rounds are no news: the scheduler had its turn when they made room.
        self._stopped += stopped
        happening = (int(clock["num_done"]) - self._stopped, int(clock["next_arrival"]), int(clock["period"]))
        news = stopped > 0 or happening != self._last_happening
        anything_to_do = clock["num_waiting"] > 0 or any_overloaded(cluster.state, OVERLOADED_ABOVE)
        woken = cluster.time >= self._last_turn + self._scheduler.wake_every_seconds
        if not (news and anything_to_do) and not woken:
            return False
        self._last_happening, self._last_turn = happening, cluster.time
        return True

    def wake_every_seconds(self, cluster: Cluster) -> float:
        """Seconds until the scheduler wants its next turn whatever happens."""
        return self._last_turn + self._scheduler.wake_every_seconds - cluster.time
