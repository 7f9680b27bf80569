"""The optimal-stopping form: phases and decisions by hand, and against the rule written out over whole sequences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import inf, isfinite, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.opt_stop import OptimalStopping, OptimalStoppingParams, Phase, Reason, optimal_stop
from tests.schedulers.opt_stop.curves import RUNS, recorded

FAST_DROP, WATCHING, CHOOSING, HELD, STOPPED = (
    Phase.FAST_DROP, Phase.WATCHING, Phase.CHOOSING, Phase.HELD, Phase.STOPPED
)  # fmt: skip
SECRETARY = OptimalStoppingParams(detect_overfitting=False)


def phases(losses: Sequence[float], max_iterations: int, **kwargs: float) -> list[Phase]:
    rule = OptimalStopping(max_iterations, **kwargs)  # type: ignore[arg-type]
    return [rule.update(loss).phase for loss in losses]


def written_out(losses: Sequence[float], max_iterations: int, overfitting: bool = True) -> tuple[int, Reason]:
    """The rule over the whole sequence seen so far, at each iteration anew: iteration of the stop and why."""
    losses = [loss if isfinite(loss) else inf for loss in losses]
    for now in range(1, len(losses) + 1):
        seen = losses[:now]
        rises = [b > a or b == inf for a, b in itertools.pairwise(seen)]
        if True in rises:
            pivot = rises.index(True) + 1  # iteration before the first rise, from 1
            run = len(rises) - 1 - max((i for i, rose in enumerate(rises) if not rose), default=-1)
            dips = [
                b for (a, b, _), rose in zip(zip(seen, seen[1:], seen[2:], strict=False), rises[1:], strict=True)
                if b < a and rose
            ]  # fmt: skip
            if overfitting and rises[-1] and run > 5:
                return now, Reason.RISING_LOSS
            if overfitting and rises[-1] and len(dips) > 1 and dips[-1] > dips[0]:
                return now, Reason.RISING_MINIMA
            watched = int((max_iterations - pivot) * 0.37)
            if now - pivot > watched and seen[-1] < min(seen[pivot - 1 : pivot + watched]):
                return now, Reason.BELOW_MINIMUM
        if now >= max_iterations:
            return now, Reason.LAST_ITERATION
    return len(losses), Reason.NONE


def test_phases_and_stop_by_hand() -> None:
    # First rise at iteration 4: I_p = 3, and int(0.37 * (13 - 3)) = 3 iterations are watched: 4, 5, 6. Their minimum
    # with I_p's loss is 4.4; 4.5 is not below it, 4.3 is.
    losses = [9.0, 7.0, 5.0, 5.5, 4.4, 4.6, 4.5, 4.3, 1.0]
    rule = OptimalStopping(13)
    decisions = [rule.update(loss) for loss in losses]
    expected = [FAST_DROP, FAST_DROP, FAST_DROP, WATCHING, WATCHING, WATCHING, CHOOSING, STOPPED, STOPPED]
    assert [decision.phase for decision in decisions] == expected
    assert [decision.iteration for decision in decisions] == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert [decision.stop for decision in decisions] == [False] * 7 + [True] * 2
    assert (decisions[7].reason, decisions[7].best_iteration) == (Reason.BELOW_MINIMUM, 8)
    assert decisions[8] is decisions[7]  # nothing changes once stopped


def test_the_loss_before_the_first_rise_counts_as_watched() -> None:
    # I_p = 2 with the minimum 5; int(0.37 * 3) = 1 watched. 5.2 is below the watched 6 but not below 5.
    decision = optimal_stop([9.0, 5.0, 6.0, 5.2], 5)
    assert (decision.stop, decision.phase) == (False, CHOOSING)
    assert optimal_stop([9.0, 5.0, 6.0, 5.2, 4.9], 6).reason is Reason.BELOW_MINIMUM


def test_equal_losses_are_no_rise() -> None:
    assert phases([3.0, 3.0, 2.0, 2.0], 9) == [FAST_DROP] * 4


def test_nothing_to_watch() -> None:
    # I_p = 2 of 4: int(0.37 * 2) = 0, the very first loss below 2 ends the job.
    assert phases([3.0, 2.0, 2.5, 1.9], 4) == [FAST_DROP, FAST_DROP, CHOOSING, STOPPED]


def test_more_than_five_rises_in_a_row_are_overfitting() -> None:
    losses = [3.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert not optimal_stop(losses, 100).stop  # five rises
    decision = optimal_stop([*losses, 1.6, 0.1], 100)
    assert (decision.reason, decision.iteration, decision.best_iteration) == (Reason.RISING_LOSS, 8, 2)
    # A fall in between starts the count anew; the minimum at the fall lies below the first, so that is no overfitting.
    assert not optimal_stop([*losses, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4], 100).stop


def test_rising_local_minima_are_overfitting() -> None:
    # Local minima 2.0 (iteration 2) and 2.1 (iteration 4), known when iteration 5 rises.
    decision = optimal_stop([3.0, 2.0, 2.5, 2.1, 2.2, 0.0], 100)
    assert (decision.reason, decision.iteration) == (Reason.RISING_MINIMA, 5)
    assert not optimal_stop([3.0, 2.0, 2.5, 1.9, 2.2], 100).stop  # falling minima
    assert not optimal_stop([3.0, 2.0, 2.5, 2.0, 2.2], 100).stop  # equal minima
    # Falling minima, then one above the first: 2.0, 1.5, 2.3.
    assert optimal_stop([3.0, 2.0, 2.5, 1.5, 2.6, 2.3, 2.4], 100).reason is Reason.RISING_MINIMA
    # The latest counts, not the one before: 2.0, 1.5, 1.9 rises but not above the first.
    assert not optimal_stop([3.0, 2.0, 2.5, 1.5, 2.6, 1.9, 2.4], 100).stop


def test_overfitting_comes_before_the_37_percent() -> None:
    assert optimal_stop([3.0, 2.0, 2.5, 2.1, 2.2], 6).reason is Reason.RISING_MINIMA
    assert not optimal_stop([3.0, 2.0, 2.5, 2.1, 2.2], 6, params=SECRETARY).stop


def test_falling_loss_runs_to_the_end() -> None:
    decision = optimal_stop([5.0, 4.0, 3.0, 2.0], 4)
    assert (decision.reason, decision.iteration, decision.best_iteration) == (Reason.LAST_ITERATION, 4, 4)


def test_never_before_the_required_accuracy() -> None:
    losses = [9.0, 5.0, 6.0, 4.0, 3.0, 2.0]
    accuracies = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    literal = optimal_stop(losses, 8, accuracies=accuracies)
    assert (literal.iteration, literal.reason) == (5, Reason.BELOW_MINIMUM)
    rule = OptimalStopping(8, required=0.6)
    decisions = [rule.update(loss, accuracy) for loss, accuracy in zip(losses, accuracies, strict=True)]
    assert [decision.phase for decision in decisions[3:]] == [WATCHING, HELD, STOPPED]
    assert decisions[4].reason is decisions[5].reason is Reason.BELOW_MINIMUM
    # Reached before the rule stops: no difference.
    assert optimal_stop(losses, 8, accuracies=accuracies, required=0.4) == literal
    # Never reached, or never measured: to the last iteration.
    for measured in (accuracies, None):
        end = optimal_stop([*losses, 9.0, 9.0], 8, accuracies=measured and [*measured, 0.5, 0.5], required=0.7)
        assert (end.iteration, end.reason) == (8, Reason.LAST_ITERATION)


def test_accuracies_are_turned_around() -> None:
    losses = [9.0, 7.0, 5.0, 5.5, 4.4, 4.6, 4.5, 4.3]
    turned = optimal_stop([1 - loss / 10 for loss in losses], 13, minimise=False)
    assert turned == optimal_stop(losses, 13)
    # And are their own measure of the required accuracy.
    assert optimal_stop([0.1, 0.5, 0.4, 0.6, 0.7], 5, minimise=False, required=0.65).iteration == 5


def test_what_is_not_finite_counts_as_a_rise() -> None:
    assert phases([3.0, 2.0, nan], 20) == [FAST_DROP, FAST_DROP, WATCHING]
    diverged = optimal_stop([3.0, 2.0, *[nan] * 9], 100)
    assert (diverged.reason, diverged.iteration, diverged.best_iteration) == (Reason.RISING_LOSS, 8, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_iterations": 0}, "max_iterations: found 0, expected at least 1"),
        ({"max_iterations": 5, "required": nan}, "required: found nan"),
    ],
)
def test_bad_arguments(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        OptimalStopping(**arguments)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="accuracies: found 1 of them, expected 2"):
        optimal_stop([1.0, 2.0], 5, accuracies=[0.5])


coarse = st.one_of(st.integers(0, 9).map(float), st.sampled_from([nan, inf, -inf]))


@settings(derandomize=True, deadline=None)
@given(st.lists(coarse, min_size=1, max_size=40), st.integers(1, 45), st.booleans())
def test_follows_the_rule_written_out(losses: list[float], max_iterations: int, overfitting: bool) -> None:
    params = OptimalStoppingParams(detect_overfitting=overfitting)
    decision = optimal_stop(losses, max_iterations, params=params)
    assert (decision.iteration, decision.reason) == written_out(losses, max_iterations, overfitting)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=30), st.floats(-1, 2), st.integers(1, 35))
def test_required_accuracy_only_delays(losses: list[float], required: float, max_iterations: int) -> None:
    accuracies = [abs(loss) % 1.0 if isfinite(loss) else nan for loss in losses]
    literal = optimal_stop(losses, max_iterations)
    safe = optimal_stop(losses, max_iterations, accuracies=accuracies, required=required)
    assert safe.iteration >= literal.iteration
    if safe.stop and safe.reason is not Reason.LAST_ITERATION:
        assert max(a for a in accuracies[: safe.iteration] if isfinite(a)) >= required


def test_secretary_rule_on_every_permutation() -> None:
    """All 5,040 orders of seven losses: the rule stops where the written-out rule does."""
    for order in itertools.permutations(range(7)):
        decision = optimal_stop(order, 7, params=SECRETARY)
        assert (decision.iteration, decision.reason) == written_out(order, 7, overfitting=False)


def test_watching_1_over_e_finds_the_minimum_as_often_as_the_theory_says() -> None:
    """Random orders: the minimum is taken with probability near 1/e = 0.368; watching much less or more is worse."""
    rng = np.random.default_rng(5)
    orders = [rng.permutation(100).tolist() for _ in range(3000)]

    def success(watch_fraction: float) -> float:
        params = OptimalStoppingParams(detect_overfitting=False, watch_fraction=watch_fraction)
        taken = [optimal_stop(order, 100, params=params) for order in orders]
        return float(np.mean([order[d.iteration - 1] == 0 for order, d in zip(orders, taken, strict=True)]))

    best = success(0.37)
    # The standard error is 0.009. A run that never stops takes the last loss, which is the minimum once in a hundred.
    assert best == pytest.approx(1 / np.e, abs=0.03)
    # k/n * sum over i = k..n-1 of 1/i with n = 100: 0.232 for k = 10, 0.2 ln(...) = 0.178 for k = 80.
    assert success(0.10) == pytest.approx(0.236, abs=0.035) and success(0.80) == pytest.approx(0.178, abs=0.03)


@pytest.mark.parametrize("run", RUNS)
def test_recorded_validation_losses(run: str) -> None:
    """The minimum has been passed, or nearly, when the rule stops; overfitting is recognised before the end."""
    curve = recorded(run)["validation_loss"]
    decision = optimal_stop(curve, len(curve))
    at_stop, reducible = curve[: decision.iteration].min(), curve[0] - curve.min()
    assert decision.stop
    assert at_stop <= curve.min() + 0.1 * reducible
    if run.endswith("overfitting"):
        assert decision.reason in {Reason.RISING_LOSS, Reason.RISING_MINIMA}
        assert decision.iteration < len(curve)
    assert decision.best_iteration == int(np.argmin(curve[: decision.iteration])) + 1


@pytest.mark.parametrize("run", RUNS)
def test_recorded_runs_reach_the_required_accuracy(run: str) -> None:
    table = recorded(run)
    losses, accuracies = table["validation_loss"], table["validation_accuracy"]
    required = 0.97 * accuracies.max()
    decision = optimal_stop(losses, len(losses), accuracies=accuracies, required=required)
    assert decision.stop and accuracies[: decision.iteration].max() >= required
