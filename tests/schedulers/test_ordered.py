"""FIFO, SJF and SRTF on instances solved by hand. Jobs run iterations of 10 s; rounds every 60 s; GPUs exclusive."""

from __future__ import annotations

from typing import Any

from mlfs_gym.cluster.arrays import FINISHED
from mlfs_gym.schedulers import make_scheduler
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads.toy import (
    TOY_CLUSTER,
    TOY_FIFO_JCT_SECONDS,
    TOY_SHORTEST_FIRST_JCT_SECONDS,
    toy,
)
from tests.builders import J, cluster_of


def wide(iterations: int, arrival: float = 0.0) -> J:
    """A job of two partitions of 5 s one after the other."""
    return J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=iterations, arrival=arrival)


def play(name: str, *jobs: J, gpus: int, **options: Any) -> SimulatedCluster:
    cluster = cluster_of(*jobs, gpus=gpus, **{"sharing": False, **options})
    run(cluster, make_scheduler(name))
    assert (cluster.jobs["status"] == FINISHED).all()
    return cluster


def finishes(name: str, *jobs: J, gpus: int, **options: Any) -> list[float]:
    found: list[float] = play(name, *jobs, gpus=gpus, **options).jobs["finish"].tolist()
    return found


# --- FIFO ---------------------------------------------------------------------------------------
def test_fifo_head_of_line_blocks() -> None:
    # Job 0 holds one GPU to 120. Job 1 needs both: it waits, and job 2 behind it too, though a GPU is free.
    # 120-180: job 1. 180: job 2.
    assert finishes("fifo", J(iterations=12), wide(6), J(iterations=3), gpus=2) == [120.0, 180.0, 210.0]


def test_fifo_goes_by_arrival_not_by_length() -> None:
    # One GPU. Job 0 to 600; then 1 (300 s) before 2 (60 s).
    jobs = (J(iterations=60), J(iterations=30, arrival=10.0), J(iterations=6, arrival=20.0))
    assert finishes("fifo", *jobs, gpus=1) == [600.0, 900.0, 960.0]


def test_fifo_starts_replicas_that_fit_and_blocks_behind_the_rest() -> None:
    # Job 0 holds a GPU of two to 120. Job 1 wants two replicas: one runs from 0, at 20 s per iteration: 6 of 18
    # by 120, then both, 10 s each: 12 more. Job 2 waits behind it to 240.
    jobs = (J(iterations=12), J(replicas=2, iterations=18), J(iterations=6))
    assert finishes("fifo", *jobs, gpus=2) == [120.0, 240.0, 300.0]


def test_fifo_never_preempts() -> None:
    cluster = play("fifo", J(iterations=60), J(iterations=1, arrival=30.0), gpus=1)
    assert cluster.jobs["preemptions"].tolist() == [0, 0]


# --- SJF ----------------------------------------------------------------------------------------
def test_sjf_takes_the_shortest_waiting_job_and_does_not_preempt() -> None:
    # One GPU, job 0 (600 s) alone at 0 and not preempted; then 3 (60 s), 2 (120 s), 1 (300 s).
    jobs = (
        J(iterations=60), J(iterations=30, arrival=10.0), J(iterations=12, arrival=20.0), J(iterations=6, arrival=30.0)
    )  # fmt: skip
    cluster = play("sjf", *jobs, gpus=1)
    assert cluster.jobs["finish"].tolist() == [600.0, 1080.0, 780.0, 660.0]
    assert cluster.jobs["preemptions"].sum() == 0


def test_sjf_blocks_at_the_shortest_that_does_not_fit() -> None:
    # 0 to 120 on one GPU. The shortest of the others (job 2, 60 s) needs two GPUs and blocks job 1 (90 s).
    assert finishes("sjf", J(iterations=12), J(iterations=9, arrival=5.0), wide(6, arrival=6.0), gpus=2) == [
        120.0, 270.0, 180.0,
    ]  # fmt: skip


