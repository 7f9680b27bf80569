"""Gandiva: slices, packing, unpacking and defragmentation, by hand. Jobs run iterations of 10 s."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.schedulers.gandiva.migration import measured_slowdown
from mlfs_gym.schedulers.gandiva.scheduler import AFTER_ITS_SLICE, IN_ITS_SLICE, SUSPENDED, Gandiva, take_turns
from tests.builders import J, at_first_round, next_round, place
from tests.schedulers.games import decide, play


def gpus_of(cluster, *tasks: int) -> list[int]:  # type: ignore[no-untyped-def]
    found: list[int] = cluster.tasks["gpu"][list(tasks)].tolist()
    return found


# --- time slices --------------------------------------------------------------------------------
def test_three_jobs_take_turns_on_one_gpu() -> None:
    # 450 s each; rounds every 300 s. 0-300: 0. 300-600: 1. 600-900: 2. 900: job 0, suspended first, is back at 907 and
    # ends at 1057. Round 1080: job 1, 1087 to 1237. 1260: job 2, 1267 to 1417.
    cluster = play(Gandiva(), *(J(iterations=45) for _ in range(3)), gpus=1)
    assert cluster.jobs["first_start"].tolist() == [0.0, 300.0, 600.0]
    assert cluster.jobs["finish"].tolist() == [1057.0, 1237.0, 1417.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 1, 1]


def test_whose_turn_it_is() -> None:
    cluster = at_first_round(J(iterations=99), J(iterations=99), J(), J(), gpus=2, sharing=False)
    place(cluster, 0, 0)
    next_round(cluster, 300.0)
    place(cluster, 1, 1)
    cluster.apply()
    turns, since = np.empty(4, np.int64), np.empty(4)
    take_turns(cluster.state, np.arange(4), 300.0, turns, since)
    assert turns.tolist() == [AFTER_ITS_SLICE, IN_ITS_SLICE, SUSPENDED, SUSPENDED]


def test_nobody_is_suspended_for_nobody() -> None:
    assert play(Gandiva(), J(iterations=99), J(iterations=99), gpus=2).jobs["preemptions"].sum() == 0


def test_a_job_displaces_its_own_size() -> None:
    # Two servers of 2 GPUs: job 0 with 2 GPUs on one, jobs 1 and 2 on the other. All have had their slice when job 3,
    # with one GPU, arrives: it takes the place of one of the small ones.
    scheduler = Gandiva()
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=99)
    jobs = (wide, J(iterations=99), J(iterations=99), J(iterations=99, arrival=400.0))
    cluster = at_first_round(*jobs, servers=2, gpus=2, sharing=False)
    assert decide(scheduler, cluster) == [1, 1, 1, 0]
    assert next_round(cluster) == 420.0
    assert decide(scheduler, cluster) in ([1, 0, 1, 1], [1, 1, 0, 1])


def test_a_job_grows_only_on_gpus_that_nobody_waits_for() -> None:
    # Job 0 runs one of two replicas beside job 1. When job 1 is gone and job 2 comes, the GPU is job 2's;
    # when that is gone too, job 0 grows.
    scheduler = Gandiva()
    jobs = (J(replicas=2, iterations=99), J(iterations=6), J(iterations=6, arrival=60.0))
    cluster = at_first_round(*jobs, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    assert next_round(cluster) == 60.0
    assert decide(scheduler, cluster) == [1, 0, 1]
    assert next_round(cluster) == 120.0
    assert decide(scheduler, cluster) == [2, 0, 0]


# --- packing ------------------------------------------------------------------------------------
def test_small_jobs_are_packed_where_gpus_are_shared() -> None:
    jobs = [J(iterations=60, gpu=500) for _ in range(2)]
    assert play(Gandiva(), *jobs, gpus=1, sharing=True).jobs["finish"].tolist() == [600.0, 600.0]
    exclusive = play(Gandiva(), *jobs, gpus=1)
    assert exclusive.jobs["preemptions"].sum() > 0


def packed(limit: float, *, second: int = 1000, gpus: int = 2, **options: float):  # type: ignore[no-untyped-def]
    """Jobs of 600 and `second` milli-GPU on GPU 0 of two, running for a minute."""
    cluster = at_first_round(J(iterations=99, gpu=600), J(iterations=99, gpu=second), gpus=gpus)
    place(cluster, 0, 0)
    place(cluster, 1, 0)
    next_round(cluster, 60.0)
    decide(Gandiva({"slowdown_limit": limit, **options}), cluster)
    return cluster


def test_jobs_that_slow_each_other_down_are_unpacked() -> None:
    # Together they are slowed down by 1.6.
    cluster = packed(1.5)
    assert sorted(gpus_of(cluster, 0, 1)) == [0, 1]
    assert cluster.jobs["migrations"].tolist() == [1, 0]


def test_what_decides_is_the_measured_slowdown() -> None:
    cluster = packed(1.7)
    assert measured_slowdown(cluster.state, 0) == pytest.approx(1.6)
    assert gpus_of(cluster, 0, 1) == [0, 0]
    assert gpus_of(packed(1.01, second=400), 0, 1) == [0, 0]  # together they fill the GPU and no more


def test_without_another_gpu_they_stay_packed() -> None:
    assert gpus_of(packed(1.1, gpus=1), 0, 1) == [0, 0]


# --- defragmentation ----------------------------------------------------------------------------
def test_a_job_migrates_to_make_room_for_a_gang() -> None:
    # Two servers of 2 GPUs, a single job on each. The gang of 2 fits when one of them moves: nobody is suspended.
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), arrival=30.0)
    cluster = at_first_round(J(iterations=99), J(iterations=99), wide, servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    assert next_round(cluster) == 60.0
    assert decide(Gandiva(), cluster) == [1, 1, 1]
    assert cluster.jobs["migrations"].tolist() == [1, 0, 0]
    assert cluster.jobs["preemptions"].sum() == 0
    assert gpus_of(cluster, 0, 1, 2, 3) == [3, 2, 0, 1]


def test_nothing_migrates_when_the_gang_would_not_fit_even_so() -> None:
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), arrival=30.0)
    jobs = [J(iterations=99) for _ in range(3)]
    cluster = at_first_round(*jobs, wide, servers=2, gpus=2, sharing=False)
    for job, gpu in enumerate((0, 1, 2)):
        place(cluster, job, gpu)
    assert next_round(cluster) == 60.0
    assert decide(Gandiva(), cluster) == [1, 1, 1, 0]
    assert cluster.jobs["migrations"].sum() == 0


def test_a_task_that_has_just_moved_stays() -> None:
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), arrival=30.0)
    cluster = at_first_round(J(iterations=99), J(iterations=99), wide, servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    assert next_round(cluster) == 60.0
    cluster.tasks["moved_at"][:2] = 0.0
    assert decide(Gandiva(), cluster) == [1, 1, 0]
