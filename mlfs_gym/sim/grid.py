"""The grid of microseconds on which events lie."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.jit import kernel


@kernel
def snap(time: float) -> float:
    """A time on the grid, so that events meant to coincide do."""
    return np.rint(time * 1e6) / 1e6
