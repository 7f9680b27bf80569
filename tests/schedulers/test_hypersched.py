"""HyperSched: accuracy gained before the deadline per GPU-second, by hand. Iterations of 10 s, exclusive GPUs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlfs_gym.schedulers.hypersched import WITHOUT_GAIN, HyperSched, gain_and_gpu_time, hypersched_levels
from mlfs_gym.schedulers.online_fit import new_curves
from tests.builders import J, at_first_round, next_round
from tests.schedulers.games import decide, play


def levels_of(cluster, curves) -> list[float]:  # type: ignore[no-untyped-def]
    levels = np.empty(int(cluster.jobs["replicas"].sum()))
    hypersched_levels(cluster.state, np.arange(len(cluster.jobs)), curves, levels)
    found: list[float] = levels.tolist()
    return found


def test_gain_counts_up_to_the_deadline_only() -> None:
    # 1 - accuracy = 1 / (0.1 k + 1), 100 iterations, deadline in 300 s. One of two replicas: 20 s an iteration.
    cluster = at_first_round(J(replicas=2, iterations=100, deadline=300.0), gpus=2)
    curves = new_curves(1)
    row = curves.rows[0]
    row["fitted"], row["b"], row["c"] = 1, 0.1, 1.0
    gain, gpu_time = gain_and_gpu_time(cluster.state, 0, curves, 1)
    assert (gain, gpu_time) == pytest.approx((1.0 - 1.0 / 2.5, 300.0))
    gain, gpu_time = gain_and_gpu_time(cluster.state, 0, curves, 2)
    assert (gain, gpu_time) == pytest.approx((1.0 - 1.0 / 4.0, 600.0))
    assert levels_of(cluster, curves) == pytest.approx([-0.6 / 300.0, -0.15 / 300.0])


def test_a_job_that_ends_before_its_deadline_takes_no_longer_than_it_needs() -> None:
    # No curve yet: 0.1 of accuracy an iteration. 10 iterations: 200 s with one replica, 100 s with two.
    cluster = at_first_round(J(replicas=2, iterations=10, deadline=500.0), gpus=2)
    curves = new_curves(1)
    assert gain_and_gpu_time(cluster.state, 0, curves, 1) == pytest.approx((1.0, 200.0))
    assert gain_and_gpu_time(cluster.state, 0, curves, 2) == pytest.approx((1.0, 200.0))
    assert levels_of(cluster, curves) == [-1.0 / 200.0, WITHOUT_GAIN]  # the second one gains nothing in time


def test_after_the_deadline_there_is_nothing_to_gain() -> None:
    cluster = at_first_round(J(iterations=99, deadline=60.0), J(iterations=99, arrival=100.0), gpus=1, sharing=False)
    cluster.state.clock["time"] = 60.0
    assert gain_and_gpu_time(cluster.state, 0, new_curves(2), 1) == (0.0, 0.0)


def test_a_job_past_its_deadline_makes_way() -> None:
    # One GPU. Job 0 has a deadline at 100 and runs on; job 1, twenty times as long, comes at 200 and takes over in the
    # first round after the quantum of job 0, at 240 + 300. With time enough job 0 gains more per second and stays.
    other = J(iterations=2000, arrival=200.0)
    late = play(HyperSched(), J(iterations=100, deadline=100.0), other, gpus=1)
    assert late.jobs["first_start"].tolist() == [0.0, 540.0]
    assert late.jobs["preemptions"].tolist() == [1, 0]
    in_time = play(HyperSched(), J(iterations=100, deadline=2000.0), other, gpus=1)
    assert in_time.jobs["preemptions"].sum() == 0


def test_the_tighter_deadline_gets_more_gpus() -> None:
    # Two equal jobs of 3 replicas and 100 iterations: 1000 s with all, 3000 s with one. Job 1 has time for that,
    # job 0 needs two replicas to be done in 1500 s, and gains by both of them, by a third one no more.
    jobs = (J(replicas=3, iterations=100, deadline=1500.0), J(replicas=3, iterations=100, deadline=3000.0))
    cluster = at_first_round(*jobs, gpus=3, sharing=False)
    assert decide(HyperSched(), cluster) == [2, 1]


@pytest.mark.parametrize("seed", range(12))
def test_no_other_allocation_gains_more_accuracy_by_the_deadlines(seed: int) -> None:
    # With deadlines too near for any job to end, all replicas are busy until one common deadline, so that gain per
    # GPU-second is gain: brute force over all allocations.
    rng = np.random.default_rng(seed)
    replicas = rng.integers(1, 5, 3).tolist()
    cluster = at_first_round(*(J(replicas=r, iterations=10**6, deadline=1000.0) for r in replicas), gpus=6)
    curves = new_curves(3)
    for row in curves.rows:
        row["fitted"], row["b"], row["c"] = 1, rng.uniform(0.005, 0.1), rng.uniform(1.0, 3.0)
    levels = levels_of(cluster, curves)
    owner = np.repeat(np.arange(3), replicas)
    best = np.argsort(levels, kind="stable")[:6]
    found = np.bincount(owner[best], minlength=3).tolist()

    def gain(shares: tuple[int, ...]) -> float:
        return sum(gain_and_gpu_time(cluster.state, j, curves, w)[0] for j, w in enumerate(shares) if w)

    feasible = (s for s in itertools.product(*(range(r + 1) for r in replicas)) if sum(s) <= 6)
    assert found == list(max(feasible, key=gain))


def test_it_learns_from_accuracy() -> None:
    # Job 0 has learned most of what there is by 600 s, job 1 arrives with everything to gain: it takes the one GPU,
    # though its deadline is farther away and job 0 came first.
    scheduler = HyperSched()
    jobs = (J(iterations=200, scale=2.0, power=2.0, deadline=5000.0), J(iterations=200, arrival=600.0, deadline=9000.0))
    cluster = at_first_round(*jobs, gpus=1, sharing=False)
    assert decide(scheduler, cluster) == [1, 0]
    for _ in range(9):
        assert next_round(cluster, 60.0) < 600.0
        assert decide(scheduler, cluster) == [1, 0]
    assert next_round(cluster, 60.0) == 600.0
    assert decide(scheduler, cluster) == [0, 1]
