"""Curves fitted online: exact where the data lie on one, close on the curves of the generator, never rising."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.schedulers.online_fit import (
    SAMPLES,
    Curves,
    fit,
    keep,
    learn_from_accuracies,
    learn_from_losses,
    new_curves,
    predicted,
    predicted_fall,
)
from mlfs_gym.workloads.curves import clean_loss, observed_loss
from tests.builders import J, at_first_round, next_round, place


def fitted(iterations: list[float], values: list[float], quadratic: bool = True) -> Curves:
    curves = new_curves(1)
    for iteration, value in zip(iterations, values, strict=True):
        assert keep(curves, 0, iteration, value)
    fit(curves, 0, quadratic)
    return curves


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.2), (0.01, 0.1), (0.02, 0.0)])
def test_data_on_a_curve_give_that_curve(a: float, b: float) -> None:
    iterations = [0.0, 1.0, 2.0, 4.0, 7.0, 10.0, 15.0]
    curves = fitted(iterations, [1.0 / (a * k * k + b * k + 0.5) for k in iterations])
    for k in (3.0, 12.0, 60.0):
        assert predicted(curves, 0, k) == pytest.approx(1.0 / (a * k * k + b * k + 0.5), rel=1e-6)


def test_a_floor_on_the_grid_is_found() -> None:
    # The lowest value is 1 / 8.5 + 1: the floor 1 is 0.894 of it, next to the grid's 0.9.
    iterations = [float(k) for k in range(0, 17, 2)]
    curves = fitted(iterations, [1.0 / (0.5 * k + 0.5) + 1.0 for k in iterations], quadratic=False)
    assert curves.rows[0]["d"] == pytest.approx(0.9 * (1.0 + 1.0 / 8.5))
    assert predicted(curves, 0, 100.0) == pytest.approx(1.0 / 50.5 + 1.0, abs=0.03)


@pytest.mark.parametrize("quadratic", [True, False])
def test_losses_of_the_generator_are_extrapolated(quadratic: bool) -> None:
    # What the first 30 of 100 iterations tell of the rest, with noise of 1%: most of what is still to come.
    cluster = at_first_round(J(scale=20.0, power=1.2, loss_start=6.9, loss_floor=1.6, noise=0.01, iterations=100))
    row = cluster.jobs[0:1].view(np.recarray)[0]
    curves = new_curves(1)
    for k in range(31):
        keep(curves, 0, float(k), observed_loss(7, 0, row, k))
    fit(curves, 0, quadratic)
    for k in (40.0, 60.0, 100.0):
        assert predicted(curves, 0, k) == pytest.approx(clean_loss(row, k), abs=0.06 * 5.3)


def test_values_that_rise_give_a_curve_that_does_not() -> None:
    curves = fitted([0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 1.1, 1.2, 1.3, 1.4])
    assert predicted_fall(curves, 0, 4.0, 50.0) == pytest.approx(0.0, abs=1e-12)


def test_later_values_weigh_more() -> None:
    # Values that rise give a constant, whose least-squares problem has a solution on one line.
    values = np.array([1.0] * 8 + [2.0] * 8)

    def constant(fading: float) -> float:
        weights = fading ** np.arange(15.0, -1.0, -1.0)
        candidates = []
        for floor in np.arange(10) / 10.0:
            gap = values - floor
            level = (weights * gap**4).sum() / (weights * gap**3).sum() + floor
            candidates.append(((weights * (level - values) ** 2).sum(), level))
        return float(min(candidates)[1])

    curves = fitted([float(k) for k in range(16)], values.tolist())
    assert predicted(curves, 0, 20.0) == pytest.approx(constant(0.9))
    assert constant(0.9) > constant(1.0) + 0.02


def test_too_few_values_give_no_curve() -> None:
    assert fitted([0.0, 1.0, 2.0], [3.0, 2.0, 1.0]).rows[0]["fitted"] == 0
    assert fitted([0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.5, 1.2]).rows[0]["fitted"] == 1


def test_values_are_thinned_out_and_the_newest_is_kept() -> None:
    curves = new_curves(1)
    kept = [k for k in range(400) if keep(curves, 0, float(k), 1.0)]
    assert kept[:22] == [*range(21), 22]  # one iteration apart, then 5%
    count = curves.rows[0]["count"]
    assert SAMPLES // 2 < count <= SAMPLES
    held = curves.iterations[0, :count].tolist()
    assert held == sorted(set(held)) and held[0] == 0.0 and held[-1] == kept[-1]


def test_the_steepest_fall_per_iteration_is_remembered() -> None:
    curves = fitted([0.0, 1.0, 3.0, 4.0], [4.0, 3.5, 1.5, 1.4])
    assert curves.rows[0]["steepest"] == 1.0


def test_learning_takes_what_the_cluster_observed() -> None:
    cluster = at_first_round(J(iterations=60, loss_start=2.0, scale=10.0, ceiling=0.8))
    losses, errors = new_curves(1), new_curves(1)
    active = cluster.state.active[:1]
    learn_from_losses(cluster.state, active, losses, True)
    place(cluster, 0, 0)
    next_round(cluster, wake_every=60.0)
    cluster.observe()
    learn_from_losses(cluster.state, active, losses, True)
    learn_from_accuracies(cluster.state, active, errors, True)
    assert losses.iterations[0, :2].tolist() == [0.0, 6.0]
    assert losses.values[0, :2] == pytest.approx([2.0, 2.0 / 1.6])
    assert errors.values[0, :2] == pytest.approx([1.0, 1.0 - 0.8 * (1.0 - 1.0 / 1.6)])
    learn_from_losses(cluster.state, active, losses, True)  # nothing new
    assert losses.rows[0]["count"] == 2
