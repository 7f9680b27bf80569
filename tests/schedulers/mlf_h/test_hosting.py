"""The ideal virtual server: communication volumes, distances, and who may host, by hand.

Servers have 10 cores, 100 GiB and 1e9 bytes/s; here two GPUs each.
"""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import NONE
from mlfs_gym.schedulers.mlf_h.hosting import distances, may_host
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.placement import hosting_limit
from mlfs_gym.schedulers.mlf_h.survey import new_survey
from mlfs_gym.schedulers.mlf_h.utilisation import utilisation
from mlfs_gym.schedulers.mlf_h.volumes import communication_volumes, planned_servers
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import GPU_MEMORY, MEMORY, J, at_first_round, place

PARAMS = MLFHParams().record()


# --- communication volumes ----------------------------------------------------------------------
def volumes(cluster: SimulatedCluster, task: int) -> list[float]:
    row = cluster.tasks[task]
    planned = np.zeros(int(cluster.jobs["partitions"][row["job"]]) + 1, np.int64)
    planned_servers(cluster.state, row["job"], max(0, row["replica"]), planned)
    found = np.zeros(len(cluster.servers))
    communication_volumes(cluster.state, task, row["replica"], planned, found)
    return pytest.approx(found.tolist())


def test_a_partition_talks_to_its_neighbours_in_the_graph() -> None:
    job = J(compute=(1.0, 1.0, 1.0), edges=((0, 1, 3e7), (1, 2, 5e7)), gradient=9e9)
    cluster = at_first_round(job, servers=3, gpus=2)
    place(cluster, 0, 0, 2, 4)
    assert volumes(cluster, 0) == [0.0, 3e7, 0.0]
    assert volumes(cluster, 1) == [3e7, 0.0, 5e7]
    assert volumes(cluster, 2) == [0.0, 5e7, 0.0]


def test_in_a_ring_a_partition_talks_to_the_same_partition_of_other_replicas() -> None:
    # 2 * 1e8 * share with each: 0.25 and 0.75.
    job = J(replicas=3, compute=(1.0, 1.0), gradient=1e8, shares=(0.25, 0.75))
    cluster = at_first_round(job, servers=3, gpus=4)
    place(cluster, 0, 0, 4)
    place(cluster, 0, 1, 8)
    assert volumes(cluster, 4) == [1e8, 0.0, 0.0]  # partition 0 of replica 2, not placed yet: two peers on server 0
    assert volumes(cluster, 5) == [0.0, 1.5e8, 1.5e8]
    assert volumes(cluster, 0) == [5e7, 0.0, 0.0]  # one peer, beside it


def test_with_a_parameter_server_a_partition_talks_to_that() -> None:
    job = J(replicas=2, compute=(1.0, 1.0), ps=True, gradient=1e8, shares=(0.25, 0.75))
    cluster = at_first_round(job, servers=3, gpus=2)
    place(cluster, 0, 0, 2, 2)
    assert volumes(cluster, 0) == [0.0, 0.0, 5e7]
    assert volumes(cluster, 3) == [0.0, 0.0, 1.5e8]  # of the replica that is to come
    assert volumes(cluster, 4) == [5e7, 1.5e8, 0.0]  # the parameter server: all placed partitions


