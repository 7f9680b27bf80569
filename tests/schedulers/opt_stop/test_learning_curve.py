"""The learning-curve form: predictions that hold what they promise, and decisions."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers import opt_stop
from mlfs_gym.schedulers.opt_stop import LearningCurveParams, LearningCurveStopping, Phase, Reason, predict
from tests.repository.paths import ROOT
from tests.schedulers.opt_stop.curves import Curve, recorded, recorded_curves, synthetic_curves

X = np.arange(1.0, 101.0)
CUTS = (0.25, 0.4, 0.55, 0.7)


def coverage(curves: list[Curve], probability: float) -> float:
    """How often the last value lies in the interval predicted from the first part of a curve."""
    held = []
    for curve in curves:
        for cut in CUTS:
            start = curve.values[: int(cut * len(curve.values))]
            low, high = predict(start, len(curve.values), minimise=curve.minimise).interval(probability)
            held.append(low <= curve.values[-1] <= high)
    return float(np.mean(held))


def test_intervals_hold_what_they_promise_on_recorded_curves() -> None:
    curves = recorded_curves()
    assert 0.35 <= coverage(curves, 0.5) <= 0.70
    assert 0.60 <= coverage(curves, 0.8) <= 0.95
    assert 0.80 <= coverage(curves, 0.95) <= 1.0


def test_intervals_hold_what_they_promise_on_synthetic_curves() -> None:
    curves = synthetic_curves(np.random.default_rng(3), 100)
    assert 0.60 <= coverage(curves, 0.8) <= 0.95


@pytest.mark.parametrize("cut", CUTS)
def test_predictions_beat_the_last_value(cut: float) -> None:
    """Mean absolute error over the recorded curves, in parts of each curve's range."""
    ours, naive = [], []
    for curve in recorded_curves():
        values, span = curve.values, float(np.ptp(curve.values))
        start = values[: int(cut * len(values))]
        ours.append(abs(predict(start, len(values), minimise=curve.minimise).quantile(0.5) - values[-1]) / span)
        naive.append(abs(start[-1] - values[-1]) / span)
    assert np.mean(ours) < 0.65 * np.mean(naive)


def test_uncertainty_falls_with_more_observations() -> None:
    curve = recorded("mlp")["validation_accuracy"]
    widths = [predict(curve[:seen], 100).std for seen in (25, 50, 75, 95)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("minimise", [False, True], ids=["accuracy", "loss"])
def test_known_curve_is_predicted(minimise: bool) -> None:
    truth = 0.9 - 0.8 / (1 + X / 20)  # a power law, as the simulator's
    values = 2.0 - truth if minimise else truth
    exact = predict(values[:60], 100, minimise=minimise, params=LearningCurveParams(refine=True))
    assert exact.quantile(0.5) == pytest.approx(values[-1], abs=2e-3)
    assert predict(values[:60], 100, minimise=minimise).mean == pytest.approx(values[-1], abs=0.02)


def test_noise_widens_the_prediction() -> None:
    rng = np.random.default_rng(2)
    truth = 0.8 * (1 - np.exp(-X / 15))
    quiet, loud = (predict((truth + s * rng.standard_normal(100))[:60], 100).std for s in (0.002, 0.03))
    assert loud > 1.5 * quiet


def test_intervals_hold_the_noise_of_a_curve_that_has_converged() -> None:
    rng = np.random.default_rng(4)
    plateaus = [Curve("plateau", 0.7 + 0.02 * rng.standard_normal(100), False) for _ in range(60)]
    assert 0.65 <= coverage(plateaus, 0.8) <= 0.95


def test_what_was_not_measured_is_left_out() -> None:
    values = recorded("mlp")["validation_accuracy"][:60].copy()
    full = predict(values, 100)
    values[1::5] = np.nan
    assert predict(values, 100).mean == pytest.approx(full.mean, abs=0.02)


@pytest.mark.parametrize("values", [[], [0.3], [0.1, np.nan, 0.2, 0.3]])
def test_almost_nothing_seen_rules_nothing_out(values: list[float]) -> None:
    prediction = predict(values, 100)
    assert prediction.probability(0.9) > 0.1 and prediction.probability(0.2) < 0.9


def test_constant_values_stay() -> None:
    prediction = predict([0.7] * 30, 100)
    assert prediction.mean == pytest.approx(0.7) and prediction.std < 0.01


def test_horizon_in_the_past_is_now() -> None:
    values = recorded("mlp")["validation_accuracy"]
    assert predict(values, 10).mean == predict(values, 100).mean == pytest.approx(values[-1], abs=0.01)


def test_long_runs() -> None:
    x = np.arange(1.0, 5001.0)
    prediction = predict(0.9 - 0.8 * (1 + x[:3000] / 300) ** -1.5, 5000)
    assert prediction.quantile(0.5) == pytest.approx(0.9 - 0.8 * (1 + 5000 / 300) ** -1.5, abs=0.01)


def test_bounds_are_kept() -> None:
    percent = 100 * recorded("mlp")["validation_accuracy"][:30]
    assert predict(percent, 100, upper=100.0).mean > percent.max()
    assert predict(percent, 100).quantile(0.99) == percent.max()  # nothing above 1, but for what was seen
    losses = predict(np.linspace(1.0, 0.5, 40), 200, minimise=True)
    assert losses.quantile(0.01) >= 0.0
    with pytest.raises(SettingsError, match=r"lower, upper: found 2.0, 1.0, expected lower < upper"):
        predict([0.5], 10, lower=2.0)


@pytest.mark.filterwarnings("error")
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(), max_size=40),
    st.integers(0, 2000),
    st.booleans(),
    st.lists(st.floats(), min_size=2, max_size=5),
    st.booleans(),
)
def test_any_floats_give_a_distribution(
    values: list[float], horizon: int, minimise: bool, thresholds: list[float], refine: bool
) -> None:
    with np.errstate(all="raise"):  # as a caller may have set it
        prediction = predict(values, horizon, minimise=minimise, params=LearningCurveParams(refine=refine))
        numbers = sorted(threshold for threshold in thresholds if not np.isnan(threshold))
        chances = [prediction.probability(threshold) for threshold in numbers]
        quantiles = [prediction.quantile(p) for p in (0.0, 0.1, 0.5, 0.9, 1.0)]
        assert np.isfinite([prediction.mean, prediction.std, *quantiles]).all()
    assert all(0.0 <= chance <= 1.0 for chance in chances)
    ordered = chances if minimise else chances[::-1]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(ordered))
    assert quantiles == sorted(quantiles)
    assert prediction.weights.sum() == pytest.approx(1.0) and (prediction.deviations > 0).all()
    assert 0.0 <= prediction.probability(np.nan) <= 1.0


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.floats(0.1, 1000), st.floats(-50, 50))
def test_units_do_not_matter(seed: int, unit: float, base: float) -> None:
    rng = np.random.default_rng(seed)
    values = 0.8 - 0.6 * np.exp(-X[:50] / 20) + 0.01 * rng.standard_normal(50)
    plain = predict(values, 100, lower=-1e6, upper=1e6, params=LearningCurveParams(resolution=1e-9))
    other = predict(base + unit * values, 100, lower=-1e6, upper=1e6, params=LearningCurveParams(resolution=1e-9))
    assert other.mean == pytest.approx(base + unit * plain.mean, rel=1e-4, abs=1e-4)
    assert other.std == pytest.approx(unit * plain.std, rel=1e-3)


