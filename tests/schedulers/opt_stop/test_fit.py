"""Families and least-squares fits: values by hand, derivatives, and known curves that must be found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_gym.schedulers.opt_stop import fit_curves
from mlfs_gym.schedulers.opt_stop.families import FAMILIES, Family
from mlfs_gym.schedulers.opt_stop.fit import MOST_OBSERVATIONS, grid_shapes, observations, regress, size_of
from tests.schedulers.opt_stop.curves import recorded_curves

by_name = {family.name: family for family in FAMILIES}
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
X = np.arange(1.0, 81.0)


@pytest.mark.parametrize(
    ("name", "parameters", "x", "value"),
    [
        ("pow3", [2.0], 4.0, 1 / 16),
        ("pow4", [4.0, 2.0], 4.0, 1 / 4),
        ("exp4", [4.0, 2.0], 8.0, np.exp(-4)),
        ("mmf", [4.0, 2.0], 8.0, 1 / 5),
        ("ilog2", [], np.e - 1, 1.0),
        ("log_log_linear", [2.0], np.e, np.log(3)),
    ],
)
def test_shapes_by_hand(name: str, parameters: list[float], x: float, value: float) -> None:
    assert by_name[name].shape(np.log(parameters), np.array([x])) == pytest.approx([value])


@every_family
def test_gradient_is_the_derivative(family: Family) -> None:
    low, high = family.log_bounds(100)
    point = 0.6 * low + 0.4 * high
    gradient = family.gradient(point, X)
    assert gradient.shape == (len(point), len(X))
    for index in range(len(point)):
        step = np.zeros(len(point))
        step[index] = 1e-6
        numeric = (family.shape(point + step, X) - family.shape(point - step, X)) / 2e-6
        np.testing.assert_allclose(gradient[index], numeric, atol=1e-8)


@every_family
@pytest.mark.parametrize("sign", [-1.0, 1.0], ids=["rising", "falling"])
def test_known_curve_is_found_again(family: Family, sign: float) -> None:
    """Without noise, from 80 of 200 iterations: the curve and its extrapolation."""
    low, high = family.log_bounds(128)
    log_parameters = 0.45 * low + 0.55 * high if family.name != "pow3" else np.log([0.7])
    far = np.array([200.0])
    truth = 0.9 + sign * 0.6 * family.shape(log_parameters, X)
    (fit,) = [fit for fit in fit_curves(truth) if fit.family is family]
    assert fit.deviation < 1e-6
    np.testing.assert_allclose(fit(X), truth, atol=1e-5)
    np.testing.assert_allclose(fit(far), 0.9 + sign * 0.6 * family.shape(log_parameters, far), atol=1e-3)
    np.testing.assert_allclose(fit.log_parameters, log_parameters, atol=2e-2)
    assert fit.scale == pytest.approx(sign * 0.6, rel=0.02)


def test_noisy_curve_is_found_within_its_noise() -> None:
    rng = np.random.default_rng(0)
    truth = 0.9 - 0.8 * np.exp(-((X / 20) ** 1.3))
    best = fit_curves(truth + 0.01 * rng.standard_normal(len(X)))[0]
    assert best.deviation == pytest.approx(0.01, rel=0.25)
    assert np.sqrt(np.mean((best(X) - truth) ** 2)) < 0.005


def test_fits_are_least_squares() -> None:
    """No point of the grid, nor one nearby, is closer than the fit."""
    for curve in recorded_curves()[::5]:
        seen = observations(curve.values)
        size = size_of(len(curve.values))
        squares = regress(grid_shapes(size, seen.x), seen).squares
        families = np.repeat(np.arange(len(FAMILIES)), [len(family.grid(size)) for family in FAMILIES])
        for fit in fit_curves(curve.values):
            on_grid = squares[families == FAMILIES.index(fit.family)].min() / len(seen.y)
            assert fit.deviation <= np.sqrt(on_grid) * seen.unit + 1e-9


def test_closest_comes_first() -> None:
    deviations = [fit.deviation for fit in fit_curves(recorded_curves()[3].values)]
    assert len(deviations) == len(FAMILIES) and deviations == sorted(deviations)


def test_regression_by_hand() -> None:
    # Weights 1 and a line through (0, 1), (1, 3), (2, 5): offset 1, scale 2.
    seen = observations([1.0, 3.0, 5.0])
    assert (seen.base, seen.unit) == (5.0, 4.0)
    lines = regress(np.array([[0.0, 1.0, 2.0]]), seen)
    assert seen.base + seen.unit * lines.offset[0] == pytest.approx(1.0)
    assert seen.unit * lines.scale[0] == pytest.approx(2.0)
    assert lines.squares[0] == pytest.approx(0.0, abs=1e-12)


def test_observations_keep_their_iterations() -> None:
    seen = observations([np.nan, 2.0, np.inf, 4.0], recency_decades=2.0)
    assert seen.x.tolist() == [2.0, 4.0]
    assert seen.weights[1] / seen.weights[0] == pytest.approx(10.0) and seen.weights.mean() == pytest.approx(1.0)
    many = observations(np.arange(5000.0))
    assert len(many.x) == MOST_OBSERVATIONS and (many.x[0], many.x[-1]) == (1.0, 5000.0)


def test_too_little_to_fit() -> None:
    assert fit_curves([]) == [] and fit_curves([0.5, np.nan, 0.6]) == []


@pytest.mark.filterwarnings("error")
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.floats(), max_size=25))
def test_any_floats_can_be_fitted(values: list[float]) -> None:
    for fit in fit_curves(values, horizon=50):
        assert np.isfinite(fit.deviation) and np.isfinite(fit.log_parameters).all()
