"""Themis on instances solved by hand: rho, leases, who is invited to the auction."""

from __future__ import annotations

from typing import Any

import pytest

from mlfs_gym.schedulers.themis import Themis
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, cluster_of, next_round


def test_rho_by_hand() -> None:
    # Two jobs of 100 s on one GPU. At 0: T_shared 100, T_independent 100 * 2 jobs * 1 GPU / 1 GPU.
    cluster = at_first_round(J(), J(), sharing=False)
    scheduler = Themis()
    assert scheduler.rho(cluster.state, cluster.state.active[:2]).tolist() == [0.5, 0.5]
    scheduler.schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [1, 0]
    # At 120: two jobs for 100 s, one for 20 s, 220 / 120 on average. T_shared = 120 + 100.
    assert next_round(cluster) == 120.0
    assert scheduler.rho(cluster.state, cluster.state.active[:1]).tolist() == pytest.approx(
        [220.0 / (100.0 * 220.0 / 120.0)]
    )


def test_a_job_alone_on_a_large_cluster_is_compared_with_itself() -> None:
    # Four GPUs, two jobs of one each: a share of two GPUs would not help them. At 60, T_shared = 60 + 100.
    cluster = at_first_round(J(), J(), gpus=4, sharing=False)
    scheduler = Themis()
    scheduler.rho(cluster.state, cluster.state.active[:2])
    next_round(cluster, 60.0)
    assert scheduler.rho(cluster.state, cluster.state.active[:2]).tolist() == [1.6, 1.6]


def test_rho_counts_the_gpus_that_are_asked_for() -> None:
    # Two GPUs, two jobs: a share is one GPU. Job 0 asks for two: it would take twice as long, so rho is 100 / 200.
    cluster = at_first_round(J(replicas=2), J(), gpus=2, sharing=False)
    assert Themis().rho(cluster.state, cluster.state.active[:2]).tolist() == [0.5, 1.0]


def test_the_worst_off_goes_first() -> None:
    # At 120, when job 0 ends, job 1 (900 s) and job 2 (60 s) have waited equally: rho of the short one is worse.
    cluster = cluster_of(J(iterations=12), J(iterations=90), J(iterations=6), sharing=False)
    run(cluster, Themis())
    assert cluster.jobs["first_start"].tolist() == [0.0, 180.0, 120.0]


def test_a_lease_is_kept_until_it_ends() -> None:
    # Job 1 comes at 60; the next round is a lease later.
    cluster = cluster_of(J(iterations=1000), J(iterations=6, arrival=60.0), sharing=False)
    run(cluster, Themis())
    assert cluster.jobs["first_start"].tolist() == [0.0, 1260.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 0]


def test_an_expired_lease_goes_on_while_nobody_is_worse_off() -> None:
    # Job 1 would take much longer than it has waited for.
    cluster = cluster_of(J(iterations=300), J(iterations=90_000, arrival=60.0), sharing=False)
    run(cluster, Themis())
    assert cluster.jobs["preemptions"].sum() == 0


def auction(**settings: Any) -> SimulatedCluster:
    """Two long jobs whose lease ends at 1200, and two short ones that came at 60 and 120, at the round of 1320."""
    jobs = (J(iterations=10_000), J(iterations=10_000), J(iterations=10, arrival=60.0), J(iterations=20, arrival=120.0))
    cluster = at_first_round(*jobs, gpus=2, sharing=False)
    scheduler = Themis(settings)
    scheduler.schedule(cluster)
    for time in (60.0, 120.0, 1320.0):
        assert next_round(cluster, scheduler.wake_every_seconds) == time
        cluster.observe()
        scheduler.schedule(cluster)
    return cluster


def test_one_minus_f_of_the_bidders_are_invited() -> None:
    # Four bidders: 1 - f = 0.2 of them is one, the worst off, job 2 (rho: 1360 s in place of 100 s). With f = 0.5 job 3
    # takes the other GPU. Job 1 has had as much as job 0, and loses first: the least important at equal rho.
    assert auction().jobs["running_replicas"].tolist() == [1, 0, 1, 0]
    assert auction(fairness=0.5).jobs["running_replicas"].tolist() == [0, 0, 1, 1]
    assert auction(fairness=1.0).jobs["running_replicas"].tolist() == [1, 0, 1, 0]  # at least one


def test_what_the_worst_off_leave_goes_to_the_rest() -> None:
    # Four equal bidders, one invited; the three free GPUs that it cannot use are not left idle.
    cluster = at_first_round(*(J() for _ in range(4)), gpus=4, sharing=False)
    Themis().schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [1, 1, 1, 1]