def test_stops_when_the_threshold_is_reached() -> None:
    stopping = LearningCurveStopping(100, 0.5)
    decisions = [stopping.update(value) for value in (0.2, 0.4, 0.5, 0.9)]
    assert [d.stop for d in decisions] == [False, False, True, True]
    assert (decisions[2].reason, decisions[2].phase, decisions[2].probability) == (Reason.REACHED, Phase.STOPPED, 1.0)
    assert decisions[3] is stopping.decision and stopping.decision.iteration == 3


def test_stops_at_the_last_iteration() -> None:
    stopping = LearningCurveStopping(3, 0.5, minimise=True)
    decisions = [stopping.update(value) for value in (0.9, 0.7, 0.8)]
    assert decisions[2].reason is Reason.LAST_ITERATION and decisions[2].best_iteration == 2


def test_waits_before_it_predicts() -> None:
    stopping = LearningCurveStopping(100, 0.99)
    decisions = [stopping.update(0.3) for _ in range(25)]
    assert not any(d.stop for d in decisions[:24]) and np.isnan(decisions[23].probability)
    assert decisions[24].reason is Reason.OUT_OF_REACH and decisions[24].probability < 0.02


def run(curve: Curve, threshold: float) -> tuple[Reason, float]:
    stopping = LearningCurveStopping(len(curve.values), threshold, minimise=curve.minimise)
    for value in curve.values:
        if stopping.update(float(value)).stop:
            break
    return stopping.decision.reason, stopping.decision.iteration / len(curve.values)


def test_recorded_runs_stop_early_when_the_threshold_is_out_of_reach() -> None:
    """A fifth of the range beyond the best value: on average before 40% of the iterations."""
    stops = []
    for curve in recorded_curves():
        best, beyond = (curve.values.min(), -0.2) if curve.minimise else (curve.values.max(), 0.2)
        reason, at = run(curve, float(best + beyond * np.ptp(curve.values)))
        assert reason is Reason.OUT_OF_REACH, curve.name
        stops.append(at)
    assert np.mean(stops) < 0.4


def test_recorded_runs_seldom_stop_in_error() -> None:
    """A tenth of the range short of the best value: nearly all runs go on until they reach it."""
    reasons = []
    for curve in recorded_curves():
        best, short = (curve.values.min(), 0.1) if curve.minimise else (curve.values.max(), -0.1)
        reasons.append(run(curve, float(best + short * np.ptp(curve.values)))[0])
    assert set(reasons) <= {Reason.REACHED, Reason.OUT_OF_REACH}
    assert reasons.count(Reason.OUT_OF_REACH) <= 0.2 * len(reasons)


def test_what_is_not_finite_reaches_nothing() -> None:
    stopping = LearningCurveStopping(100, 0.5)
    assert not stopping.update(np.inf).stop and not stopping.update(np.nan).stop
    assert stopping.decision.best_iteration == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 0.5), "max_iterations: found 0, expected at least 1"), ((5, np.nan), "threshold: found nan")],
)
def test_bad_arguments(arguments: tuple[int, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        LearningCurveStopping(*arguments)


def test_public_names_load_when_used() -> None:
    assert all(getattr(opt_stop, name).__name__ == name for name in opt_stop.__all__ if name != "STOPPING")
    assert not hasattr(opt_stop, "no_such_name")
    code = "import sys, mlfs_gym.schedulers.opt_stop as o; print([n for n in sys.modules if n.startswith(o.__name__)])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['mlfs_gym.schedulers.opt_stop']"
