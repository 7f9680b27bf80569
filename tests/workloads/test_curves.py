"""Learning curves: values worked out by hand, and shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_gym.cluster.arrays import JOB, Array
from mlfs_gym.workloads.curves import accuracy, clean_loss, observed_loss


def a_job(**changes: float) -> Array:
    jobs = np.zeros(1, JOB)
    fields: dict[str, Any] = {
        "loss_start": 5.0,
        "loss_floor": 1.0,
        "curve_scale": 10.0,
        "curve_power": 2.0,
        "overfit_start": np.inf,
        "overfit_slope": 0.0,
        "loss_noise": 0.0,
        "accuracy_ceiling": 0.8,
    }
    for name, value in {**fields, **changes}.items():
        jobs[0][name] = value
    return jobs


@pytest.mark.parametrize(
    ("iteration", "loss", "reached"),
    [
        (0.0, 5.0, 0.0),
        (10.0, 1.0 + 4.0 / 4.0, 0.8 * 0.75),  # (1 + 1)^-2 = 1/4
        (30.0, 1.0 + 4.0 / 16.0, 0.8 * 15 / 16),  # (1 + 3)^-2 = 1/16
        (2.5, 1.0 + 4.0 * 0.64, 0.8 * 0.36),  # 1.25^-2 = 0.64
    ],
)
def test_power_law(iteration: float, loss: float, reached: float) -> None:
    job = a_job()[0]
    assert clean_loss(job, iteration) == pytest.approx(loss, rel=1e-14)
    assert accuracy(job, iteration) == pytest.approx(reached, rel=1e-14)


def test_overfitting_raises_the_loss_and_lowers_the_accuracy() -> None:
    job = a_job(overfit_start=10.0, overfit_slope=0.02)[0]
    assert clean_loss(job, 10.0) == pytest.approx(2.0, rel=1e-14)
    assert clean_loss(job, 30.0) == pytest.approx(1.25 + 0.02 * 20, rel=1e-14)
    assert accuracy(job, 30.0) == pytest.approx(0.8 * (15 / 16 - 0.4 / 4.0), rel=1e-14)


def test_accuracy_never_falls_below_zero() -> None:
    job = a_job(overfit_start=0.0, overfit_slope=1.0)[0]
    assert accuracy(job, 1000.0) == 0.0
    assert clean_loss(job, 1000.0) > 1000.0


def test_noise_is_relative_bounded_and_reproducible() -> None:
    job = a_job(loss_noise=0.05)[0]
    seed = np.uint64(11)
    ratio = np.array([observed_loss(seed, 3, job, i) / clean_loss(job, float(i)) for i in range(2000)])
    assert 0.045 < np.abs(ratio - 1.0).max() <= 0.05
    assert abs(ratio.mean() - 1.0) < 0.003
    assert observed_loss(seed, 3, job, 7) == observed_loss(seed, 3, job, 7)
    assert observed_loss(seed, 3, job, 7) != observed_loss(seed, 4, job, 7)
    assert observed_loss(seed, 3, job, 7) != observed_loss(np.uint64(12), 3, job, 7)


def test_without_noise_the_observed_loss_is_the_clean_one() -> None:
    job = a_job()[0]
    assert observed_loss(np.uint64(1), 0, job, 9) == clean_loss(job, 9.0)


@settings(deadline=None)  # the first call compiles
@given(
    scale=st.floats(1.0, 500.0),
    power=st.floats(0.2, 4.0),
    early=st.floats(0.0, 400.0),
    step=st.floats(0.01, 400.0),
)
def test_loss_falls_ever_more_slowly(scale: float, power: float, early: float, step: float) -> None:
    job = a_job(curve_scale=scale, curve_power=power)[0]
    losses = [clean_loss(job, early + k * step) for k in range(3)]
    assert losses[0] >= losses[1] >= losses[2] >= 1.0
    assert losses[0] - losses[1] >= losses[1] - losses[2] - 1e-12
    assert 0.0 <= accuracy(job, early) <= accuracy(job, early + step) <= 0.8
