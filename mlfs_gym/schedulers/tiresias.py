"""Tiresias: two-dimensional least attained service, in queues."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.preemptive import PreemptionSettings, PreemptiveScheduler, serve_in_order
from mlfs_gym.schedulers.skew import placement_styles

SECONDS_PER_HOUR = 3600.0


class TiresiasSettings(PreemptionSettings):
    """Queues and placement."""

    queue_gpu_hours: tuple[float, ...] = Field(
        default=(4.0, 40.0), min_length=1, description="attained service at which a job falls to the next queue"
    )
    skew: float = Field(
        default=1.5, ge=1, description="consolidate jobs whose largest partition has so many times the mean parameters"
    )
    exchange: float = Field(
        default=0.25, ge=0, description="and those for which exchanging its gradients takes this part of an iteration"
    )

    @field_validator("queue_gpu_hours")
    @classmethod
    def _check_thresholds(cls, thresholds: tuple[float, ...]) -> tuple[float, ...]:
        if thresholds[0] <= 0 or any(high <= low for low, high in pairwise(thresholds)):
            raise PydanticCustomError("thresholds", "thresholds above 0, each above the one before")
        return thresholds


class Tiresias(PreemptiveScheduler):
    """Discretised 2D-LAS (Gu et al., "Tiresias: a GPU cluster manager for distributed deep learning", NSDI 2019).

    A job starts in the first queue and falls to the next one whenever its attained service, GPUs times time, crosses
    a threshold (section 3.2). Jobs of an earlier queue preempt those of later ones; within a queue, first come first
    served by the time of the first start, without preemption, and whatever fits runs. Jobs with skewed parameters or
    heavy traffic are consolidated, the others go anywhere (section 3.3).

    Deviations:
        - the thresholds fit the service of the jobs here; the paper tunes them to its trace;
        - preempted only after a quantum, and only for a job that needs the place, because restarts cost time here;
        - replicas are elastic: a job that is not consolidated starts with the replicas that fit;
        - the skew is that of the parameters over the partitions, since there are no tensors to profile; a job that
          must be consolidated waits for one server at most as long as the patience says;
        - no promotion of starved jobs to the first queue (PROMOTEKNOB = infinity); instead a job that has waited
          longer than the patience may preempt later arrivals of its own queue, so that a large gang gets its turn.

    Args:
        settings: `TiresiasSettings`, a mapping, or None for the defaults.
    """

    name = "tiresias"

    def __init__(self, settings: TiresiasSettings | Mapping[str, Any] | None = None) -> None:
        parsed = settings if isinstance(settings, TiresiasSettings) else TiresiasSettings.parse(settings)
        super().__init__(parsed)
        self._thresholds = np.array(parsed.queue_gpu_hours) * SECONDS_PER_HOUR
        self._skew, self._exchange = parsed.skew, parsed.exchange

    def queue_number(self, state: State, jobs: Array) -> Array:
        """In which queue jobs are, shape (n,), int64; 0 is the most important."""
        return np.searchsorted(self._thresholds, state.jobs["attained_service"][jobs], side="right")

    def decide(self, cluster: Cluster, active: Array) -> None:
        """By queue, then by first start; jobs that never started come after those that did, by arrival."""
        number = self.queue_number(cluster.state, active)
        order = np.lexsort((cluster.jobs["first_start"][active], number))  # stable; nan, never started, sorts last
        self.serve(cluster, active[order], number[order])

    def serve(self, cluster: Cluster, order: Array, level: Array) -> None:
        """Serve jobs in an order, consolidated or not as each one needs it."""
        styles = placement_styles(cluster.state, order, self._skew, self._exchange)
        serve_in_order(cluster.state, self.make_queue(cluster.state, order, level, style=styles), cluster.hosts_scratch)
