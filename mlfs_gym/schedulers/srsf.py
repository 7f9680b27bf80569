"""Shortest remaining service first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.schedulers.preemptive import ByLevel, PreemptionSettings
from mlfs_gym.schedulers.srtf import remaining_with_restart


class SRSF(ByLevel):
    """The jobs with the least remaining time x GPUs hold the GPUs. An oracle: it knows how long jobs will run.

    The clairvoyant yardstick of Gu et al., "Tiresias: a GPU cluster manager for distributed deep learning"
    (NSDI 2019), where it beats shortest remaining time first: a short job on many GPUs delays many others.

    Deviations: remaining time is that of an undisturbed run plus what is left of a restart; a job is left alone for a
    quantum once it is placed, because a restart costs time here.

    Args:
        settings: quantum and patience (`PreemptionSettings`, a mapping, or None for the defaults).
    """

    name = "srsf"

    def __init__(self, settings: PreemptionSettings | Mapping[str, Any] | None = None) -> None:
        super().__init__(PreemptionSettings.parse(settings))

    def level(self, state: State, active: Array) -> Array:
        """GPU-seconds to the end."""
        remaining = np.empty(len(active))
        remaining_with_restart(state, active, remaining)
        return remaining * state.jobs["num_gpus"][active]