# --- distances ----------------------------------------------------------------------------------
def three_servers() -> SimulatedCluster:
    """Server 0: GPU 0.4, CPU 0.3, memory 0.1. Server 1: GPU 0.2, CPU 0.5, memory 0.2. Server 2: nothing."""
    cluster = at_first_round(
        J(gpu=800, cpu=3000, memory=MEMORY // 10), J(gpu=400, cpu=5000, memory=MEMORY // 5), servers=3, gpus=2
    )  # fmt: skip
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    return cluster


def distance(cluster: SimulatedCluster, sent: tuple[float, ...], weight: float = 1.0) -> list[float]:
    params = MLFHParams(bandwidth_weight=weight).record()
    survey = new_survey(cluster.state, params)
    survey.volumes[:] = sent
    distances(cluster.state, params, survey)
    return pytest.approx(survey.distances.tolist(), rel=1e-12)


def test_utilisation_of_each_resource() -> None:
    cluster = three_servers()
    assert [utilisation(cluster.state, 0, resource) for resource in range(4)] == [0.4, 0.3, 0.1, 0.0]
    assert [utilisation(cluster.state, 1, resource) for resource in range(4)] == [0.2, 0.5, 0.2, 0.0]


def test_distance_without_communication_is_that_of_utilisations() -> None:
    # Ideal: 0 everywhere (server 2). 0: 0.16 + 0.09 + 0.01 = 0.26; 1: 0.04 + 0.25 + 0.04 = 0.33.
    assert distance(three_servers(), (0.0, 0.0, 0.0)) == [0.26**0.5, 0.33**0.5, 0.0]


def test_distance_counts_the_communication_that_a_server_lacks() -> None:
    # Most is 1e8, on server 0. 1: (1e8 - 5e7) / 1e8 = 0.5, 0.33 + 0.25 = 0.58; 2: 0 + 1.
    assert distance(three_servers(), (1e8, 5e7, 0.0)) == [0.26**0.5, 0.58**0.5, 1.0]


def test_the_bandwidth_term_has_a_weight() -> None:
    assert distance(three_servers(), (1e8, 5e7, 0.0), weight=0.0) == [0.26**0.5, 0.33**0.5, 0.0]
    assert distance(three_servers(), (1e8, 5e7, 0.0), weight=4.0) == [0.26**0.5, (0.33 + 1.0) ** 0.5, 2.0]


def test_the_ideal_is_taken_resource_by_resource() -> None:
    # Server 2 now: GPU 0.5, CPU 0.1, memory 0. Ideal: GPU 0.2 (server 1), CPU 0.1, memory 0 (server 2).
    cluster = at_first_round(
        J(gpu=800, cpu=3000, memory=MEMORY // 10), J(gpu=400, cpu=5000, memory=MEMORY // 5),
        J(gpu=1000, cpu=1000), servers=3, gpus=2,
    )  # fmt: skip
    for job, gpu in enumerate((0, 2, 4)):
        place(cluster, job, gpu)
    # 0: 0.2**2 + 0.2**2 + 0.1**2 = 0.09; 1: 0 + 0.4**2 + 0.2**2 = 0.2; 2: 0.3**2 = 0.09
    assert distance(cluster, (0.0, 0.0, 0.0)) == [0.3, 0.2**0.5, 0.3]


def test_overloaded_servers_do_not_shape_the_ideal() -> None:
    # Server 2: one GPU at 1.2 with two tasks, CPU and memory idle. Ideal from servers 0 and 1: GPU 0.2, CPU 0.3,
    # memory 0.1; most communication 1e8, though 4e8 are on server 2, which lacks nothing.
    cluster = at_first_round(
        J(gpu=800, cpu=3000, memory=MEMORY // 10), J(gpu=400, cpu=5000, memory=MEMORY // 5),
        J(gpu=600), J(gpu=600), servers=3, gpus=2,
    )  # fmt: skip
    for job, gpu in enumerate((0, 2, 4, 4)):
        place(cluster, job, gpu)
    # 0: 0.2**2 = 0.04; 1: 0.2**2 + 0.1**2 + 0.5**2 = 0.3; 2: 0.4**2 + 0.3**2 + 0.1**2 = 0.26
    assert distance(cluster, (1e8, 5e7, 4e8)) == [0.2, 0.3**0.5, 0.26**0.5]


# --- may host -----------------------------------------------------------------------------------
def hosts(tenant: J, candidate: J, *, gpus: int = 2, limit: float = 0.9, remote: bool = False) -> int:
    """The GPU that takes the candidate on a server with a tenant on GPU 0."""
    cluster = at_first_round(tenant, candidate, servers=2, gpus=gpus)
    place(cluster, 0, 0)
    return may_host(cluster.state, 1, 0, limit, remote)


@pytest.mark.parametrize(("demand", "gpu"), [(400, 0), (401, NONE)])
def test_a_shared_gpu_stays_at_or_below_the_limit(demand: int, gpu: int) -> None:
    assert hosts(J(gpu=500), J(gpu=demand), gpus=1) == gpu


def test_an_empty_gpu_takes_any_task() -> None:
    assert hosts(J(gpu=500), J(gpu=1000)) == 1


def test_exclusive_gpus_take_one_task() -> None:
    cluster = at_first_round(J(gpu=100), J(gpu=100), gpus=2, sharing=False)
    place(cluster, 0, 0)
    assert may_host(cluster.state, 1, 0, 0.9, False) == 1
    place(cluster, 1, 1)
    other = at_first_round(J(gpu=100), J(gpu=100), gpus=1, sharing=False)
    place(other, 0, 0)
    assert may_host(other.state, 1, 0, 0.9, False) == NONE


@pytest.mark.parametrize(("cpu", "gpu"), [(4000, 1), (4001, NONE)])
def test_cpu_stays_at_or_below_the_limit(cpu: int, gpu: int) -> None:
    assert hosts(J(cpu=5000), J(cpu=cpu)) == gpu


@pytest.mark.parametrize(("memory", "gpu"), [(MEMORY * 4 // 10, 1), (MEMORY * 4 // 10 + 1, NONE)])
def test_memory_stays_at_or_below_the_limit(memory: int, gpu: int) -> None:
    assert hosts(J(memory=MEMORY // 2), J(memory=memory)) == gpu


def test_an_empty_server_takes_what_it_can_hold_at_all() -> None:
    cluster = at_first_round(J(cpu=9999, memory=MEMORY, gpu=1000), servers=1, gpus=1)
    assert may_host(cluster.state, 0, 0, 0.9, False) == 0


def test_host_memory_is_hard_even_without_limit() -> None:
    tenant = J(memory=MEMORY // 2)
    assert hosts(tenant, J(memory=MEMORY // 2), limit=np.inf) == 1
    assert hosts(tenant, J(memory=MEMORY // 2 + 1), limit=np.inf) == NONE


def test_gpu_memory_is_hard_even_without_limit() -> None:
    tenant = J(gpu=100, gpu_memory=GPU_MEMORY // 2)
    assert hosts(tenant, J(gpu=100, gpu_memory=GPU_MEMORY // 2), gpus=1, limit=np.inf) == 0
    assert hosts(tenant, J(gpu=100, gpu_memory=GPU_MEMORY // 2 + 1), gpus=1, limit=np.inf) == NONE


def test_the_nic_counts_for_tasks_that_talk_to_other_servers() -> None:
    # A job that spans servers asks for 0.5e9 of server 0's 1e9.
    cluster = at_first_round(J(compute=(1.0, 1.0), nic=5e8), J(nic=4e8), J(nic=4e8 + 1), servers=2, gpus=3)
    place(cluster, 0, 0, 3)
    assert may_host(cluster.state, 2, 0, 0.9, True) == 1
    assert may_host(cluster.state, 3, 0, 0.9, True) == NONE
    assert may_host(cluster.state, 3, 0, 0.9, False) == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(500, 300, 1), (300, 500, 0), (300, 300, 0)],  # the lower number among equals
)
def test_the_least_used_gpu_of_the_server_takes_the_task(first: int, second: int, expected: int) -> None:
    cluster = at_first_round(J(gpu=first), J(gpu=second), J(gpu=400), gpus=2)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    assert may_host(cluster.state, 2, 0, 0.9, False) == expected


def test_the_least_used_gpu_without_memory_is_passed_over() -> None:
    cluster = at_first_round(
        J(gpu=100, gpu_memory=GPU_MEMORY - 1), J(gpu=500), J(gpu=400, gpu_memory=2), gpus=2
    )  # fmt: skip
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    assert may_host(cluster.state, 2, 0, 0.9, False) == 1


def test_a_parameter_server_gets_a_server() -> None:
    cluster = at_first_round(J(cpu=5000), J(ps=True, ps_cpu=4000), J(ps=True, ps_cpu=4001), servers=3)
    place(cluster, 0, 2)
    assert [may_host(cluster.state, 2, server, 0.9, False) for server in range(3)] == [0, 1, 2]
    assert [may_host(cluster.state, 4, server, 0.9, False) for server in range(3)] == [0, 1, NONE]


def test_the_limit_is_lifted_on_an_idle_cluster_for_jobs_that_fit_nowhere_below_it() -> None:
    # 6 of 10 cores for each of two partitions on the only server.
    params = MLFHParams(overload_threshold=0.9).record()
    cluster = at_first_round(J(), J(compute=(1.0, 1.0), cpu=6000), J(), gpus=3)
    survey = new_survey(cluster.state, params)
    assert [hosting_limit(cluster.state, job, params, survey) for job in range(3)] == [0.9, np.inf, 0.9]
    place(cluster, 0, 0)
    assert [hosting_limit(cluster.state, job, params, survey) for job in (1, 2)] == [0.9, 0.9]