def test_sjf_goes_by_run_time_not_by_gpu_time() -> None:
    # Job 1: 60 s on 2 GPUs (120 GPU-seconds); job 2: 90 s on one.
    assert finishes("sjf", J(iterations=60), wide(6, arrival=5.0), J(iterations=9, arrival=5.0), gpus=2) == [
        600.0, 660.0, 750.0,
    ]  # fmt: skip


def test_equally_long_jobs_go_by_arrival() -> None:
    jobs = [J(iterations=6, arrival=float(second)) for second in range(4)]
    assert finishes("sjf", J(iterations=6), *jobs[1:], gpus=1) == [60.0, 120.0, 180.0, 240.0]


# --- SRTF ---------------------------------------------------------------------------------------
def test_srtf_preempts_and_resumes_at_a_cost() -> None:
    # One GPU. Job 0: 200 s from 0. At 60 job 1 (60 s) has less than the 140 s left: preempted.
    # 60-120: job 1. From 120: job 0 loads 3e9 bytes (3 s), restarts (7 s), runs 140 s: 270.
    jobs = (J(iterations=20, checkpoint=3e9), J(iterations=6, arrival=60.0))
    cluster = play("srtf", *jobs, gpus=1)
    assert cluster.jobs["finish"].tolist() == [270.0, 120.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 0]
    assert cluster.jobs["waiting_time"].tolist() == [60.0, 0.0]
    assert cluster.jobs["attained_service"].tolist() == [210.0, 60.0]
    assert cluster.jobs["bytes_sent"].tolist() == [3e9, 0.0]


def test_srtf_leaves_the_job_with_less_to_do_alone() -> None:
    # At 60 job 0 has 40 s left, job 1 takes 50 s.
    cluster = play("srtf", J(iterations=10), J(iterations=5, arrival=60.0), gpus=1)
    assert cluster.jobs["finish"].tolist() == [100.0, 170.0]
    assert cluster.jobs["preemptions"].sum() == 0


def test_srtf_counts_the_restart_of_a_preempted_job() -> None:
    # Job 0 (200 s) runs to 60 and is preempted for job 1 (60 s). At 120 it has 140 + 7 s to go:
    # job 2 with 145 s, arriving at 120, goes first.
    jobs = (J(iterations=20), J(iterations=6, arrival=60.0), J(iterations=29, compute=(5.0,), arrival=120.0))
    assert finishes("srtf", *jobs, gpus=1) == [300.0 + 7.0 + 140.0, 120.0, 265.0]


def test_srtf_skips_what_does_not_fit_the_cluster_and_admits_what_does() -> None:
    # Two GPUs. Job 0 on one to 60. Job 1 (100 s, two GPUs) exceeds the total beside it; job 2 (120 s) is admitted.
    # 60: job 1 (100 s) against the rest of job 2 (60 s): 2 first, then 1 does not fit. 120: job 1.
    assert finishes("srtf", J(iterations=6), wide(10), J(iterations=12), gpus=2) == [60.0, 220.0, 120.0]


def test_srtf_preempts_a_wide_job_for_narrow_ones() -> None:
    # Job 0: 200 s on two GPUs, from 0. At 60 jobs 1 and 2 (60 s each) come: 140 s are left. At 120 it goes on:
    # 30 s restart (2 GPUs) + 140 s.
    jobs = (wide(20), J(iterations=6, arrival=60.0), J(iterations=6, arrival=60.0))
    assert finishes("srtf", *jobs, gpus=2) == [290.0, 120.0, 120.0]


# --- the toy workload ---------------------------------------------------------------------------
def toy_average(name: str) -> float:
    cluster = SimulatedCluster(toy(), TOY_CLUSTER, {"sharing": False, "fluctuation": 0.0})
    run(cluster, make_scheduler(name))
    return float((cluster.jobs["finish"] - cluster.jobs["arrival"]).mean())


def test_toy_workload_as_solved_in_its_docstring() -> None:
    assert toy_average("fifo") == TOY_FIFO_JCT_SECONDS
    assert toy_average("sjf") == TOY_SHORTEST_FIRST_JCT_SECONDS
    assert toy_average("srtf") == TOY_SHORTEST_FIRST_JCT_SECONDS
