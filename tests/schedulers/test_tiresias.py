"""Tiresias on instances solved by hand: queues by attained service, FIFO within, who is consolidated."""

from __future__ import annotations

from typing import Any

import pytest

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers import Scheduler
from mlfs_gym.schedulers.las import LAS
from mlfs_gym.schedulers.skew import needs_consolidation
from mlfs_gym.schedulers.tiresias import Tiresias
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import NIC, J, at_first_round, cluster_of, place

SIX_MINUTES = {"queue_gpu_hours": (0.1,)}  # 360 GPU-seconds


def play(scheduler: Scheduler, *jobs: J, gpus: int = 1) -> SimulatedCluster:
    cluster = cluster_of(*jobs, gpus=gpus, sharing=False)
    run(cluster, scheduler)
    return cluster


# --- queues -------------------------------------------------------------------------------------
def test_the_number_of_the_queue_is_that_of_the_thresholds_reached() -> None:
    cluster = at_first_round(*(J() for _ in range(6)))
    cluster.jobs["attained_service"] = [0.0, 14_399.0, 14_400.0, 143_999.0, 144_000.0, 1e9]  # s, 4 and 40 GPU-hours
    found = Tiresias().queue_number(cluster.state, cluster.state.active[:6])
    assert found.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_new_job_preempts_one_that_has_fallen_to_the_next_queue_and_then_runs_to_its_end() -> None:
    # At 360 job 0 has had 360 GPU-seconds. At 960 job 1 has had 600 and falls too: within a queue nobody
    # preempts, so it ends at 2360. Job 0 goes on at 2400: 7 + 1640 s. LAS would take turns.
    jobs = (J(iterations=200), J(iterations=200, arrival=60.0))
    cluster = play(Tiresias(SIX_MINUTES), *jobs)
    assert cluster.jobs["finish"].tolist() == [4047.0, 2360.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 0]
    assert play(LAS(), *jobs).jobs["preemptions"].sum() > 2


def test_within_a_queue_the_first_started_goes_first() -> None:
    # Job 0 alone to 660, job 1 then to 1020 (360 GPU-seconds), job 2 from 1020 to 1320. Both others are in queue 1: job
    # 0 started first, job 1 has had less (LAS would take it).
    jobs = (J(iterations=200), J(iterations=200, arrival=660.0), J(iterations=30, arrival=1000.0))
    cluster = play(Tiresias(SIX_MINUTES), *jobs)
    assert cluster.jobs["first_start"].tolist() == [0.0, 660.0, 1020.0]
    assert cluster.jobs["finish"].tolist() == [1320.0 + 7.0 + 1340.0, 2700.0 + 7.0 + 1640.0, 1320.0]


def test_jobs_that_have_not_started_go_by_arrival() -> None:
    cluster = play(Tiresias(SIX_MINUTES), *(J(iterations=6, arrival=10.0 * number) for number in range(4)))
    assert cluster.jobs["first_start"].tolist() == [0.0, 60.0, 120.0, 180.0]


def test_service_counts_gpus() -> None:
    # Two GPUs for 180 s are 360 GPU-seconds, but the quantum holds the job until 300.
    wide = J(compute=(5.0, 5.0), edges=((0, 1, 0.0),), iterations=50)
    cluster = play(Tiresias({**SIX_MINUTES, "quantum_seconds": 60.0}), wide, J(arrival=60.0), gpus=2)
    assert cluster.jobs["first_start"].tolist() == [0.0, 180.0]


def test_thresholds_must_rise() -> None:
    with pytest.raises(SettingsError, match=r"queue_gpu_hours.*each above the one before"):
        Tiresias({"queue_gpu_hours": (4.0, 4.0)})


# --- placement ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (J(compute=(5.0, 5.0), ideal=10.0, shares=(0.76, 0.24)), True),  # 1.52 times the mean
        (J(compute=(5.0, 5.0), ideal=10.0, shares=(0.74, 0.26)), False),
        (J(replicas=2, gradient=1.26 * NIC), True),  # 2.52 of 10 s
        (J(replicas=2, gradient=1.24 * NIC), False),
        (J(compute=(5.0, 5.0), ideal=10.0, gradient=2.4 * NIC), False),  # half of it for each partition
        (J(), False),
    ],
)
def test_who_is_consolidated(job: J, expected: bool) -> None:
    cluster = at_first_round(job, gpus=2)
    assert needs_consolidation(cluster.state, 0, 1.5, 0.25) == expected


def scattered(job: J) -> SimulatedCluster:
    """One free GPU on each of two servers."""
    cluster = at_first_round(J(iterations=5000), J(iterations=5000), job, servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    return cluster


@pytest.mark.parametrize(
    ("fields", "replicas"),
    [
        ({"replicas": 2}, 2),
        ({"replicas": 2, "gradient": 2 * NIC}, 0),
        ({"compute": (10.0, 10.0)}, 1),
        ({"compute": (10.0, 10.0), "shares": (0.9, 0.1)}, 0),
    ],
)
def test_skewed_jobs_wait_for_one_server_and_others_go_anywhere(fields: dict[str, Any], replicas: int) -> None:
    cluster = scattered(J(**fields))
    Tiresias().schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [1, 1, replicas]


def test_a_skewed_job_waits_no_longer_than_the_patience() -> None:
    cluster = scattered(J(replicas=2, gradient=2 * NIC))
    cluster.apply()
    run(cluster, Tiresias({"patience_seconds": 1200.0}))
    assert cluster.jobs["first_start"][2] == 1200.0
    assert cluster.jobs["preemptions"].sum() == 0
