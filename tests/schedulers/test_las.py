"""LAS on instances solved by hand. Iterations of 10 s, exclusive GPUs, quantum 300 s."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import FINISHED
from mlfs_gym.schedulers.las import LAS
from mlfs_gym.sim.run import run
from tests.builders import J, at_first_round, cluster_of, next_round


def test_turns_by_attained_service_whatever_is_left_to_do() -> None:
    # Job 0 (500 s) runs from 0; job 1 (5000 s) comes at 60. At 360 job 0 has had 360 GPU-seconds and 140 s to go: a
    # scheduler that knew would let it end. At 660 job 1 has had 300, less than 360. At 960 it has had 600: job 0
    # restarts (7 s) and ends at 1107. Job 1 has 4400 s left and restarts at 1140.
    cluster = cluster_of(J(iterations=50), J(iterations=500, arrival=60.0), sharing=False)
    run(cluster, LAS())
    assert cluster.jobs["finish"].tolist() == [1107.0, 5547.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 1]


def test_service_is_gpus_times_time() -> None:
    # Both have run from 0. At 300, job 0 has had 600 GPU-seconds on two GPUs, job 1 300 on one: job 2, which wants one,
    # takes the place of job 0, though job 1 holds one GPU too and came later.
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=900)
    cluster = at_first_round(wide, J(iterations=900), J(iterations=900), servers=1, gpus=3, sharing=False)
    scheduler = LAS()
    scheduler.schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [1, 1, 0]
    assert next_round(cluster, 300.0) == 300.0
    cluster.observe()
    assert scheduler.level(cluster.state, cluster.state.active[:3]).tolist() == [600.0, 300.0, 0.0]
    scheduler.schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [0, 1, 1]


def test_equal_jobs_share_in_turns() -> None:
    cluster = cluster_of(*(J(iterations=120) for _ in range(3)), sharing=False)
    run(cluster, LAS())
    assert (cluster.jobs["status"] == FINISHED).all()
    first, last = cluster.jobs["finish"].min(), cluster.jobs["finish"].max()
    assert last - first < 1200.0  # first come first served: 2400 s
    assert cluster.jobs["first_start"].tolist() == [0.0, 300.0, 600.0]
