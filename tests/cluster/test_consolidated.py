"""Consolidated placement: best fit, wholly free servers, remainder; by hand."""

from __future__ import annotations

import pytest

from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import GPU_MEMORY, MEMORY, J, at_first_round, place


def gang(partitions: int, **changes: object) -> J:
    return J(compute=(1.0,) * partitions, **changes)  # type: ignore[arg-type]


def occupied(used: list[int], *jobs: J, gpus: int = 4, **options: object) -> SimulatedCluster:
    """Servers with so many busy GPUs each, from the left, then the jobs of interest behind the tenants."""
    tenants = [J() for _ in range(sum(used))]
    cluster = at_first_round(*tenants, *jobs, servers=len(used), gpus=gpus, **options)
    hosts = [server * gpus + gpu for server, count in enumerate(used) for gpu in range(count)]
    for tenant, host in enumerate(hosts):
        place(cluster, tenant, host)
    return cluster


def gpus_of(cluster: SimulatedCluster, job: int) -> list[int]:
    """GPUs of a job after one consolidated placement; empty if it did not fit."""
    placed = cluster.place(job)
    check_invariants(cluster.state)
    row = cluster.jobs[job]
    found = cluster.tasks["gpu"][row["first_task"] : row["first_task"] + row["num_gpus"]]
    assert placed == bool((found >= 0).any())
    return [int(gpu) for gpu in found if gpu >= 0]


@pytest.mark.parametrize(
    ("used", "partitions", "expected"),
    [
        ([0, 2, 3], 1, [11]),  # free 4, 2, 1: the fullest
        ([0, 2, 3], 2, [6, 7]),
        ([0, 2, 3], 3, [0, 1, 2]),
        ([2, 2, 2], 2, [2, 3]),  # the first among equals
        ([1, 1, 1], 4, []),  # 9 GPUs are free, but on no single server 4: it waits
        ([4, 4, 0], 4, [8, 9, 10, 11]),
    ],
)
def test_a_gang_that_fits_one_server_goes_to_the_one_it_fits_best(
    used: list[int], partitions: int, expected: list[int]
) -> None:
    assert gpus_of(occupied(used, gang(partitions)), sum(used)) == expected


@pytest.mark.parametrize(
    ("used", "partitions", "expected"),
    [
        ([0, 2, 0, 0], 8, [0, 1, 2, 3, 8, 9, 10, 11]),  # two wholly free servers
        ([0, 2, 0, 0], 10, [0, 1, 2, 3, 8, 9, 10, 11, 6, 7]),  # the remainder where it fits best
        ([0, 2, 0, 3], 9, [0, 1, 2, 3, 8, 9, 10, 11, 15]),
        ([0, 2, 1, 1], 8, []),  # 12 are free, but no two servers wholly
        ([0, 2, 3, 3], 6, [0, 1, 2, 3, 6, 7]),
        ([0, 3, 3, 3], 6, []),  # the remainder of 2 finds 1 + 1 + 1: it is not split
        ([0, 0, 0, 0], 5, [0, 1, 2, 3, 4]),
    ],
)
def test_a_larger_gang_takes_free_servers_and_one_for_the_remainder(
    used: list[int], partitions: int, expected: list[int]
) -> None:
    assert gpus_of(occupied(used, gang(partitions)), sum(used)) == expected


@pytest.mark.parametrize("sharing", [True, False])
def test_shared_gpus_are_filled_to_their_capacity(sharing: bool) -> None:
    # Tenants of 0.6 on GPUs 0 and 1. A task of 0.4 fits beside the first, one of 0.5 does not.
    jobs = [J(gpu=600), J(gpu=600), J(gpu=400), J(gpu=500)]
    cluster = at_first_round(*jobs, gpus=3, sharing=sharing)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    # Of GPUs that may take it the least used is taken: the empty one.
    assert gpus_of(cluster, 2) == [2]
    assert gpus_of(cluster, 3) == ([2] if sharing else [])  # 0.4 + 0.5 beside job 2


def test_a_server_without_cpu_to_spare_is_not_shared_further() -> None:
    # 6 of 10 cores taken; a task of 5 cores goes to the other server, though it has more free GPUs.
    cluster = at_first_round(J(cpu=6000), J(cpu=5000), servers=2, gpus=2)
    place(cluster, 0, 0)
    assert gpus_of(cluster, 1) == [2]


def test_memory_of_either_kind_is_respected() -> None:
    tenant = J(gpu=100, gpu_memory=GPU_MEMORY - 1000, memory=MEMORY - 1000)
    for needy in (J(gpu=100, gpu_memory=1001), J(gpu=100, memory=1001)):
        cluster = at_first_round(tenant, needy)
        place(cluster, 0, 0)
        assert gpus_of(cluster, 1) == []
    cluster = at_first_round(tenant, J(gpu=100, gpu_memory=1000, memory=1000))
    place(cluster, 0, 0)
    assert gpus_of(cluster, 1) == [0]


def test_the_parameter_server_sits_beside_the_first_partition_if_memory_permits() -> None:
    for memory, expected in ((1000, 0), (MEMORY - 2000, 0), (MEMORY - 1999, 1)):
        cluster = at_first_round(gang(2, ps=True, ps_memory=memory, memory=1000), servers=3, gpus=2)
        assert gpus_of(cluster, 0) == [0, 1]
        assert cluster.tasks["server"][2] == expected


def test_every_replica_is_a_placement_of_its_own() -> None:
    cluster = at_first_round(gang(2, replicas=3), servers=2, gpus=3)
    assert cluster.place_all(0) == 2  # a server of three GPUs takes one replica of two; one each
    assert cluster.jobs["running_replicas"][0] == 2
    assert cluster.tasks["gpu"].tolist() == [0, 1, 3, 4, -1, -1]


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param(MEMORY // 2, id="two per server"),
        pytest.param((1000, MEMORY // 2, MEMORY // 2, MEMORY // 2), id="the first is small"),
    ],
)
def test_memory_may_force_a_gang_onto_several_servers(memory: int | tuple[int, ...]) -> None:
    # Four GPUs a server, but host memory for two of these tasks: the workload is valid (it fits two servers), so an
    # idle cluster must take it, or FIFO would wait for ever.
    cluster = at_first_round(gang(4, memory=memory), servers=3, gpus=4)
    assert len(gpus_of(cluster, 0)) == 4
