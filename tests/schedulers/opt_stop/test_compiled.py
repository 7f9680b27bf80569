"""The compiled optimal-stopping form agrees with the class, iteration by iteration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_gym.schedulers.opt_stop import (
    STOPPING,
    OptimalStopping,
    OptimalStoppingParams,
    Phase,
    Reason,
    new_stopping,
    observe,
)

values = st.one_of(st.integers(0, 9).map(float), st.floats())


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(values, st.floats()), min_size=1, max_size=40),
    st.integers(1, 45),
    st.one_of(st.none(), st.floats(allow_nan=False)),
    st.builds(
        OptimalStoppingParams,
        watch_fraction=st.floats(0, 1),
        rises_in_a_row=st.integers(1, 7),
        detect_overfitting=st.booleans(),
    ),
)
def test_same_decisions(
    measured: list[tuple[float, float]], max_iterations: int, required: float | None, params: OptimalStoppingParams
) -> None:
    rule = OptimalStopping(max_iterations, required=required, params=params)
    # Between two others, to see that a job leaves its neighbours alone.
    states = new_stopping([7, max_iterations, 9], None if required is None else [0.0, required, 0.0], params)
    untouched = states.copy()
    for loss, accuracy in measured:
        decision = rule.update(loss, accuracy)
        assert observe(states, 1, loss, accuracy) == decision.stop
        row = states[1]
        assert (Phase(row["phase"]), Reason(row["reason"])) == (decision.phase, decision.reason)
        assert (row["iteration"], row["best_iteration"]) == (decision.iteration, decision.best_iteration)
    assert states[[0, 2]].tobytes() == untouched[[0, 2]].tobytes()


@pytest.mark.parametrize(
    ("losses", "stop"),
    [
        ([3.0, 2.0, 2.5, 2.1, 2.2], True),  # rising local minima
        ([3.0, 2.0, 2.5, 2.0, 2.2], False),  # equal ones
        ([3.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5], False),  # five rises
        ([3.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6], True),
    ],
)
def test_overfitting(losses: list[float], stop: bool) -> None:
    states = new_stopping([100])
    assert [observe(states, 0, loss, np.nan) for loss in losses] == [False] * (len(losses) - 1) + [stop]


def test_new_records() -> None:
    states = new_stopping(np.array([10, 20]), required=0.5)
    assert states.dtype == STOPPING
    assert states["max_iterations"].tolist() == [10, 20]
    assert states["required"].tolist() == [0.5, 0.5] and states["reached"].tolist() == [0, 0]
    assert new_stopping([10])["reached"].tolist() == [1]


def test_one_job_by_hand() -> None:
    states = new_stopping([13])
    stops = [observe(states, 0, loss, np.nan) for loss in (9.0, 7.0, 5.0, 5.5, 4.4, 4.6, 4.5, 4.3, 1.0)]
    assert stops == [False] * 7 + [True] * 2
    assert states[0]["iteration"] == 8 and states[0]["reason"] == Reason.BELOW_MINIMUM
    assert states[0]["minimum"] == pytest.approx(4.4)
