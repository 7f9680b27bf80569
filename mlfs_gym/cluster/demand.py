"""What a task really uses: its nominal demand times a factor that is redrawn every few minutes."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import State
from mlfs_gym.cluster.hashing import uniform
from mlfs_gym.cluster.jit import kernel

FLUCTUATION_STREAM = 1


@kernel
def demand_factor(state: State, task: int) -> float:
    """Factor in [1 - fluctuation, 1 + fluctuation] of a task in the present period.

    It depends on the seed, the task and the period alone, never on the order of decisions.
    """
    clock = state.clock[0]
    if clock.fluctuation == 0.0:
        return 1.0
    draw = uniform(clock.seed, FLUCTUATION_STREAM, task, clock.period)
    return 1.0 + clock.fluctuation * (2.0 * draw - 1.0)


@kernel
def scaled(nominal: int, factor: float) -> int:
    """A demand in whole units."""
    return int(np.rint(nominal * factor))
