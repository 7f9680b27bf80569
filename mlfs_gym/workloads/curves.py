"""Learning curves in closed form: loss and accuracy of a job after i iterations.

A power law with a plateau, one of the parametric families that Domhan et al. fit to learning curves
(IJCAI 2015), with an optional rise of the loss by overfitting. ``i`` may be fractional: a job is
observed at any time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mlfs_gym.cluster.hashing import uniform
from mlfs_gym.cluster.jit import kernel

LOSS_STREAM: Final = 2


@kernel
def _to_go(job: Any, iteration: float) -> float:
    """The part of the possible improvement that is still ahead, from 1 down to 0."""
    return float((1.0 + iteration / job.curve_scale) ** (-job.curve_power))


@kernel
def _overfitting(job: Any, iteration: float) -> float:
    """Loss added by overfitting."""
    if iteration <= job.overfit_start:  # also guards 0 * inf when it never starts
        return 0.0
    return float(job.overfit_slope * (iteration - job.overfit_start))


@kernel
def clean_loss(job: Any, iteration: float) -> float:
    """Loss without noise after so many iterations; `job` is a record of dtype `JOB`."""
    reducible = job.loss_start - job.loss_floor
    return float(job.loss_floor + reducible * _to_go(job, iteration) + _overfitting(job, iteration))


@kernel
def best_iteration(job: Any) -> float:
    """Where the accuracy peaks, inf if it never falls; `job` is a record of dtype `JOB`.

    The peak is where overfitting begins or, later, where it takes away as much as training still brings:
    ``power / scale * (1 + i / scale) ** -(power + 1) = slope / reducible``.
    """
    if job.overfit_slope <= 0.0 or not job.overfit_start < np.inf:
        return np.inf
    reducible = job.loss_start - job.loss_floor
    ratio = job.curve_power * reducible / (job.curve_scale * job.overfit_slope)
    balance = job.curve_scale * (ratio ** (1.0 / (job.curve_power + 1.0)) - 1.0)
    return float(max(job.overfit_start, balance))


@kernel
def observed_loss(seed: int, job_index: int, job: Any, iteration: int) -> float:
    """Loss as a training run would report it after a whole number of iterations.

    Args:
        seed: of the simulation.
        job_index: row of the job, so that each job has noise of its own.
        job: record of dtype `JOB`.
        iteration: whole number of iterations.
    """
    noise = job.loss_noise * (2.0 * uniform(seed, LOSS_STREAM, job_index, iteration) - 1.0)
    return float(clean_loss(job, float(iteration)) * (1.0 + noise))


@kernel
def accuracy(job: Any, iteration: float) -> float:
    """Accuracy after so many iterations: 0 before training, towards the ceiling as the loss falls."""
    reducible = job.loss_start - job.loss_floor
    lost = _to_go(job, iteration) + _overfitting(job, iteration) / reducible
    return max(0.0, float(job.accuracy_ceiling * (1.0 - lost)))
