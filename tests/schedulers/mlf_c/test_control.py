"""Stop options, downgrades, the safe rule and removal, by hand (CoNEXT 2020, section 3.5; ToN 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import STOP_FIXED, STOP_OPTIMAL, STOP_REQUIRED_ACCURACY, STOPPED
from mlfs_gym.schedulers.mlf_c.control import (
    ADDS_LITTLE,
    NOT_STOPPED,
    OPT_STOP,
    REQUIRED_ACCURACY,
    LoadControl,
    adds_little,
    control_load,
    end_round,
    learn,
    new_control,
    reason_to_stop,
    stop_option_now,
)
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from mlfs_gym.schedulers.opt_stop import optimal_stop
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, next_round, place

# The loss first rises at iteration 4, so I_p = 3, and int(0.37 * 17) = 6 iterations are watched, 4 to 9, whose minimum
# is 4.5. The first one below it is iteration 11.
LOSSES = (9.0, 7.0, 5.0, 5.5, 5.4, 5.3, 5.2, 5.1, 4.5, 4.6, 4.4)
STOPS_AT = 11


def one_job(**fields: Any) -> tuple[SimulatedCluster, LoadControl]:
    cluster = at_first_round(J(**{"iterations": 20, "gpu": 100, **fields}))
    place(cluster, 0, 0)
    return cluster, new_control(cluster.jobs, MLFCParams())


def report(control: LoadControl, losses: Any, accuracies: Any) -> None:
    learn(control, np.zeros(len(losses), np.int64), np.array(losses, float), np.array(accuracies, float))


@pytest.mark.parametrize("overloaded", [0, 1])
@pytest.mark.parametrize(("picked", "limit"), [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)])
def test_options_go_down_in_overload_as_far_as_the_owner_permits(picked: int, limit: int, overloaded: int) -> None:
    cluster, control = one_job(stop=picked, stop_limit=limit)
    control.memory["overloaded"] = overloaded
    expected = limit if overloaded else picked
    assert stop_option_now(cluster.state, 0, control) == expected
    control.params["downgrade"] = 0
    assert stop_option_now(cluster.state, 0, control) == picked


def test_a_fixed_job_never_stops() -> None:
    cluster, control = one_job(stop=STOP_FIXED, stop_limit=STOP_FIXED, required=0.1)
    report(control, LOSSES, [0.9] * len(LOSSES))
    control.memory["overloaded"] = 1
    assert reason_to_stop(cluster.state, 0, control) == NOT_STOPPED


def test_a_job_that_asked_for_an_accuracy_stops_when_it_has_it() -> None:
    cluster, control = one_job(stop=STOP_REQUIRED_ACCURACY, required=0.7)
    report(control, (9.0, 8.0), (0.5, 0.69))
    assert reason_to_stop(cluster.state, 0, control) == NOT_STOPPED
    report(control, (7.0,), (0.7,))
    assert reason_to_stop(cluster.state, 0, control) == REQUIRED_ACCURACY
    report(control, (7.5,), (0.6,))  # it has been reached
    assert reason_to_stop(cluster.state, 0, control) == REQUIRED_ACCURACY


def test_opt_stop_ends_a_job_where_the_rule_says() -> None:
    assert optimal_stop(LOSSES, 20).iteration == STOPS_AT
    cluster, control = one_job(stop=STOP_OPTIMAL, required=0.3)
    for iteration, loss in enumerate(LOSSES, start=1):
        assert reason_to_stop(cluster.state, 0, control) == NOT_STOPPED, iteration
        report(control, (loss,), (0.5,))
    assert reason_to_stop(cluster.state, 0, control) == OPT_STOP


def test_the_safe_rule_keeps_a_job_until_it_has_its_accuracy_and_the_letter_does_not() -> None:
    for safe in (True, False):
        cluster, _ = one_job(stop=STOP_OPTIMAL, required=0.8)
        control = new_control(cluster.jobs, MLFCParams(safe=safe))
        report(control, LOSSES, [0.5] * len(LOSSES))
        assert reason_to_stop(cluster.state, 0, control) == (NOT_STOPPED if safe else OPT_STOP)
        report(control, (4.0,), (0.81,))
        assert reason_to_stop(cluster.state, 0, control) == OPT_STOP


def test_a_job_under_a_fixed_option_that_opt_stop_would_end_stops_when_the_cluster_is_overloaded() -> None:
    cluster, control = one_job(stop=STOP_FIXED, stop_limit=STOP_OPTIMAL, required=0.3)
    report(control, LOSSES, [0.5] * len(LOSSES))
    assert control_load(cluster.state, control) == 0
    control.memory["left_waiting"] = 1
    assert control_load(cluster.state, control) == 1
    assert cluster.jobs["status"][0] == STOPPED
    assert control.learnt["reason"][0] == OPT_STOP


def test_what_remains_is_little_by_the_pace_of_the_last_iterations() -> None:
    cluster, control = one_job()  # 20 iterations
    report(control, (10.0, 6.0), (0.0, 0.0))  # gained 4, pace 4
    assert control.learnt["recent_gain"][0] == 4.0
    report(control, (5.0,), (0.0,))  # pace 4 + 0.1 (1 - 4) = 3.7
    assert control.learnt["recent_gain"][0] == pytest.approx(3.7)
    assert not adds_little(cluster.state, 0, control)  # 3.7 * 17 is more than 5% of 5
    control.params["least_gain"] = 3.7 * 17 / 5 * 1.001
    assert adds_little(cluster.state, 0, control)
    control.params["least_gain"] = 3.7 * 17 / 5 * 0.999
    assert not adds_little(cluster.state, 0, control)


@pytest.mark.parametrize(("required", "expected"), [(0.5, ADDS_LITTLE), (0.7, NOT_STOPPED)])
def test_work_that_adds_little_is_removed_in_overload_alone_and_not_below_the_required_accuracy(
    required: float, expected: int
) -> None:
    # A loss that falls no more and never rises: OptStop has nothing to say.
    losses = (10.0, 2.0, *([1.0] * 60))
    cluster, _ = one_job(iterations=70, stop=STOP_OPTIMAL, stop_limit=STOP_OPTIMAL, required=required)
    control = new_control(cluster.jobs, MLFCParams())
    report(control, losses, [0.6] * len(losses))
    assert control.learnt["opt_stop"][0] == 0
    assert reason_to_stop(cluster.state, 0, control) == NOT_STOPPED
    control.memory["overloaded"] = 1
    assert reason_to_stop(cluster.state, 0, control) == expected
    control.params["least_gain"] = 0.0
    assert reason_to_stop(cluster.state, 0, control) == NOT_STOPPED


def test_reports_are_what_the_job_has_learned_and_come_once() -> None:
    cluster = at_first_round(J(iterations=20), J(arrival=55.0))
    place(cluster, 0, 0)
    assert next_round(cluster) == 60.0
    cluster.observe()
    seen = np.zeros(2, np.int64)
    jobs, losses, accuracies = cluster.reports(seen)
    assert jobs.tolist() == [0] * 6  # 10 s each
    # loss 2 / (1 + i / 10), accuracy 0.9 (1 - 1 / (1 + i / 10))
    assert losses == pytest.approx([2 / (1 + i / 10) for i in range(1, 7)])
    assert accuracies == pytest.approx([0.9 * (1 - 1 / (1 + i / 10)) for i in range(1, 7)])
    seen[0] = 5
    jobs, losses, _ = cluster.reports(seen)
    assert jobs.tolist() == [0] and losses == pytest.approx([2 / 1.6])
    seen[0] = 6
    assert len(cluster.reports(seen)[0]) == 0


def test_it_looks_again_soon_only_while_a_running_job_may_be_stopped() -> None:
    for fields, overloaded, expected in (
        ({}, 0, np.inf),
        ({"stop": STOP_OPTIMAL}, 0, 60.0),
        ({"stop_limit": STOP_OPTIMAL}, 0, np.inf),
        ({"stop_limit": STOP_OPTIMAL, "gpu": 950}, 1, 60.0),
    ):
        cluster, control = one_job(**fields)
        assert end_round(cluster.state, control) == expected
        assert control.memory["overloaded"][0] == overloaded
