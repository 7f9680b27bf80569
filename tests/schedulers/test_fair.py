"""Fair share: max-min by brute force, dominant resources and time slices by hand. Iterations of 10 s."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlfs_gym.schedulers.fair import Fair, average_shares, dominant_share, fair_levels
from tests.builders import CPU, J, at_first_round, next_round
from tests.schedulers.games import decide, play


def max_min(replicas: list[int], gpus: int) -> list[int]:
    """The allocation whose sorted shares are the largest in lexicographic order; among equals the lower jobs more."""
    feasible = [
        shares
        for shares in itertools.product(*(range(most + 1) for most in replicas))
        if sum(shares) <= gpus and (sum(shares) == min(gpus, sum(replicas)))
    ]
    return list(max(feasible, key=lambda shares: (sorted(shares), shares)))


@pytest.mark.parametrize("seed", range(12))
def test_shares_are_max_min_fair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    replicas = rng.integers(1, 5, rng.integers(2, 5)).tolist()
    gpus = int(rng.integers(4, 9))
    cluster = at_first_round(*(J(replicas=r) for r in replicas), gpus=gpus, sharing=False)
    assert decide(Fair(), cluster) == max_min(replicas, gpus)


def test_wide_replicas_count_by_their_gpus() -> None:
    # 8 GPUs. Job 0: replicas of 2 GPUs, job 1: of 1. Shares before each: 0, 0; 1 (job 1), 2, 2; 3 (job 1); 4, 4.
    wide = J(replicas=4, compute=(5.0, 5.0))
    cluster = at_first_round(wide, J(replicas=8), gpus=8, sharing=False)
    assert decide(Fair(), cluster) == [2, 4]


def test_the_dominant_resource_counts() -> None:
    # Shared GPUs. Job 0: 100 of 4000 milli-GPU, but a quarter of the CPU; job 1: 400 of 4000 and no CPU.
    jobs = (J(replicas=4, gpu=100, cpu=CPU // 4), J(replicas=4, gpu=400))
    cluster = at_first_round(*jobs, gpus=4, sharing=True)
    assert dominant_share(cluster.state, 0) == 0.25
    assert dominant_share(cluster.state, 1) == 0.1
    levels = np.empty(8)
    fair_levels(cluster.state, np.array([0, 1]), levels)
    assert levels.tolist() == pytest.approx([0.0, 0.25, 0.5, 0.75, 0.0, 0.1, 0.2, 0.3])


def test_memory_may_dominate_too() -> None:
    cluster = at_first_round(J(memory=50 * 1024, gpu=200), gpus=4, sharing=True)
    assert dominant_share(cluster.state, 0) == 0.5


def test_two_jobs_take_turns_on_one_gpu() -> None:
    # Two jobs of 600 s. 0-300: job 0. 300-600: job 1, whose average is 0. At 600 both average one half: job 0,
    # restarted until 607. At 900 it has had 293 s of its quantum; it ends at 907. Round 960: job 1, 967 to 1267.
    cluster = play(Fair(), J(iterations=60), J(iterations=60), gpus=1)
    assert cluster.jobs["finish"].tolist() == [907.0, 1267.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 1]


def test_average_share_since_arrival() -> None:
    # At 300 job 0 has held one of two GPUs all the time, job 1 half of its time in the system, job 2 nothing.
    cluster = at_first_round(J(iterations=99), J(arrival=0.0, iterations=99), J(arrival=0.0), gpus=2, sharing=False)
    assert cluster.place(0, [0])
    next_round(cluster, wake_every=120.0)
    assert cluster.place(1, [1])
    next_round(cluster, wake_every=120.0)
    cluster.observe()
    average = np.empty(3)
    average_shares(cluster.state, np.arange(3), average)
    assert average.tolist() == pytest.approx([0.5, 0.25, 0.0])


def test_a_job_shrinks_when_another_comes_but_not_before_its_quantum() -> None:
    scheduler = Fair()
    cluster = at_first_round(J(replicas=4, iterations=999), J(replicas=4, arrival=10.0), gpus=4, sharing=False)
    assert decide(scheduler, cluster) == [4, 0]
    assert next_round(cluster, 300.0) == 60.0
    assert decide(scheduler, cluster) == [4, 0]
    assert next_round(cluster, 240.0) == 300.0
    assert decide(scheduler, cluster) == [2, 2]
    assert cluster.jobs["preemptions"].tolist() == [1, 0]


def test_nobody_is_preempted_when_nobody_needs_the_room() -> None:
    cluster = play(Fair(), J(replicas=2, iterations=99), J(iterations=99), J(iterations=99), gpus=4)
    assert cluster.jobs["preemptions"].sum() == 0
