"""Iteration times worked out by hand, for the twin and the compiled simulator alike.

Three servers with 4 GPUs, 4 cores and a NIC of 1 Gbit/s each. Sizes are given in seconds of an idle NIC.
"""

from __future__ import annotations

from typing import Any

import pytest

from mlfs_gym.config import ClusterConfig, SimulationConfig
from tests.twin.decisions import Place
from tests.twin.pair import Pair
from tests.twin.things import Job
from tests.twin.workloads import a_job, workload_of

SECOND = 125e6  # bytes that an idle NIC sends in a second
NIC = 125_000_000


def place_all(jobs: list[dict[str, Any]], *places: Place, gpu_speed: float = 1.0, **simulation: Any) -> list[Job]:
    """Place replicas at time 0 and return the twin's jobs; the compiled simulator has agreed on them."""
    cluster = ClusterConfig(servers=3, gpus_per_server=4, cpu_cores=4, nic_gbit_per_s=1, gpu_speed=gpu_speed)
    settings = SimulationConfig.parse({"fluctuation": 0.0, **simulation})
    pair = Pair(workload_of(*jobs), cluster, settings)
    assert pair.advance() == "round"
    assert all(pair.decide(*places))
    return pair.twin.jobs


def chain(**fields: Any) -> dict[str, Any]:
    """0 -> 1 -> 2, computing for 1, 2 and 3 s, sending for 1 and 2 s."""
    tasks = [{"compute_time": seconds, "cpu_demand": 100, **fields} for seconds in (1.0, 2.0, 3.0)]
    return a_job(1, 3, [(0, 1, SECOND), (1, 2, 2 * SECOND)], tasks)


@pytest.mark.parametrize(
    ("gpus", "seconds", "seconds_of_nic"),
    [
        ((0, 1, 2), 1 + 2 + 3, 0),
        ((0, 0, 0), 1.5 * (1 + 2 + 3), 0),  # three times 500 milli-GPU on one GPU
        ((0, 1, 4), 1 + 2 + 2 + 3, 2),
        ((0, 4, 5), 1 + 1 + 2 + 3, 1),
        ((0, 4, 1), 1 + 1 + 2 + 2 + 3, 3),
        ((0, 4, 8), 1 + 1 + 2 + 2 + 3, 3),
    ],
)
def test_chain(gpus: tuple[int, ...], seconds: float, seconds_of_nic: float) -> None:
    (job,) = place_all([chain()], Place(0, gpus, None))
    assert job.iteration_time == seconds
    assert job.bytes_per_iteration == seconds_of_nic * SECOND


def test_the_longest_path_of_a_graph_counts() -> None:
    # 0 -> 1 -> 3 and 0 -> 2 -> 3; 1 computes longer, but 2 is on the other server: 1 + 2 + 1 + 3 + 1 against 1 + 5 + 1.
    tasks = [{"compute_time": seconds, "cpu_demand": 100} for seconds in (1.0, 5.0, 1.0, 1.0)]
    edges = [(0, 1, 9 * SECOND), (0, 2, 2 * SECOND), (1, 3, 9 * SECOND), (2, 3, 3 * SECOND)]
    (job,) = place_all([a_job(1, 4, edges, tasks)], Place(0, (0, 1, 4, 2), None))
    assert job.iteration_time == 1 + 2 + 1 + 3 + 1
    assert job.bytes_per_iteration == 5 * SECOND


@pytest.mark.parametrize(
    ("hosts", "exchange", "links"),
    [
        ((0, 4, 8), 4, 3),
        ((0, 1, 4), 4, 2),  # the link from 0 to 1 stays inside a server
        ((0, 4, 1), 4, 2),  # the order of replicas does not change a ring of three
        ((0, 1, 2), 0, 0),
    ],
)
def test_ring_of_three(hosts: tuple[int, ...], exchange: float, links: int) -> None:
    # Each link carries 2 * (3 - 1) / 3 of the gradients' 3 s = 4 s.
    job = a_job(3, gradient_bytes=3 * SECOND, tasks={"compute_time": 1.0, "cpu_demand": 100})
    (placed,) = place_all([job], *(Place(0, (gpu,), None) for gpu in hosts))
    assert placed.iteration_time == 1 + exchange
    assert placed.bytes_per_iteration == links * 4 * SECOND


