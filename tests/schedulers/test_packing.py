"""Hosts for a replica on one given server and spread over servers."""

from __future__ import annotations

from mlfs_gym.schedulers.packing import hosts_on_server, spread_hosts
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, place


def spread(cluster: SimulatedCluster, job: int) -> list[int] | None:
    hosts = cluster.hosts_scratch
    hosts[:] = -7
    return hosts.tolist() if spread_hosts(cluster.state, job, hosts) else None


def on_server(cluster: SimulatedCluster, job: int, server: int) -> list[int] | None:
    hosts = cluster.hosts_scratch
    hosts[:] = -7
    return hosts.tolist() if hosts_on_server(cluster.state, job, server, hosts) else None


def three(**fields: object) -> J:
    return J(compute=(1.0, 1.0, 1.0), **fields)  # type: ignore[arg-type]


def test_spread_takes_the_emptiest_servers_first() -> None:
    # Servers of 2 GPUs with 1, 2 and 1 of them free.
    cluster = at_first_round(J(), J(), three(), servers=3, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 4)
    assert spread(cluster, 2) == [2, 3, 1, -7]


def test_spread_goes_where_consolidated_cannot() -> None:
    cluster = at_first_round(J(), J(), J(compute=(1.0, 1.0)), servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    assert not cluster.place(2)
    assert spread(cluster, 2) == [1, 3, -7]


def test_spread_fails_when_all_together_have_too_few() -> None:
    cluster = at_first_round(J(), J(), three(), servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    assert spread(cluster, 2) is None


def test_spread_shares_a_gpu_only_up_to_its_compute() -> None:
    jobs = (J(gpu=500), J(gpu=600), J(compute=(1.0, 1.0), gpu=500))
    cluster = at_first_round(*jobs, servers=2, gpus=1)
    place(cluster, 0, 0)
    assert spread(cluster, 2) == [0, 1, -7]
    place(cluster, 1, 1)
    assert spread(cluster, 2) is None


def test_spread_puts_the_parameter_server_where_memory_is() -> None:
    # Two GPUs of two servers; 60 GiB of 100 go to each partition, so the parameter server of 50 goes elsewhere.
    cluster = at_first_round(
        J(compute=(1.0, 1.0), ps=True, memory=60 * 1024, ps_memory=50 * 1024), servers=3, gpus=1, sharing=False
    )
    assert spread(cluster, 0) == [0, 1, 2]


def test_one_server_takes_all_partitions_or_none() -> None:
    cluster = at_first_round(J(), J(compute=(1.0, 1.0), ps=True), servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    assert on_server(cluster, 1, 0) is None
    assert on_server(cluster, 1, 1) == [2, 3, 1]


def test_one_server_counts_the_memory_of_the_parameter_server() -> None:
    job = J(compute=(1.0, 1.0), ps=True, memory=30 * 1024, ps_memory=50 * 1024)
    cluster = at_first_round(job, gpus=2, sharing=False)
    assert on_server(cluster, 0, 0) is None
