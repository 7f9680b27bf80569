"""Pollux: speedups and values by hand, the allocation by brute force, and what it does to jobs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.schedulers.pollux.allocation import allocate, total_value
from mlfs_gym.schedulers.pollux.goodput import exchange_seconds, observe_compute, speedup, step_seconds
from mlfs_gym.schedulers.pollux.scheduler import Pollux
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import NIC, J, at_first_round, cluster_of, next_round, place


def targets(cluster: SimulatedCluster, scheduler: Pollux) -> list[int]:
    active = cluster.state.active[: cluster.state.clock["num_active"][0]]
    found: list[int] = scheduler.allocation(cluster.state, active, scheduler.values(cluster.state, active)).tolist()
    return found


# --- goodput ------------------------------------------------------------------------------------
def test_step_time_by_hand() -> None:
    # Two servers of 2 GPUs. Up to 2 replicas exchange within a server; 4 move 2 * 3/4 of 4e9 bytes at 1e9 bytes/s.
    cluster = at_first_round(J(replicas=4, gradient=4 * NIC), servers=2, gpus=2, sharing=False)
    assert [exchange_seconds(cluster.state, 0, r) for r in (1.0, 2.0, 4.0)] == [0.0, 0.0, 6.0]
    assert [step_seconds(cluster.state, 0, r, 10.0) for r in (1.0, 2.0, 4.0)] == [40.0, 20.0, 16.0]
    assert [step_seconds(cluster.state, 0, r, np.nan) for r in (1.0, 2.0, 4.0)] == [4.0, 2.0, 1.0]
    # A fair share of 2 GPUs: 20 s.
    assert [speedup(cluster.state, 0, r, 10.0, 2.0) for r in (1, 2, 4)] == [0.5, 1.0, 1.25]
    # A share of more than it asks for is all that it asks for.
    assert speedup(cluster.state, 0, 4, 10.0, 100.0) == 1.0


def test_computation_is_what_the_iteration_time_shows_without_the_exchange() -> None:
    cluster = at_first_round(J(replicas=4, gradient=4 * NIC), servers=2, gpus=2, sharing=False)
    compute = np.full(1, np.nan)
    observe_compute(cluster.state, cluster.state.active[:1], compute)
    assert np.isnan(compute[0])
    for gpus in ((0,), (0, 1), (0, 1, 2, 3)):
        cluster.evict(0)
        for gpu in gpus:
            place(cluster, 0, gpu)
        cluster.apply()
        observe_compute(cluster.state, cluster.state.active[:1], compute)
        assert compute[0] == pytest.approx(10.0)
        compute[0] = np.nan


# --- values -------------------------------------------------------------------------------------
def test_values_by_hand() -> None:
    # Four GPUs, two jobs: a fair share is two GPUs. p = -1: the term of a speedup s is -1 / s.
    cluster = at_first_round(J(replicas=4), J(replicas=2), gpus=4, sharing=False)
    cluster.jobs["attained_service"][1] = 16 * 3600.0  # four times the threshold: weight 1/2
    values = Pollux().values(cluster.state, cluster.state.active[:2])
    assert values[0].tolist() == pytest.approx([-100.0, -2.0, -1.0, -2 / 3, -0.5])
    assert values[1].tolist() == pytest.approx([-50.0, -1.0, -0.5, -np.inf, -np.inf])


@pytest.mark.parametrize(("power", "expected"), [(1.0, 1.5), (0.0, np.log(1.5)), (-2.0, -1 / 2.25)])
def test_power(power: float, expected: float) -> None:
    cluster = at_first_round(J(replicas=4), J(replicas=4), gpus=4, sharing=False)
    values = Pollux({"power": power}).values(cluster.state, cluster.state.active[:2])
    assert values[0, 3] == pytest.approx(expected)


def test_fewer_replicas_or_a_comeback_cost_a_restart() -> None:
    # At 300 s job 0 runs with 3 of 4 replicas, preempted twice before: (300 - 2 * 30) / (300 + 30) for fewer.
    cluster = at_first_round(J(replicas=4, iterations=1000), J(replicas=4), gpus=4, sharing=False)
    for gpu in range(3):
        place(cluster, 0, gpu)
    next_round(cluster, 300.0)
    cluster.jobs["preemptions"][0] = 2
    values = Pollux().values(cluster.state, cluster.state.active[:2])[0]
    factor = 240.0 / 330.0
    assert values.tolist() == pytest.approx([-100.0, -2.0 / factor, -1.0 / factor, -2 / 3, -0.5])
    cluster.evict(0)
    values = Pollux().values(cluster.state, cluster.state.active[:2])[0]
    factor = 210.0 / 330.0  # three times now
    assert values.tolist() == pytest.approx([-100.0, -2.0 / factor, -1.0 / factor, -2 / 3 / factor, -0.5 / factor])


# --- the search ---------------------------------------------------------------------------------
def brute_force(value: Array, most: Array, least: Array, size: Array, capacity: int) -> float:
    ranges = [range(low, high + 1) for low, high in zip(least, most, strict=True)]
    return max(
        total_value(value, np.array(counts))
        for counts in itertools.product(*ranges)
        if (np.array(counts) * size).sum() <= capacity
    )


def an_instance(seed: int) -> tuple[Array, Array, Array, Array, Array, int]:
    """Jobs with values as Pollux makes them: rising, bent, some with a restart cost below what they have."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(2, 6))
    most = rng.choice([1, 2, 4], number)
    size = rng.choice([1, 2, 4], number) * 1000
    capacity = int(rng.integers(4, 10)) * 1000
    start = np.zeros(number, np.int64)
    for job in rng.permutation(number):
        room = (capacity - (start * size).sum()) // size[job]
        start[job] = rng.integers(0, min(most[job], room) + 1)
    least = np.where(rng.random(number) < 0.3, start, 0)
    value = np.full((number, 5), -np.inf)
    for job in range(number):
        counts = np.arange(1, most[job] + 1)
        speed = counts / (1.0 + rng.uniform(0, 0.3) * (counts - 1)) * rng.uniform(0.2, 2.0)
        speed = np.where(counts < start[job], speed * rng.uniform(0.5, 1.0), speed)
        value[job, 0] = -100.0
        value[job, counts] = -1.0 / speed
        value[job, : most[job] + 1] *= rng.uniform(0.2, 1.0)
    return value, most, least, start, size, capacity


