"""Draws that several generators share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mlfs_gym.cluster.arrays import Array


def by_weight(uniform: Array, weights: ArrayLike) -> Array:
    """Indices into the weights, by draws that are uniform in [0, 1)."""
    total = np.cumsum(weights)
    chosen: Array = np.searchsorted(total / total[-1], uniform, side="right")
    return chosen


def stratified(rng: np.random.Generator, count: int) -> Array:
    """Quantiles in [0, 1) in random order, one from each of `count` equal parts.

    Each one is uniform, but together they leave no part out: sums over a heavy tail vary little between seeds.
    """
    quantiles: Array = (rng.permutation(count) + rng.random(count)) / count
    return quantiles


def span_for_load(num_gpus: Array, run_time: Array, total_gpus: int, load: float) -> float:
    """Seconds between first and last arrival that make ideal GPU-seconds this part of what the GPUs can give."""
    return float((num_gpus * run_time).sum()) / (total_gpus * load)
