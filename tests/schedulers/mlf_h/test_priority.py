"""Equations 2 to 6 of MLFS with numbers worked out by hand. Times are in hours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.priority import (
    base_computation_priority,
    base_ml_priority,
    loss_progress,
    partition_priorities,
    waiting_by_priority,
)
from mlfs_gym.sim.engine import ROUND
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, cluster_of, next_round

HOUR = 3600.0
PAPER = MLFHParams.paper().record()
DEFAULT = MLFHParams().record()


def only_ml(**changes: Any) -> Array:
    """Eq. 6 with alpha 1: what is left is eq. 3."""
    return MLFHParams(alpha=1.0, per_gpu=False, **changes).record()


def only_computation(**changes: Any) -> Array:
    """Eq. 6 with alpha 0: what is left is eq. 5."""
    return MLFHParams(alpha=0.0, per_gpu=False, **changes).record()


def priorities(cluster: SimulatedCluster, params: Array, job: int = 0) -> tuple[list[float], float]:
    found = np.zeros(int(cluster.jobs["partitions"][job]))
    highest = partition_priorities(cluster.state, job, params, found)
    return pytest.approx(found.tolist(), rel=1e-12), pytest.approx(highest, rel=1e-12)


def after(seconds: float, job: J, *, running: bool = True) -> SimulatedCluster:
    """A cluster that has run (or let wait) one job for so long, observed."""
    cluster = at_first_round(job, round_seconds=seconds, gpus=max(1, job.partitions))
    if running:
        assert cluster.place(0)
    assert next_round(cluster, seconds) == seconds
    cluster.observe()
    return cluster


# --- eq. 2: P0_ML = L * (1 / I) * dl_{I-1} / sum_{j<I} dl_j * S_k / S_J -------------------------
def test_first_iteration_counts_as_full_progress() -> None:
    cluster = at_first_round(J(urgency=8.0))
    assert base_ml_priority(cluster.state, 0, PAPER) == 8.0  # 8 * 1/1 * 1


def test_first_iteration_lasts_until_one_iteration_is_done() -> None:
    assert base_ml_priority(after(9.5, J(urgency=8.0)).state, 0, PAPER) == 8.0


def test_second_iteration() -> None:
    # I = 2, and the one iteration so far brought all of the reduction: 8 * 1/2 * 1.
    assert base_ml_priority(after(10.0, J(urgency=8.0)).state, 0, PAPER) == pytest.approx(4.0)


def test_seventh_iteration() -> None:
    # Loss 20 / (10 + i): 2 before, 20/15 after five, 20/16 after six iterations.
    # dl_6 / (dl_1 + ... + dl_6) = (20/15 - 20/16) / (2 - 20/16) = (1/12) / (3/4) = 1/9; I = 7: 8 / 63.
    cluster = after(65.0, J(urgency=8.0))
    assert loss_progress(cluster.state, 0) == pytest.approx(1.0 / 9.0, rel=1e-12)
    assert base_ml_priority(cluster.state, 0, PAPER) == pytest.approx(8.0 / 63.0, rel=1e-12)


def test_ratio_of_the_second_iteration_is_one_also_with_noise() -> None:
    # dl_1 / dl_1, whatever the two observed losses are.
    cluster = after(15.0, J(noise=0.02))
    assert cluster.jobs["loss"][0] != pytest.approx(20.0 / 11.0, rel=1e-6)  # there is noise
    assert loss_progress(cluster.state, 0) == pytest.approx(1.0, rel=1e-12)


def test_a_loss_that_has_not_fallen_counts_nothing() -> None:
    assert base_ml_priority(after(35.0, J(overfit_start=0.0, overfit_slope=1.0)).state, 0, PAPER) == 0.0


def test_urgency_is_a_factor_unless_ablated() -> None:
    cluster = at_first_round(J(urgency=3.0), J(urgency=9.0), gpus=2)
    with_it = [base_ml_priority(cluster.state, job, PAPER) for job in (0, 1)]
    without = [base_ml_priority(cluster.state, job, only_ml(use_urgency=False)) for job in (0, 1)]
    assert (with_it, without) == ([3.0, 9.0], [1.0, 1.0])


def test_each_partition_has_its_share_of_the_parameters() -> None:
    job = J(compute=(1.0, 1.0, 1.0), shares=(0.5, 0.3, 0.2), urgency=10.0)  # no edges: no children
    assert priorities(at_first_round(job, gpus=3), only_ml()) == ([5.0, 3.0, 2.0], 5.0)


# --- eq. 3 and 5: own term + gamma * sum over children ------------------------------------------
DIAMOND = J(
    compute=(100.0, 100.0, 100.0, 100.0),  # 300 s along the longest path
    edges=((0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0)),
    iterations=12,  # 12 * 300 s = 1 h
    shares=(0.4, 0.3, 0.2, 0.1),
    urgency=8.0,
    deadline=2 * HOUR,
)


def test_ml_priority_over_a_diamond() -> None:
    # Own terms 8 * share: 3.2, 2.4, 1.6, 0.8.
    # 3: 0.8;  2: 1.6 + 0.8 * 0.8 = 2.24;  1: 2.4 + 0.64 = 3.04;  0: 3.2 + 0.8 * (3.04 + 2.24) = 7.424
    assert priorities(at_first_round(DIAMOND, gpus=4), only_ml()) == ([7.424, 3.04, 2.24, 0.8], 7.424)


def test_computation_priority_over_a_diamond() -> None:
    # Own term 0.3 / 2 h + 0.3 / 1 h = 0.45.
    # 3: 0.45;  1, 2: 0.45 * 1.8 = 0.81;  0: 0.45 + 0.8 * 1.62 = 1.746
    assert priorities(at_first_round(DIAMOND, gpus=4), only_computation()) == ([1.746, 0.81, 0.81, 0.45], 1.746)


def test_grandchildren_count_through_their_parents_alone() -> None:
    # Chain 0 -> 1 -> 2 and a second edge 0 -> 2; own terms 10/3 each, gamma 0.5.
    # 2: 10/3;  1: 10/3 * 1.5;  0: 10/3 * (1 + 0.5 * 1.5 + 0.5 * 1) = 10/3 * 2.25
    job = J(compute=(1.0, 1.0, 1.0), edges=((0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)), urgency=10.0)
    found, _ = priorities(at_first_round(job, gpus=3), only_ml(gamma=0.5))
    assert found == [7.5, 5.0, 10.0 / 3.0]


def test_gamma_zero_leaves_the_own_term() -> None:
    assert priorities(at_first_round(DIAMOND, gpus=4), only_ml(gamma=0.0))[0] == [3.2, 2.4, 1.6, 0.8]


# --- eq. 4: P0_C = gd / (d - t) + gr / r + gw * w -----------------------------------------------
def test_deadline_and_remaining_time_of_a_new_job() -> None:
    # 360 iterations of 10 s: 1 h; deadline in 3 h: 0.3 / 3 + 0.3 / 1.
    cluster = at_first_round(J(iterations=360, deadline=3 * HOUR))
    assert base_computation_priority(cluster.state, 0, PAPER) == pytest.approx(0.4, rel=1e-12)


def test_waiting_time_raises_the_priority() -> None:
    # After 2 h of waiting: 0.3 / 1 h to the deadline + 0.3 / 1 h to run + 0.35 * 2 h waited.
    cluster = after(2 * HOUR, J(iterations=360, deadline=3 * HOUR), running=False)
    assert base_computation_priority(cluster.state, 0, PAPER) == pytest.approx(1.3, rel=1e-12)


def test_remaining_time_shrinks_as_the_job_runs() -> None:
    # After 0.75 h: 0.3 / 1.25 h + 0.3 / 0.25 h, nothing waited.
    cluster = after(0.75 * HOUR, J(iterations=360, deadline=2 * HOUR))
    assert base_computation_priority(cluster.state, 0, PAPER) == pytest.approx(0.24 + 1.2, rel=1e-12)


@pytest.mark.parametrize(
    ("deadline_hours", "letter", "default"),
    [
        (2.5, 0.6, 0.6),  # 0.5 h left: 0.3 / 0.5; the floor is just reached
        (2.25, 1.2, 0.6),  # 0.25 h left: 0.3 / 0.25; floored at 0.5 h
        (1.0, -0.3, 0.6),  # 1 h late: the letter changes sign; floored
        (2.0, 3e5, 0.6),  # now: 0.3 / 1e-6 h instead of a division by zero
    ],
)
def test_a_deadline_near_or_past(deadline_hours: float, letter: float, default: float) -> None:
    cluster = after(2 * HOUR, J(iterations=360, deadline=deadline_hours * HOUR), running=False)
    rest = 0.3 / 1.0 + 0.35 * 2.0
    assert base_computation_priority(cluster.state, 0, PAPER) == pytest.approx(letter + rest, rel=1e-9)
    assert base_computation_priority(cluster.state, 0, DEFAULT) == pytest.approx(default + rest, rel=1e-9)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"gamma_deadline": 1.0, "gamma_remaining": 0.0, "gamma_waiting": 0.0}, 1.0),
        ({"gamma_deadline": 0.0, "gamma_remaining": 1.0, "gamma_waiting": 0.0}, 0.5),
        ({"gamma_deadline": 0.0, "gamma_remaining": 0.0, "gamma_waiting": 1.0}, 4.0),
    ],
)
def test_each_weight_belongs_to_its_term(weights: dict[str, float], expected: float) -> None:
    # 4 h waited, 1 h to the deadline, 2 h to run.
    cluster = after(4 * HOUR, J(iterations=720, deadline=5 * HOUR), running=False)
    assert base_computation_priority(cluster.state, 0, MLFHParams(**weights).record()) == pytest.approx(expected)


# --- eq. 6 and the job's priority ---------------------------------------------------------------
def test_blend_of_both_over_a_diamond() -> None:
    # 0.3 * P_ML + 0.7 * P_C from the two tests above:
    # 0: 0.3 * 7.424 + 0.7 * 1.746 = 3.4494;  1: 0.912 + 0.567 = 1.479;  2: 0.672 + 0.567 = 1.239;  3: 0.24 + 0.315
    assert priorities(at_first_round(DIAMOND, gpus=4), PAPER) == ([3.4494, 1.479, 1.239, 0.555], 3.4494)


def test_the_default_divides_the_jobs_priority_by_its_gpus() -> None:
    found, highest = priorities(at_first_round(DIAMOND, gpus=4), DEFAULT)
    assert found == [3.4494, 1.479, 1.239, 0.555]  # not those of the tasks
    assert highest == 3.4494 / 4
    replicated = J(**{**DIAMOND.__dict__, "replicas": 2})
    assert priorities(at_first_round(replicated, gpus=8), DEFAULT)[1] == 3.4494 / 8


def test_the_published_weights() -> None:
    row = PAPER[0]
    names = ("alpha", "gamma", "gamma_deadline", "gamma_remaining", "gamma_waiting", "overload_threshold")
    assert [row[name] for name in names] == [0.3, 0.8, 0.3, 0.3, 0.35, 0.9]
    assert (row["lowest_priority_fraction"], row["per_gpu"], row["deadline_floor_hours"]) == (0.1, 0, 0.0)


# --- the queue ----------------------------------------------------------------------------------
def queue(cluster: SimulatedCluster, params: Array) -> list[int]:
    jobs, keys = np.zeros(len(cluster.jobs), np.int64), np.zeros(len(cluster.jobs))
    count = waiting_by_priority(cluster.state, params, np.zeros(8), jobs, keys)
    assert (np.diff(keys[:count]) >= 0).all()
    return jobs[:count].tolist()


def test_the_most_urgent_job_is_first_and_the_earlier_among_equals() -> None:
    cluster = at_first_round(*(J(urgency=urgency) for urgency in (2.0, 9.0, 2.0, 5.0)))
    assert queue(cluster, DEFAULT) == [1, 3, 0, 2]


def test_priority_per_gpu_puts_small_jobs_first() -> None:
    # A chain of two sums to more than one task, per GPU it is less: 8 * (0.5 + 0.8 * 0.5) / 2 < 8.
    chain = J(compute=(5.0, 5.0), edges=((0, 1, 1.0),), urgency=8.0)
    single = J(urgency=8.0, shares=(1.0,))
    cluster = at_first_round(chain, single, gpus=2)
    # P_C doubles with the children (x 1.8), P_ML is 0.9 of the single's: 0.7 * 0.8 * P0_C > 0.3 * 0.8.
    assert base_computation_priority(cluster.state, 0, PAPER) > 0.43
    assert queue(cluster, PAPER) == [0, 1]
    assert queue(cluster, DEFAULT) == [1, 0]


def test_a_job_that_runs_in_part_still_waits_and_one_that_runs_in_full_does_not() -> None:
    cluster = at_first_round(J(replicas=2), J(), gpus=4)
    assert cluster.place(0)
    assert cluster.place(1)
    assert queue(cluster, DEFAULT) == [0]


def test_jobs_that_have_not_arrived_are_not_in_the_queue() -> None:
    cluster = cluster_of(J(), J(arrival=1e6))
    assert cluster.advance() == ROUND
    assert queue(cluster, DEFAULT) == [0]
