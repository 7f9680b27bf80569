"""What a job has learned after an iteration."""

from __future__ import annotations

import math
from typing import Any

from tests.twin.hashing import LOSS_STREAM, uniform


def untrained(job: Any, iteration: float) -> float:
    """What is left of the way from the first loss to the plateau: 1 before training, then ever less."""
    return float((1 + iteration / job["curve_scale"]) ** -job["curve_power"])


def overfitting(job: Any, iteration: float) -> float:
    """Rise of the loss."""
    return float(job["overfit_slope"] * max(0.0, iteration - job["overfit_start"]))


def clean_loss(job: Any, iteration: float) -> float:
    span = float(job["loss_start"] - job["loss_floor"])
    return float(job["loss_floor"]) + span * untrained(job, iteration) + overfitting(job, iteration)


def observed_loss(job: Any, index: int, iteration: int, seed: int) -> float:
    noise = float(job["loss_noise"]) * (2 * uniform(seed, LOSS_STREAM, index, iteration) - 1)
    return clean_loss(job, iteration) * (1 + noise)


def accuracy(job: Any, iteration: float) -> float:
    lost = overfitting(job, iteration) / float(job["loss_start"] - job["loss_floor"])
    return max(0.0, float(job["accuracy_ceiling"]) * (1 - untrained(job, iteration) - lost))


def best_accuracy(job: Any, first: float, last: float) -> float:
    """The highest accuracy from one iteration to another.

    It rises to a single peak and falls again: where overfitting sets in, or later, where overfitting takes
    away as much as training still brings.
    """
    peak = math.inf
    slope, start = float(job["overfit_slope"]), float(job["overfit_start"])
    if slope > 0 and math.isfinite(start):
        scale, power = float(job["curve_scale"]), float(job["curve_power"])
        span = float(job["loss_start"] - job["loss_floor"])
        # Derivatives: power / scale * (1 + i / scale) ** -(power + 1) = slope / span.
        balance = scale * ((power * span / (scale * slope)) ** (1 / (power + 1)) - 1)
        peak = max(start, balance)
    return accuracy(job, min(max(peak, first), last))
