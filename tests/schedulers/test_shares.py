"""Granting replicas, making room for gangs, the quantum: by hand and by brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import RUNNING
from mlfs_gym.cluster.consolidated import consolidated_hosts
from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.schedulers import Scheduler, make_scheduler
from mlfs_gym.schedulers.graphene import Graphene
from mlfs_gym.schedulers.hypersched import HyperSched
from mlfs_gym.schedulers.optimus import Optimus
from mlfs_gym.schedulers.quantum import had_its_quantum, serving_since
from mlfs_gym.schedulers.room_for_shares import _candidates_on, _count, make_room, new_plan, servers_to_hold
from mlfs_gym.schedulers.shares import grant, serve
from mlfs_gym.schedulers.slaq import SLAQ
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, contents, next_round, place
from tests.properties.play import digest, instance, play
from tests.schedulers.games import Blindfolded
from tests.schedulers.games import play as play_jobs

SHARING_SCHEDULERS = ("fair", "slaq", "gandiva", "graphene", "hypersched", "optimus")


def gang(parts: int, **options: Any) -> J:
    return J(compute=(5.0,) * parts, edges=tuple((k, k + 1, 0.0) for k in range(parts - 1)), **options)


# --- grant --------------------------------------------------------------------------------------
def granted(cluster: SimulatedCluster, levels: list[float], one_each: bool) -> tuple[list[int], list[int]]:
    plan = new_plan(len(cluster.jobs))
    order = grant(cluster.state, np.arange(len(cluster.jobs)), np.array(levels, float), one_each, plan)
    return order.tolist(), plan.target.tolist()


def test_the_lowest_level_is_granted_first() -> None:
    cluster = at_first_round(J(replicas=2), J(replicas=2), gpus=3, sharing=False)
    assert granted(cluster, [1, 4, 2, 3], False) == ([0, 1, 1], [1, 2])
    assert granted(cluster, [1, 2, 3, 4], False) == ([0, 0, 1], [2, 1])
    assert granted(cluster, [1, 2, 3, 4], True) == ([0, 1, 0], [2, 1])
    assert granted(cluster, [5, 5, 5, 5], False) == ([0, 0, 1], [2, 1])  # ties: the earlier job


def test_what_exceeds_the_gpus_is_passed_over() -> None:
    cluster = at_first_round(J(), gang(4), gang(2), gpus=4, sharing=False)
    assert granted(cluster, [1, 2, 3], False) == ([0, 2], [1, 0, 1])


def test_shared_gpus_are_granted_by_compute_demand() -> None:
    jobs = [J(gpu=400) for _ in range(4)]
    assert granted(at_first_round(*jobs, gpus=1, sharing=True), [0.0] * 4, False)[1] == [1, 1, 0, 0]
    assert granted(at_first_round(*jobs, gpus=1, sharing=False), [0.0] * 4, False)[1] == [1, 0, 0, 0]


# --- quantum ------------------------------------------------------------------------------------
def test_the_quantum_begins_when_the_restart_is_over() -> None:
    cluster = at_first_round(J(iterations=999), gpus=1)
    assert not had_its_quantum(cluster.state, 0, 1.0)  # does not run
    place(cluster, 0, 0)
    next_round(cluster, 120.0)
    assert serving_since(cluster.state, 0) == 0.0
    assert had_its_quantum(cluster.state, 0, 120.0)
    assert not had_its_quantum(cluster.state, 0, 121.0)
    assert cluster.evict(0)
    place(cluster, 0, 0)
    next_round(cluster, 120.0)
    assert serving_since(cluster.state, 0) == 127.0
    assert had_its_quantum(cluster.state, 0, 113.0)
    assert not had_its_quantum(cluster.state, 0, 114.0)


# --- making room --------------------------------------------------------------------------------
def crowded(seed: int) -> tuple[SimulatedCluster, Any]:
    """Random jobs placed at random on exclusive GPUs, with random ranks, targets and permissions. Job 0 waits."""
    rng = np.random.default_rng(seed)
    servers, gpus = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    wanted = gang(int(rng.integers(1, servers * gpus + 1)), replicas=1)
    others = [gang(int(rng.integers(1, 4)), replicas=int(rng.integers(1, 3))) for _ in range(7)]
    others = [job for job in others if job.partitions <= gpus and job.partitions * job.replicas <= servers * gpus]
    cluster = at_first_round(wanted, *others, servers=servers, gpus=gpus, sharing=False)
    for job in rng.permutation(np.arange(1, len(cluster.jobs))):
        cluster.place(int(job))
    plan = new_plan(len(cluster.jobs))
    plan.rank[:] = rng.permutation(len(cluster.jobs))
    plan.target[:] = rng.integers(0, 2, len(cluster.jobs))
    plan.evictable[:] = rng.random(len(cluster.jobs)) < 0.7
    return cluster, plan


def would_fit(cluster: SimulatedCluster, victims: tuple[int, ...]) -> bool:
    before = cluster.state.copy()
    for victim in victims:
        assert cluster.evict(victim)
    fits = bool(consolidated_hosts(cluster.state, 0, cluster.hosts_scratch))
    cluster.state.restore(before)
    return fits


def possible_victims(cluster: SimulatedCluster, plan: Any) -> list[int]:
    jobs = cluster.jobs
    return [
        v
        for v in range(1, len(jobs))
        if jobs["status"][v] == RUNNING
        and plan.evictable[v]
        and (jobs["running_replicas"][v] > plan.target[v] or plan.rank[v] > plan.rank[0])
    ]


@pytest.mark.parametrize("seed", range(60))
def test_room_is_made_exactly_when_that_is_possible(seed: int) -> None:
    cluster, plan = crowded(seed)
    if would_fit(cluster, ()):
        return
    allowed = possible_victims(cluster, plan)
    sets = [s for n in range(1, len(allowed) + 1) for s in itertools.combinations(allowed, n) if would_fit(cluster, s)]
    before = contents(cluster.state)
    made = make_room(cluster.state, 0, plan, cluster.hosts_scratch)
    check_invariants(cluster.state)
    assert made == bool(sets)
    if not made:
        assert contents(cluster.state) == before
        return
    evicted = [v for v in allowed if cluster.jobs["preemptions"][v]]
    assert cluster.jobs["preemptions"].sum() == len(evicted) > 0
    assert cluster.place(0, cluster.hosts_scratch[: cluster.jobs["partitions"][0]].copy())


def test_the_brute_force_sees_both_outcomes() -> None:
    outcomes = set()
    for seed in range(60):
        cluster, plan = crowded(seed)
        if not would_fit(cluster, ()):
            outcomes.add(make_room(cluster.state, 0, plan, cluster.hosts_scratch))
    assert outcomes == {True, False}


def test_jobs_that_span_servers_are_cleared_from_both() -> None:
    # A gang of 6 wants all three servers. Job 1 spans servers 0 and 1: counted out with server 0, it leaves server 1
    # with fewer tasks in its sums (one) than jobs in its list.
    cluster = at_first_round(gang(6), gang(3), J(), J(), J(), servers=3, gpus=2, sharing=False)
    place(cluster, 1, 0, 1, 2)
    for job, gpu in ((2, 3), (3, 4), (4, 5)):
        place(cluster, job, gpu)
    plan = new_plan(5)
    plan.rank[:] = range(5)
    plan.target[:] = 1
    plan.evictable[:] = 1
    assert make_room(cluster.state, 0, plan, cluster.hosts_scratch)
    check_invariants(cluster.state)
    assert cluster.jobs["preemptions"].tolist() == [0, 1, 1, 1, 1]


def test_all_jobs_of_a_server_are_candidates_while_others_are_counted_out() -> None:
    cluster = at_first_round(gang(6), gang(3), J(), servers=3, gpus=2, sharing=False)
    place(cluster, 1, 0, 1, 2)
    place(cluster, 2, 3)
    plan = new_plan(3)
    plan.rank[:] = range(3)
    plan.target[:] = 1
    plan.evictable[:] = 1
    _count(cluster.state, 1, -1)
    found = _candidates_on(cluster.state, 0, plan, 1).tolist()
    _count(cluster.state, 1, 1)
    assert found == [2, 1]


def test_the_server_with_the_cheapest_victims_is_taken() -> None:
    # Server 0 is held by a gang of 2, server 1 by two jobs of 1. A job of 1 takes the place of one of those, the one
    # that is less important, although the gang is the least important of all.
    cluster = at_first_round(J(), gang(2), J(), J(), servers=2, gpus=2, sharing=False)
    place(cluster, 1, 0, 1)
    place(cluster, 2, 2)
    place(cluster, 3, 3)
    plan = new_plan(4)
    plan.rank[:] = [0, 3, 2, 1]
    plan.target[:] = 1
    plan.evictable[:] = 1
    assert make_room(cluster.state, 0, plan, cluster.hosts_scratch)
    assert cluster.jobs["preemptions"].tolist() == [0, 0, 1, 0]
    assert cluster.hosts_scratch[0] == 2


def test_held_servers_are_those_that_are_free_soonest() -> None:
    # Server 0: a more important job; server 1: two less important; server 2: one, and an empty GPU.
    cluster = at_first_round(gang(2), gang(2), J(), J(), J(), servers=3, gpus=2, sharing=False)
    place(cluster, 1, 0, 1)
    for job, gpu in ((2, 2), (3, 3), (4, 4)):
        place(cluster, job, gpu)
    plan = new_plan(5)
    plan.rank[:] = [1, 0, 2, 3, 4]
    plan.target[:] = 1
    assert servers_to_hold(cluster.state, 0, plan).tolist() == [2]


def test_a_held_server_is_not_given_away_and_looks_as_before_afterwards() -> None:
    # Two GPUs, one empty. The gang comes first but job 1 has not had its quantum: job 2 may not take the empty GPU.
    cluster = at_first_round(gang(2), J(iterations=99), J(), gpus=2, sharing=False)
    place(cluster, 1, 0)
    next_round(cluster, 60.0)
    plan = new_plan(3)
    order = grant(cluster.state, np.arange(3), np.array([0.0, 1.0, 2.0]), False, plan)
    serve(cluster.state, np.arange(3), order, plan, 300.0, cluster.hosts_scratch)
    check_invariants(cluster.state)
    assert cluster.jobs["running_replicas"].tolist() == [0, 1, 0]
    next_round(cluster, 240.0)
    serve(cluster.state, np.arange(3), order, plan, 300.0, cluster.hosts_scratch)
    assert cluster.jobs["running_replicas"].tolist() == [1, 0, 0]


# --- what holds for all of them -------------------------------------------------------------------
def scheduler_with_patience(name: str) -> Scheduler:
    patient = {"graphene": Graphene, "slaq": SLAQ, "hypersched": HyperSched, "optimus": Optimus}
    return patient[name]({"patience_hours": 2.0}) if name in patient else make_scheduler(name)


@pytest.mark.parametrize("name", SHARING_SCHEDULERS)
@pytest.mark.parametrize("sharing", [False, True], ids=["exclusive", "shared"])
def test_a_gang_gets_its_turn_among_small_jobs_that_keep_coming(name: str, sharing: bool) -> None:
    # 8 GPUs on 2 servers, a small job every 70 s with ten minutes of work: more than the cluster can do. The gang
    # needs both servers. It must start long before the stream ends, at 28,000 s.
    small = [J(iterations=60, arrival=70.0 * k, deadline=70.0 * k + 2000.0, scale=30.0) for k in range(400)]
    wide = gang(8, iterations=30, arrival=1000.0, deadline=50_000.0)
    jobs = sorted([*small, wide], key=lambda job: job.arrival)
    cluster = play_jobs(scheduler_with_patience(name), *jobs, servers=2, gpus=4, sharing=sharing)
    assert cluster.jobs["first_start"][jobs.index(wide)] < 15_000.0


@pytest.mark.parametrize("name", SHARING_SCHEDULERS)
def test_nobody_reads_what_a_real_scheduler_could_not_know(name: str) -> None:
    for seed in range(3):
        reference = digest(play(instance(seed, sharing=seed != 1), name))
        cluster = instance(seed, sharing=seed != 1)
        run(cluster, Blindfolded(make_scheduler(name)))
        assert digest(cluster) == reference


@pytest.mark.parametrize("name", SHARING_SCHEDULERS)
def test_every_stay_is_worth_its_restart(name: str) -> None:
    """Between two preemptions of a job lies at least a quantum of progress."""
    scheduler = make_scheduler(name)
    jobs = [gang(1 + k % 2, replicas=1 + k % 3, iterations=100, arrival=100.0 * k) for k in range(12)]
    cluster = play_jobs(scheduler, *jobs, servers=2, gpus=3, sharing=False)
    assert cluster.jobs["preemptions"].sum() > 0
    assert (cluster.jobs["preemptions"] <= cluster.jobs["attained_service"] / scheduler.wake_every_seconds).all()
