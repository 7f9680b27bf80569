"""The mixture of clipped normal distributions, against sampling and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.schedulers.opt_stop import Prediction


def mixture(lower: float = -np.inf, upper: float = np.inf, minimise: bool = False) -> Prediction:
    return Prediction(
        np.array([0.25, 0.75]), np.array([0.2, 0.8]), np.array([0.1, 0.3]), lower, upper, minimise=minimise
    )


def test_one_normal_distribution() -> None:
    normal = Prediction(np.ones(1), np.array([2.0]), np.array([0.5]), -np.inf, np.inf, minimise=False)
    assert (normal.mean, normal.std) == (pytest.approx(2.0), pytest.approx(0.5))
    assert normal.quantile(0.5) == pytest.approx(2.0)
    assert normal.interval(0.8) == pytest.approx((2.0 - 0.5 * 1.281552, 2.0 + 0.5 * 1.281552), abs=1e-5)
    assert normal.probability(2.5) == pytest.approx(0.158655, abs=1e-6)
    assert normal.cdf(2.5) == pytest.approx(1 - 0.158655, abs=1e-6)


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, np.inf), (0.0, 1.0), (0.0, np.inf)])
def test_against_samples(lower: float, upper: float) -> None:
    rng = np.random.default_rng(1)
    prediction = mixture(lower, upper)
    which = rng.choice(2, 400_000, p=prediction.weights)
    samples = rng.normal(prediction.means[which], prediction.deviations[which]).clip(lower, upper)
    assert prediction.mean == pytest.approx(samples.mean(), abs=0.003)
    assert prediction.std == pytest.approx(samples.std(), abs=0.003)
    for p in (0.1, 0.5, 0.9):
        assert prediction.quantile(p) == pytest.approx(np.quantile(samples, p), abs=0.005)
    for threshold in (0.1, 0.5, 0.9):
        assert prediction.probability(threshold) == pytest.approx((samples >= threshold).mean(), abs=0.004)


def test_mass_beyond_a_bound_sits_on_it() -> None:
    bounded = mixture(0.0, 1.0)
    assert bounded.probability(0.0) == 1.0 and bounded.probability(1.0) > 0.15 and bounded.probability(1.01) == 0.0
    assert bounded.quantile(0.999) == 1.0
    losses = mixture(0.0, 1.0, minimise=True)
    assert losses.probability(1.0) == 1.0 and losses.probability(0.0) > 0.0 and losses.probability(-0.01) == 0.0


def test_minimising_turns_the_threshold_around() -> None:
    assert mixture(minimise=True).probability(0.4) == pytest.approx(1.0 - mixture().probability(0.4))
