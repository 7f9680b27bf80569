"""SLAQ: the allocation with the largest predicted fall of normalised loss, by brute force; what it knows, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlfs_gym.schedulers.online_fit import new_curves
from mlfs_gym.schedulers.room_for_shares import new_plan
from mlfs_gym.schedulers.shares import grant
from mlfs_gym.schedulers.slaq import SLAQ, normalised_fall, slaq_levels
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round
from tests.schedulers.games import play

EPOCH = 300.0


def known(curves, job: int, b: float, c: float, d: float = 0.0, steepest: float = 1.0) -> None:  # type: ignore[no-untyped-def]
    row = curves.rows[job]
    row["fitted"], row["a"], row["b"], row["c"], row["d"], row["steepest"] = 1, 0.0, b, c, d, steepest


def granted(cluster: SimulatedCluster, curves) -> list[int]:  # type: ignore[no-untyped-def]
    jobs = np.arange(len(cluster.jobs))
    levels = np.empty(int(cluster.jobs["replicas"].sum()))
    slaq_levels(cluster.state, jobs, curves, EPOCH, levels)
    plan = new_plan(len(jobs))
    grant(cluster.state, jobs, levels, True, plan)
    found: list[int] = plan.target.tolist()
    return found


def test_normalised_fall_by_hand() -> None:
    # Two of two replicas: 300 s are 30 iterations. Loss 1 / (0.1 k + 1) falls from 1 to 1/4; the largest step was 0.1.
    cluster = at_first_round(J(replicas=2, iterations=100), gpus=2, sharing=False)
    curves = new_curves(1)
    known(curves, 0, b=0.1, c=1.0, steepest=0.1)
    assert normalised_fall(cluster.state, 0, curves, 2, EPOCH) == pytest.approx(7.5)
    assert normalised_fall(cluster.state, 0, curves, 1, EPOCH) == pytest.approx(10.0 * (1.0 - 1.0 / 2.5))


def test_no_more_than_the_iterations_that_remain_count() -> None:
    cluster = at_first_round(J(iterations=10), sharing=False)
    curves = new_curves(1)
    assert normalised_fall(cluster.state, 0, curves, 1, EPOCH) == 10.0  # no curve: one largest step in each iteration
    known(curves, 0, b=0.1, c=1.0)
    assert normalised_fall(cluster.state, 0, curves, 1, EPOCH) == pytest.approx(0.5)


def test_loss_in_other_units_makes_no_difference() -> None:
    cluster = at_first_round(J(iterations=99), J(iterations=99), sharing=False)
    curves = new_curves(2)
    known(curves, 0, b=0.1, c=1.0, steepest=0.2)
    known(curves, 1, b=0.01, c=0.1, steepest=2.0)
    one, other = (normalised_fall(cluster.state, job, curves, 1, EPOCH) for job in range(2))
    assert one == pytest.approx(other)


@pytest.mark.parametrize("seed", range(12))
def test_no_other_allocation_lowers_the_loss_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    replicas = rng.integers(1, 5, 3).tolist()
    cluster = at_first_round(*(J(replicas=r, iterations=999) for r in replicas), gpus=6, sharing=False)
    curves = new_curves(3)
    for job in range(3):
        known(curves, job, rng.uniform(0.01, 0.5), rng.uniform(0.2, 2.0), steepest=rng.uniform(0.01, 0.5))

    def fall(shares: tuple[int, ...]) -> float:
        return sum(normalised_fall(cluster.state, job, curves, w, EPOCH) for job, w in enumerate(shares))

    feasible = (s for s in itertools.product(*(range(1, r + 1) for r in replicas)) if sum(s) <= 6)
    assert granted(cluster, curves) == list(max(feasible, key=fall))


def test_every_job_starts_from_one_unit() -> None:
    # Job 0 would gain more from its second replica than job 1 from its first.
    cluster = at_first_round(J(replicas=3, iterations=999), J(iterations=999), gpus=3, sharing=False)
    curves = new_curves(2)
    known(curves, 0, b=0.5, c=0.5)
    known(curves, 1, b=1e-6, c=1.0)
    assert granted(cluster, curves) == [2, 1]


def test_gains_are_per_gpu() -> None:
    # One replica each leaves 2 of 5 GPUs. Either second one fits; per GPU that of job 1 gains twice as much.
    wide = J(replicas=2, compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=999)
    cluster = at_first_round(wide, J(replicas=2, iterations=999), gpus=5, sharing=False)
    curves = new_curves(2)
    for job in range(2):
        known(curves, job, b=0.1, c=1.0)
    levels = np.empty(4)
    slaq_levels(cluster.state, np.arange(2), curves, EPOCH, levels)
    assert levels[:2] == pytest.approx(levels[2:] / 2.0)
    assert granted(cluster, curves) == [1, 2]


def test_a_job_that_has_learned_makes_way_for_a_new_one() -> None:
    # One GPU. By 1500 s job 0 has done 150 of 300 iterations, and what it still gains in 300 s is a small part of its
    # first steps. Job 1, longer and later, takes the GPU: neither first come nor shortest first would do that.
    jobs = (J(iterations=300, scale=5.0), J(iterations=400, arrival=1500.0, scale=5.0))
    cluster = play(SLAQ(), *jobs, gpus=1)
    assert cluster.jobs["first_start"].tolist() == [0.0, 1500.0]
    assert cluster.jobs["preemptions"][0] >= 1


def test_a_job_that_still_learns_stays() -> None:
    # The same, but job 1 is as slow to gain as it gets: job 0 falls in proportion, with a curve as long as its run.
    slow = J(iterations=4, compute=(600.0,), arrival=1500.0)
    cluster = play(SLAQ(), J(iterations=300, scale=1000.0), slow, gpus=1)
    assert cluster.jobs["finish"][0] == 3000.0
    assert cluster.jobs["first_start"][1] == 3000.0