def test_the_order_of_replicas_decides_how_often_a_ring_of_four_crosses() -> None:
    job = a_job(4, gradient_bytes=2 * SECOND, tasks={"cpu_demand": 100})  # 2 * 3 / 4 of 2 s = 3 s
    for hosts, links in (((0, 1, 4, 5), 2), ((0, 4, 1, 5), 4)):
        (placed,) = place_all([job], *(Place(0, (gpu,), None) for gpu in hosts))
        assert placed.iteration_time == 1 + 3
        assert placed.bytes_per_iteration == links * 3 * SECOND


def test_rings_of_the_partitions_one_after_the_other() -> None:
    # Shares 1/4 and 3/4 of 4 s, r = 2: 2 * 1 / 2 = 1 times the bytes. Partition 0 stays on server 0.
    tasks = [{"parameter_share": share, "cpu_demand": 100} for share in (0.25, 0.75)]
    job = a_job(2, 2, [], tasks, gradient_bytes=4 * SECOND)
    (placed,) = place_all([job], Place(0, (0, 1), None), Place(0, (2, 4), None))
    assert placed.iteration_time == 1 + 3
    assert placed.bytes_per_iteration == 2 * 3 * SECOND
    (placed,) = place_all([job], Place(0, (0, 1), None), Place(0, (4, 5), None))
    assert placed.iteration_time == 1 + 1 + 3
    assert placed.bytes_per_iteration == 2 * 4 * SECOND


def sharded(**server_task: Any) -> dict[str, Any]:
    """Two replicas of shares 1/4 and 3/4, gradients of 1 s, parameter server."""
    tasks = [{"parameter_share": share, "cpu_demand": 100} for share in (0.25, 0.75)]
    return a_job(2, 2, [], tasks, {"cpu_demand": 100, **server_task}, gradient_bytes=SECOND)


@pytest.mark.parametrize(
    ("first", "second", "server", "exchange", "sent"),
    [
        ((0, 1), (2, 3), 0, 0.0, 0.0),  # all on its server
        ((0, 1), (2, 3), 1, 4.0, 4.0),  # all of them to one: 2 * 2 s through its NIC
        ((0, 4), (1, 5), 0, 3.0, 3.0),  # remote: 3/4 twice, push and pull
        ((0, 4), (1, 8), 1, 2.5, 2.5),  # remote: 1/4 twice and 3/4
    ],
)
def test_parameter_server(
    first: tuple[int, ...], second: tuple[int, ...], server: int, exchange: float, sent: float
) -> None:
    (job,) = place_all([sharded()], Place(0, first, server), Place(0, second, None))
    assert job.iteration_time == 1 + exchange
    assert job.bytes_per_iteration == sent * SECOND


def test_parameter_server_with_one_replica() -> None:
    (job,) = place_all([sharded()], Place(0, (0, 4), 0))
    assert job.iteration_time == 2 * 1 + 2 * 0.75
    assert job.bytes_per_iteration == 1.5 * SECOND


def test_a_slow_remote_server_can_be_the_bottleneck_of_a_parameter_server() -> None:
    # The NIC of server 1 is booked three times over by a job that spans 1 and 2, whose NIC on 2 is idle.
    noise = a_job(1, 2, [], [{"nic_demand": 3 * NIC, "cpu_demand": 100}, {"cpu_demand": 100}])
    jobs = place_all([sharded(), noise], Place(0, (0, 1), 0), Place(0, (2, 4), None), Place(1, (5, 8), None))
    # Server 0 sends 2 * 3/4 = 1.5 s; the task on server 1 at a third of the speed 4.5 s.
    assert jobs[0].iteration_time == 1 + 4.5
    alone = place_all([sharded()], Place(0, (0, 1), 0), Place(0, (2, 4), None))
    assert alone[0].iteration_time == 1 + 1.5
    without = place_all(
        [sharded(), noise], Place(0, (0, 1), 0), Place(0, (2, 4), None), Place(1, (5, 8), None), contention=False
    )
    assert without[0].iteration_time == 1 + 1.5


@pytest.mark.parametrize(("running", "seconds"), [(1, 4.0), (2, 2.0), (3, 4 / 3), (4, 1.0)])
def test_fewer_replicas_take_longer_in_proportion(running: int, seconds: float) -> None:
    job = a_job(4, gradient_bytes=7 * SECOND, tasks={"cpu_demand": 100})
    (placed,) = place_all([job], *(Place(0, (gpu,), None) for gpu in range(running)))
    assert placed.iteration_time == seconds