def test_the_search_finds_the_optimum_of_small_instances() -> None:
    found, best = [], []
    for seed in range(300):
        value, most, least, start, size, capacity = an_instance(seed)
        counts = allocate(value, most, least, start, size, capacity)
        assert (counts >= least).all() and (counts <= most).all() and (counts * size).sum() <= capacity
        found.append(total_value(value, counts))
        best.append(brute_force(value, most, least, size, capacity))
    gap = (np.array(best) - np.array(found)) / np.abs(best)
    assert (gap > -1e-9).all()
    assert (gap < 1e-9).mean() > 0.95
    assert gap.mean() < 0.01


def test_the_search_does_not_lose_what_there_is() -> None:
    for seed in range(300):
        value, most, least, start, size, capacity = an_instance(seed)
        counts = allocate(value, most, least, start, size, capacity)
        assert total_value(value, counts) >= total_value(value, start) - 1e-9


# --- decisions ----------------------------------------------------------------------------------
def test_equal_jobs_share_equally() -> None:
    cluster = at_first_round(J(replicas=4), J(replicas=4), gpus=4, sharing=False)
    assert targets(cluster, Pollux()) == [2, 2]


def test_everybody_gets_a_replica_before_anybody_gets_more() -> None:
    cluster = at_first_round(*(J(replicas=4) for _ in range(4)), gpus=4, sharing=False)
    assert targets(cluster, Pollux()) == [1, 1, 1, 1]


def test_a_job_that_scales_badly_gets_less() -> None:
    # Four servers of 2 GPUs, both jobs ask for 4 and there is room for both. Job 0 has been seen with an exchange that
    # makes 4 replicas slower (10 + 15 s) than 2 (20 s).
    jobs = (J(replicas=4, gradient=10 * NIC, iterations=100), J(replicas=4, iterations=100))
    cluster = at_first_round(*jobs, servers=4, gpus=2, sharing=False)
    place(cluster, 0, 0)
    next_round(cluster, 60.0)
    scheduler = Pollux()
    assert targets(cluster, scheduler) == [2, 4]
    scheduler.schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [2, 4]  # the two GPUs left would only slow job 0 down


def test_a_running_job_shrinks_for_a_new_one_after_its_quantum() -> None:
    # Job 0 holds four GPUs. Job 1 comes at 60; at 360 job 0 restarts with two replicas.
    jobs = (J(replicas=4, iterations=500), J(replicas=4, iterations=500, arrival=60.0))
    cluster = at_first_round(*jobs, gpus=4, sharing=False)
    scheduler = Pollux()
    scheduler.schedule(cluster)
    for time, expected in ((60.0, [4, 0]), (360.0, [2, 2])):
        assert next_round(cluster, scheduler.wake_every_seconds) == time
        cluster.observe()
        scheduler.schedule(cluster)
        assert cluster.jobs["running_replicas"].tolist() == expected
    assert cluster.jobs["preemptions"].tolist() == [1, 0]


def test_a_job_that_has_had_much_makes_way_for_new_ones() -> None:
    # One GPU. The weight of job 0 halves with 16 GPU-hours: no replica costs it -50, the new one -100.
    cluster = at_first_round(J(iterations=10_000), J(arrival=400.0), sharing=False)
    place(cluster, 0, 0)
    next_round(cluster, 60.0)
    cluster.jobs["attained_service"][0] = 16 * 3600.0
    while not cluster.jobs["status"][1]:
        next_round(cluster, 60.0)
    assert targets(cluster, Pollux()) == [0, 1]


def test_grows_again_when_others_end() -> None:
    jobs = (J(replicas=2, iterations=100), J(replicas=2, iterations=20))
    cluster = cluster_of(*jobs, gpus=2, sharing=False)
    run(cluster, Pollux())
    # One replica each: 20 s per iteration. Job 1 ends at 400; at 420 job 0 has 79 iterations of 10 s to go.
    assert cluster.jobs["finish"].tolist() == pytest.approx([420.0 + 790.0, 400.0])
    assert cluster.jobs["preemptions"].sum() == 0
