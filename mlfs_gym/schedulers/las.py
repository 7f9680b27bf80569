"""Least attained service first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.schedulers.preemptive import ByLevel, PreemptionSettings


class LAS(ByLevel):
    """The jobs that have had the least service hold the GPUs; knows nothing of run times.

    Foreground-background scheduling (Nuyens and Wierman, "The foreground-background queue: a survey", Performance
    Evaluation 2008) with service in two dimensions, GPUs times time, as in 2D-LAS (Gu et al., "Tiresias: a GPU
    cluster manager for distributed deep learning", NSDI 2019, section 3.2), without Tiresias' queues.

    Deviations: the queue shares the server in turns of a quantum instead of equally among those with the least
    service, because a restart costs time here; a running job makes way only for one that needs its place.

    Args:
        settings: quantum and patience (`PreemptionSettings`, a mapping, or None for the defaults).
    """

    name = "las"

    def __init__(self, settings: PreemptionSettings | Mapping[str, Any] | None = None) -> None:
        super().__init__(PreemptionSettings.parse(settings))

    def level(self, state: State, active: Array) -> Array:
        """GPU-seconds held so far."""
        return state.jobs["attained_service"][active]