def test_the_exchange_is_not_shared_out_among_the_replicas_that_run() -> None:
    job = a_job(4, gradient_bytes=7 * SECOND, tasks={"cpu_demand": 100})
    (placed,) = place_all([job], Place(0, (0,), None), Place(0, (4,), None))
    assert placed.iteration_time == 4 / 2 * 1 + 2 * 1 / 2 * 7


def test_the_slowest_replica_counts() -> None:
    job = a_job(2, 2, [(0, 1, 2 * SECOND)], {"cpu_demand": 100})
    (placed,) = place_all([job], Place(0, (0, 1), None), Place(0, (4, 8), None))
    # Replica 0: 1 + 1, replica 1: 1 + 2 + 1.
    assert placed.iteration_time == 4
    assert placed.bytes_per_iteration == 2 * SECOND


@pytest.mark.parametrize(
    ("demands", "slowdown"),
    [
        ((1000, 1000), 2.0),
        ((800, 700), 1.5),
        ((300, 400), 1.0),
    ],
)
def test_crowded_gpu(demands: tuple[int, int], slowdown: float) -> None:
    jobs = [a_job(tasks={"gpu_demand": demand, "compute_time": 3.0, "cpu_demand": 100}) for demand in demands]
    for job in place_all(jobs, Place(0, (0,), None), Place(1, (0,), None)):
        assert job.iteration_time == 3 * slowdown
    for job in place_all(jobs, Place(0, (0,), None), Place(1, (0,), None), contention=False):
        assert job.iteration_time == 3
    for job in place_all(jobs, Place(0, (0,), None), Place(1, (1,), None)):
        assert job.iteration_time == 3


def test_crowded_cpu_slows_all_gpus_of_the_server() -> None:
    jobs = [a_job(tasks={"cpu_demand": demand}) for demand in (4000, 1500, 500)]
    first, second, elsewhere = place_all(jobs, Place(0, (0,), None), Place(1, (1,), None), Place(2, (4,), None))
    assert first.iteration_time == second.iteration_time == 5500 / 4000
    assert elsewhere.iteration_time == 1.0


def test_the_scarcer_of_gpu_and_cpu_counts() -> None:
    jobs = [a_job(tasks={"cpu_demand": 3000, "gpu_demand": demand}) for demand in (1000, 800)]
    for job in place_all(jobs, Place(0, (0,), None), Place(1, (0,), None)):
        assert job.iteration_time == max(6000 / 4000, 1800 / 1000)
    for job in place_all(jobs, Place(0, (0,), None), Place(1, (1,), None)):
        assert job.iteration_time == 6000 / 4000


def test_a_parameter_server_uses_cpu_too() -> None:
    job = a_job(1, 1, [], {"cpu_demand": 3000}, {"cpu_demand": 3000})
    assert place_all([job], Place(0, (0,), 0))[0].iteration_time == 1.5
    assert place_all([job], Place(0, (0,), 1))[0].iteration_time == 1.0


def test_nic_is_used_only_between_servers() -> None:
    # Each end of the edge is booked with 1.5 NICs: 2 s take 3 s.
    job = a_job(1, 2, [(0, 1, 2 * SECOND)], {"nic_demand": NIC * 3 // 2, "cpu_demand": 100})
    (across,) = place_all([job], Place(0, (0, 4), None))
    assert across.iteration_time == 1 + 3 + 1
    (inside,) = place_all([job], Place(0, (0, 1), None))
    assert inside.iteration_time == 2
    assert [task.nic_used for task in inside.tasks] == [0, 0]
    assert [task.nic_used for task in across.tasks] == [NIC * 3 // 2] * 2
    (without,) = place_all([job], Place(0, (0, 4), None), contention=False)
    assert without.iteration_time == 1 + 2 + 1


def test_the_slower_end_of_an_edge_counts() -> None:
    tasks = [{"nic_demand": 4 * NIC, "cpu_demand": 100}, {"nic_demand": 2 * NIC, "cpu_demand": 100}]
    (job,) = place_all([a_job(1, 2, [(0, 1, SECOND)], tasks)], Place(0, (0, 4), None))
    assert job.iteration_time == 1 + 4 + 1


def test_gpu_speed() -> None:
    (job,) = place_all([chain()], Place(0, (0, 1, 4), None), gpu_speed=2.0)
    assert job.iteration_time == (1 + 2 + 3) / 2 + 2
    (crowded,) = place_all([chain()], Place(0, (0, 0, 0), None), gpu_speed=2.0)
    assert crowded.iteration_time == 1.5 * (1 + 2 + 3) / 2
