"""SRSF on instances solved by hand. Iterations of 10 s, exclusive GPUs."""

from __future__ import annotations

from mlfs_gym.schedulers import make_scheduler
from mlfs_gym.schedulers.srsf import SRSF
from mlfs_gym.sim.run import run
from tests.builders import J, at_first_round, cluster_of, next_round, place


def test_goes_by_remaining_time_times_gpus_where_srtf_goes_by_time() -> None:
    # Four GPUs. Job 0: 60 s on four of them, 240 GPU-seconds. Jobs 1 to 4: 200 s on one, 200 GPU-seconds each.
    jobs = (J(replicas=4, iterations=6), *(J(iterations=20) for _ in range(4)))
    found = {}
    for name in ("srsf", "srtf"):
        cluster = cluster_of(*jobs, gpus=4, sharing=False)
        run(cluster, make_scheduler(name))
        found[name] = cluster.jobs["finish"].tolist()
    assert found["srsf"] == [300.0, 200.0, 200.0, 200.0, 200.0]  # the next round after 200 s: 240
    assert found["srtf"] == [60.0, 260.0, 260.0, 260.0, 260.0]


def test_remaining_service_falls_with_progress_and_counts_the_restart() -> None:
    cluster = at_first_round(J(replicas=2, iterations=20), J(iterations=5), gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 0, 1)
    next_round(cluster, 60.0)
    cluster.observe()
    assert SRSF().level(cluster.state, cluster.state.active[:2]).tolist() == [2 * 140.0, 50.0]
    cluster.evict(0)
    assert SRSF().level(cluster.state, cluster.state.active[:2]).tolist() == [2 * (140.0 + 30.0), 50.0]


def test_preempts_for_less_remaining_service_after_a_quantum() -> None:
    # 360: job 0 has 640 s to go, job 1 (100 s) takes its place until 460; then 7 + 640 s from 480.
    cluster = cluster_of(J(iterations=100), J(iterations=10, arrival=60.0), sharing=False)
    run(cluster, SRSF())
    assert cluster.jobs["finish"].tolist() == [1127.0, 460.0]


def test_does_not_preempt_for_more() -> None:
    cluster = cluster_of(J(iterations=100), J(iterations=70, arrival=60.0), sharing=False)
    run(cluster, SRSF())
    assert cluster.jobs["preemptions"].sum() == 0
