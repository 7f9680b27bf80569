"""Optimus: remaining iterations by search, marginal gains by hand and by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.iteration_estimate import expected_iteration_time, measured_overhead
from mlfs_gym.schedulers.online_fit import new_curves, predicted_fall
from mlfs_gym.schedulers.optimus import Optimus, optimus_levels, remaining_iterations
from tests.builders import J, at_first_round, place
from tests.schedulers.games import decide, play

THRESHOLD = 0.001


def test_without_a_curve_all_iterations_remain() -> None:
    cluster = at_first_round(J(iterations=77))
    assert remaining_iterations(cluster.state, 0, new_curves(1), THRESHOLD) == 77.0


@pytest.mark.parametrize(("b", "progress"), [(0.1, 0.0), (0.02, 0.0), (0.5, 3.0), (1e-4, 0.0), (2.0, 60.0)])
def test_remaining_iterations_end_where_the_loss_falls_too_little(b: float, progress: float) -> None:
    cluster = at_first_round(J(iterations=200, loss_start=2.0))
    cluster.jobs["progress"] = progress
    curves = new_curves(1)
    row = curves.rows[0]
    row["fitted"], row["b"], row["c"] = 1, b, 0.5
    falls = [predicted_fall(curves, 0, progress + k, progress + k + 1.0) for k in range(int(200 - progress) + 1)]
    slow = [k for k, fall in enumerate(falls) if fall < THRESHOLD * 2.0]
    expected = slow[0] if slow and slow[0] > 0 else 200.0 - progress
    found = remaining_iterations(cluster.state, 0, curves, THRESHOLD)
    assert found == pytest.approx(min(expected, 200.0 - progress), abs=1.0)


def test_levels_by_hand() -> None:
    # 12 iterations of 10 s with 3 of 3 replicas: 360, 180, 120 s remain with 1, 2, 3. Two GPUs each.
    job = J(replicas=3, compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=12)
    cluster = at_first_round(job, gpus=6)
    levels = np.empty(3)
    optimus_levels(cluster.state, np.arange(1), new_curves(1), THRESHOLD, levels)
    assert levels.tolist() == pytest.approx([720.0, -90.0, -30.0])


@pytest.mark.parametrize("seed", range(12))
def test_no_other_allocation_ends_the_jobs_sooner(seed: int) -> None:
    rng = np.random.default_rng(seed)
    replicas = rng.integers(1, 5, 3).tolist()
    jobs = [J(replicas=r, iterations=int(rng.integers(20, 300))) for r in replicas]
    cluster = at_first_round(*jobs, gpus=6, sharing=False)

    def total(shares: tuple[int, ...]) -> float:
        return sum(j.iterations * 10.0 * j.replicas / w for j, w in zip(jobs, shares, strict=True))

    feasible = (s for s in itertools.product(*(range(1, r + 1) for r in replicas)) if sum(s) <= 6)
    assert decide(Optimus(), cluster) == list(min(feasible, key=total))


def test_every_job_gets_a_worker_before_any_gets_two() -> None:
    cluster = at_first_round(J(replicas=3, iterations=10_000), J(iterations=1), J(iterations=1), gpus=3, sharing=False)
    assert decide(Optimus(), cluster) == [1, 1, 1]


def test_too_many_jobs_go_by_remaining_gpu_time() -> None:
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=8)  # 80 s, 160 GPU-seconds
    cluster = at_first_round(J(iterations=30), wide, J(iterations=15), gpus=2, sharing=False)
    # 300, 160 and 150 GPU-seconds: job 2 first, job 1 does not fit beside it, job 0 does.
    assert decide(Optimus(), cluster) == [1, 0, 1]


def test_measured_communication_lowers_the_gain_of_workers() -> None:
    # Two replicas on two servers exchange 1e10 bytes at 1e9 bytes/s: 10 s in a ring. Alone a replica takes 20 s.
    job = J(replicas=4, gradient=1e10, iterations=100)
    cluster = at_first_round(job, servers=2, gpus=2, sharing=False)
    assert expected_iteration_time(cluster.state, 0, 2) == 20.0
    place(cluster, 0, 0)
    place(cluster, 0, 2)
    cluster.apply()
    assert measured_overhead(cluster.state, 0) == pytest.approx(10.0)
    assert expected_iteration_time(cluster.state, 0, 2) == pytest.approx(30.0)
    assert expected_iteration_time(cluster.state, 0, 4) == pytest.approx(20.0)


def test_nobody_is_preempted_within_an_interval() -> None:
    # One GPU. Job 1 is shorter, but job 0 keeps the GPU for 600 s; by then 100 s are left of it.
    cluster = play(Optimus(), J(iterations=70), J(iterations=20, arrival=60.0), gpus=1)
    assert cluster.jobs["finish"].tolist() == [700.0, 920.0]
    # With 3000 s the longer one is preempted in the round 600 s after that at 60.
    cluster = play(Optimus(), J(iterations=300), J(iterations=20, arrival=60.0), gpus=1)
    assert cluster.jobs["first_start"].tolist() == [0.0, 660.0]
    assert cluster.jobs["finish"][1] == 860.0


def test_settings_are_validated() -> None:
    with pytest.raises(SettingsError, match="field 'quantum_seconds': found 0"):
        Optimus({"quantum_seconds": 0})
