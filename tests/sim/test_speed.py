"""Iteration times and traffic worked out by hand. NICs carry 1e9 bytes/s, servers have 10 cores."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import NONE
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.sim.speed import bandwidth, iteration_time_and_bytes, slowdown
from tests.builders import J, at_first_round, place

PARAMETER_SERVER = J(replicas=3, ps=True, gradient=1e8)


def speed(cluster: SimulatedCluster, job: int = 0) -> tuple[float, float]:
    """Seconds and bytes per iteration, which must also be what the round leaves behind."""
    seconds, sent = iteration_time_and_bytes(cluster.state, job, np.zeros(8))
    cluster.apply()
    assert cluster.jobs["iteration_time"][job] == seconds
    assert cluster.jobs["bytes_per_iteration"][job] == sent
    return pytest.approx(seconds, rel=1e-12), pytest.approx(sent, rel=1e-12)


# --- compute ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("gpu_speed", "seconds"), [(1.0, 10.0), (2.0, 5.0), (0.5, 20.0)])
def test_a_single_task_takes_its_compute_time_over_the_speed_of_the_gpu(gpu_speed: float, seconds: float) -> None:
    cluster = at_first_round(J(compute=(10.0,)), speed=gpu_speed)
    place(cluster, 0, 0)
    assert speed(cluster) == (seconds, 0.0)


def test_nothing_runs_nothing_moves() -> None:
    assert speed(at_first_round(J())) == (np.inf, 0.0)


@pytest.mark.parametrize(("running", "seconds"), [(1, 40.0), (2, 20.0), (3, 40.0 / 3.0), (4, 10.0)])
def test_with_r_of_four_replicas_an_iteration_takes_four_over_r_times_as_long(running: int, seconds: float) -> None:
    cluster = at_first_round(J(replicas=4, compute=(10.0,), gradient=1e8), gpus=4)
    for gpu in range(running):
        place(cluster, 0, gpu)
    assert speed(cluster) == (seconds, 0.0)


def test_the_slowest_replica_sets_the_pace() -> None:
    # Replica 0 shares GPU 0 with job 1: 0.8 + 0.7 = 1.5. Replica 1 has GPU 1 to itself: 10 s against 15 s.
    cluster = at_first_round(J(replicas=2, gpu=800), J(gpu=700), gpus=2)
    place(cluster, 0, 0)
    place(cluster, 0, 1)
    place(cluster, 1, 0)
    assert speed(cluster) == (15.0, 0.0)


# --- the graph of one replica -------------------------------------------------------------------
CHAIN = J(compute=(2.0, 3.0, 4.0), edges=((0, 1, 1e8), (1, 2, 2e8)))


@pytest.mark.parametrize(
    ("gpus", "seconds", "sent"),
    [
        ((0, 1, 2), 9.0, 0.0),  # 2 + 3 + 4, all on server 0
        ((0, 1, 4), 9.2, 2e8),  # the second edge crosses: 2e8 / 1e9 = 0.2
        ((0, 4, 5), 9.1, 1e8),  # the first edge crosses: 0.1
        ((0, 4, 1), 9.3, 3e8),  # both do
    ],
)
def test_a_chain_pays_for_the_edges_that_cross_servers(gpus: tuple[int, ...], seconds: float, sent: float) -> None:
    cluster = at_first_round(CHAIN, servers=2, gpus=4)
    place(cluster, 0, *gpus)
    assert speed(cluster) == (seconds, sent)


@pytest.mark.parametrize(
    ("volume", "seconds"),
    [
        (1e9, 7.0),  # by partition 2: 1 + 5 + 1 = 7; by partition 1, on the other server: 1 + (1) + 2 + (1) + 1 = 6
        (2e9, 8.0),  # by partition 1: 1 + (2) + 2 + (2) + 1 = 8
    ],
)
def test_a_diamond_takes_its_longer_side(volume: float, seconds: float) -> None:
    edges = tuple((source, target, volume) for source, target in ((0, 1), (0, 2), (1, 3), (2, 3)))
    cluster = at_first_round(J(compute=(1.0, 2.0, 5.0, 1.0), edges=edges), servers=2, gpus=3)
    place(cluster, 0, 0, 3, 1, 2)
    assert speed(cluster) == (seconds, 2 * volume)


def test_partitions_without_edges_run_side_by_side() -> None:
    cluster = at_first_round(J(compute=(2.0, 7.0, 4.0)), gpus=3)
    place(cluster, 0, 0, 1, 2)
    assert speed(cluster) == (7.0, 0.0)


# --- ring all-reduce ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("gpus", "seconds", "sent"),
    [
        ((0, 1, 2), 10.0, 0.0),  # within a server: nothing
        # A link carries 2 * (3 - 1) / 3 * 3e8 = 4e8 bytes, 0.4 s. Two of three links (1 -> 2, 2 -> 0) cross.
        ((0, 1, 3), 10.4, 8e8),
        ((0, 3, 1), 10.4, 8e8),  # 0 -> 1 and 1 -> 2 cross, 2 -> 0 does not
        ((0, 3, 6), 10.4, 12e8),  # three servers: all three cross
    ],
)
def test_a_ring_of_three(gpus: tuple[int, ...], seconds: float, sent: float) -> None:
    cluster = at_first_round(J(replicas=3, gradient=3e8), servers=3, gpus=3)
    for gpu in gpus:
        place(cluster, 0, gpu)
    assert speed(cluster) == (seconds, sent)


def test_a_ring_has_the_size_of_the_replicas_that_run() -> None:
    # Two of four: 4 / 2 * 10 s of compute; a link carries 2 * 1 / 2 * 3e8 = 3e8, and both cross.
    cluster = at_first_round(J(replicas=4, gradient=3e8), servers=2, gpus=2)
    place(cluster, 0, 0)
    place(cluster, 0, 2)
    assert speed(cluster) == (20.3, 6e8)


def test_one_replica_of_several_exchanges_nothing() -> None:
    cluster = at_first_round(J(replicas=2, compute=(5.0, 5.0), gradient=3e8), servers=2, gpus=2)
    place(cluster, 0, 0, 2)  # it spans servers, but there is no edge and no second replica
    assert speed(cluster) == (10.0, 0.0)


def test_each_partition_has_a_ring_of_its_own() -> None:
    # Partition 0 (a quarter of the parameters) on server 0 twice: free. Partition 1 on servers 0 and 1:
    # a link carries 2 * 1 / 2 * 4e8 * 3/4 = 3e8, two cross. The edge of replica 1 crosses: 1e8 bytes, 0.1 s.
    job = J(replicas=2, compute=(2.0, 3.0), edges=((0, 1, 1e8),), gradient=4e8, shares=(0.25, 0.75))
    cluster = at_first_round(job, servers=2, gpus=4)
    place(cluster, 0, 0, 1)
    place(cluster, 0, 2, 4)
    assert speed(cluster) == (5.1 + 0.3, 6e8 + 1e8)


# --- parameter server ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("gpus", "seconds", "sent"),
    [
        ((0, 1, 2), 10.0, 0.0),  # all beside the parameter server on server 0
        ((0, 1, 4), 10.2, 2e8),  # one remote task pushes 1e8 and pulls 1e8
        ((0, 4, 8), 10.4, 4e8),  # two remote tasks: both flows pass the parameter server's NIC
        ((4, 8, 12), 10.6, 6e8),
        ((4, 5, 6), 10.6, 6e8),  # incast: the same from one server
    ],
)
def test_all_traffic_passes_the_nic_of_the_parameter_server(gpus: tuple[int, ...], seconds: float, sent: float) -> None:
    cluster = at_first_round(PARAMETER_SERVER, servers=4, gpus=4)
    place(cluster, 0, gpus[0], 0)
    place(cluster, 0, gpus[1])
    place(cluster, 0, gpus[2])
    assert speed(cluster) == (seconds, sent)


def test_a_congested_worker_can_be_slower_than_the_parameter_server() -> None:
    # Worker's server: two jobs ask for 2e9 bytes/s each of a NIC of 1e9: a flow gets a quarter.
    # Worker: 2e8 / 0.25e9 = 0.8 s; parameter server on server 0: 2e8 / 1e9 = 0.2 s.
    cluster = at_first_round(
        J(ps=True, gradient=1e8, nic=2e9), J(ps=True, gradient=1e8, nic=2e9), servers=2, gpus=2
    )  # fmt: skip
    place(cluster, 0, 2, 0)
    place(cluster, 1, 3, 0)
    assert cluster.servers["nic_used"].tolist() == [0, 4e9]
    # The parameter server on server 0 has both flows of its own job only: 2e8 bytes.
    assert speed(cluster, 0) == (10.8, 2e8)


def test_partitions_push_their_own_share() -> None:
    # Partition 1 (three quarters) is remote: 2 * 4e8 * 3/4 = 6e8 bytes.
    job = J(compute=(2.0, 3.0), ps=True, gradient=4e8, shares=(0.25, 0.75))
    cluster = at_first_round(job, servers=2, gpus=2)
    place(cluster, 0, 0, 2, 0)
    assert speed(cluster) == (3.6, 6e8)


# --- contention ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("demands", "contention", "factor"),
    [
        ((800, 700), True, 1.5),
        ((800, 200), True, 1.0),  # exactly full
        ((300, 200), True, 1.0),  # a half-used GPU does not speed anything up
        ((800, 700), False, 1.0),
    ],
)
def test_a_shared_gpu_slows_all_its_tasks_down_in_proportion(
    demands: tuple[int, int], contention: bool, factor: float
) -> None:
    cluster = at_first_round(J(gpu=demands[0]), J(gpu=demands[1]), contention=contention)
    place(cluster, 0, 0)
    place(cluster, 1, 0)
    assert speed(cluster, 0) == speed(cluster, 1) == (10.0 * factor, 0.0)


def test_contention_and_gpu_speed_multiply() -> None:
    cluster = at_first_round(J(gpu=800), J(gpu=700), speed=0.5)
    place(cluster, 0, 0)
    place(cluster, 1, 0)
    assert slowdown(cluster.state, 0) == 3.0
    assert speed(cluster, 0) == (30.0, 0.0)


def test_cpu_contention_is_shared_by_the_whole_server() -> None:
    # 8 + 7 cores of 10: 1.5, on different GPUs. The third job sits on another server.
    cluster = at_first_round(J(cpu=8000), J(cpu=7000), J(cpu=8000), servers=2, gpus=2)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    place(cluster, 2, 2)
    assert [speed(cluster, job)[0] for job in range(3)] == [15.0, 15.0, 10.0]


def test_the_scarcer_resource_decides() -> None:
    # GPU: 1.2; CPU: 1.5.
    cluster = at_first_round(J(gpu=600, cpu=8000), J(gpu=600, cpu=7000))
    place(cluster, 0, 0)
    place(cluster, 1, 0)
    assert speed(cluster)[0] == 15.0


def test_a_parameter_server_takes_cpu_from_its_neighbours() -> None:
    cluster = at_first_round(J(cpu=6000, ps=True, ps_cpu=9000))
    place(cluster, 0, 0, 0)
    assert speed(cluster)[0] == 15.0


def test_nic_demand_counts_while_the_job_spans_servers() -> None:
    # Tasks ask for 1.5e9 of 1e9 bytes/s: a flow gets 1e9 / 1.5, the edge of 1e8 bytes takes 0.15 s.
    job = J(compute=(1.0, 2.0), edges=((0, 1, 1e8),), nic=1.5e9)
    together = at_first_round(job, servers=2, gpus=2)
    place(together, 0, 0, 1)
    assert together.servers["nic_used"].tolist() == [0, 0]
    assert speed(together) == (3.0, 0.0)
    apart = at_first_round(job, servers=2, gpus=2)
    place(apart, 0, 0, 2)
    assert apart.servers["nic_used"].tolist() == [1.5e9, 1.5e9]
    assert bandwidth(apart.state, 0) == pytest.approx(1e9 / 1.5)
    assert speed(apart) == (3.15, 1e8)


def test_the_slower_end_of_an_edge_decides() -> None:
    # The task of job 1 on server 1 asks for twice its NIC: a flow gets half.
    plain = J(compute=(1.0, 2.0), edges=((0, 1, 1e8),))
    greedy = J(compute=(1.0, 1.0), nic=(0, 2e9))
    cluster = at_first_round(plain, greedy, servers=3, gpus=2)
    place(cluster, 0, 0, 2)  # servers 0 and 1
    place(cluster, 1, 4, 3)  # servers 2 and 1
    assert cluster.servers["nic_used"].tolist() == [0, 2e9, 0]
    assert speed(cluster, 0) == (3.2, 1e8)  # 1e8 / 0.5e9


def test_the_slowest_nic_of_a_ring_decides_but_not_that_of_a_ring_within_a_server() -> None:
    greedy = J(compute=(1.0, 1.0), nic=(0, 2e9))
    apart = at_first_round(J(replicas=2, gradient=3e8), greedy, servers=3, gpus=3)
    place(apart, 0, 0)
    place(apart, 0, 3)
    place(apart, 1, 6, 4)  # server 1 carries 2e9: half the bandwidth
    assert speed(apart, 0) == (10.6, 6e8)
    together = at_first_round(J(replicas=2, gradient=3e8), greedy, servers=3, gpus=3)
    place(together, 0, 3)
    place(together, 0, 4)
    place(together, 1, 6, 5)
    assert speed(together, 0) == (10.0, 0.0)


def test_neighbours_are_slowed_down_and_freed_again() -> None:
    cluster = at_first_round(J(gpu=800), J(gpu=700))
    place(cluster, 0, 0)
    cluster.apply()
    assert cluster.jobs["iteration_time"][0] == 10.0
    place(cluster, 1, 0)
    cluster.apply()
    assert cluster.jobs["iteration_time"].tolist() == [15.0, 15.0]
    assert cluster.evict(1)
    cluster.apply()
    assert cluster.jobs["iteration_time"].tolist() == [10.0, np.inf]


def test_demand_fluctuates_between_its_limits_and_with_it_the_slowdown() -> None:
    # A task that asks for a whole GPU alone on it: slowed down by its factor, if above 1.
    cluster = at_first_round(*(J(gpu=1000) for _ in range(40)), servers=10, gpus=4, fluctuation=0.3)
    for job in range(40):
        place(cluster, job, job)
    cluster.apply()
    used = cluster.tasks["gpu_used"]
    assert used.min() >= 700 and used.max() <= 1300
    assert used.min() < 800 and used.max() > 1200  # 40 uniform draws
    assert cluster.jobs["iteration_time"] == pytest.approx(10.0 * np.maximum(1.0, used / 1000))
    assert (cluster.tasks["server"] != NONE).all()
