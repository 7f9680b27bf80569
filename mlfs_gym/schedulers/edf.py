"""Earliest deadline first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.schedulers.preemptive import ByLevel, PreemptionSettings
from mlfs_gym.schedulers.srtf import remaining_with_restart

_BEYOND_ALL_DEADLINES = 1e12  # s


class EDFSettings(PreemptionSettings):
    """When a job may be preempted, and what becomes of one that cannot make it."""

    guard: bool = Field(default=True, description="jobs that cannot meet their deadline any more come last")


class EDF(ByLevel):
    """The jobs with the earliest deadlines hold the GPUs (Liu and Layland, Journal of the ACM 1973), preemptively.

    In overload plain EDF spends its time on jobs that are late already and makes the next ones late with them
    (Buttazzo, Spuri and Sensini, "Value vs. deadline scheduling in overload conditions", RTSS 1995). So there is a
    guard: a job that would miss its deadline even if it ran undisturbed from now on, by the run-time estimate
    that its deadline was set with, comes after all that can still make theirs; among such jobs, too, the earlier
    deadline goes first. ``{"guard": False}`` is the textbook rule.

    Deviations: several GPUs and gangs instead of one processor; a job is left alone for a quantum once it is placed,
    because a restart costs time here.

    Args:
        settings: quantum, patience and guard (`EDFSettings`, a mapping, or None for the defaults).
    """

    name = "edf"

    def __init__(self, settings: EDFSettings | Mapping[str, Any] | None = None) -> None:
        parsed = EDFSettings.parse(settings)
        super().__init__(parsed)
        self._guard = parsed.guard

    def level(self, state: State, active: Array) -> Array:
        """The deadline in seconds; later than any deadline if it cannot be met."""
        deadline = state.jobs["deadline"][active]
        if not self._guard:
            return deadline
        remaining = np.empty(len(active))
        remaining_with_restart(state, active, remaining)
        hopeless = state.clock["time"][0] + remaining > deadline
        return deadline + _BEYOND_ALL_DEADLINES * hopeless
