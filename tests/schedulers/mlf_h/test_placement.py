"""Gangs on their ideal hosts: order within a gang, nearest servers, all or nothing."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import NONE
from mlfs_gym.cluster.decisions import place_replica
from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.placement import (
    enough_room,
    find_nearest_servers,
    first_task,
    hosting_limit,
    hosts_from,
    ideal_hosts,
    put_tasks_in_order,
)
from mlfs_gym.schedulers.mlf_h.scheduler import MLFH
from mlfs_gym.schedulers.mlf_h.survey import new_survey
from mlfs_gym.sim.engine import ROUND
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import MEMORY, J, at_first_round, contents, place, random_workload

PARAMS = MLFHParams().record()


def ideal(cluster: SimulatedCluster, job: int, params: np.ndarray = PARAMS) -> list[int] | None:
    """Where the next replica of a job would go: GPUs, then the parameter server's server if it brings it."""
    brings = cluster.jobs["parameter_server"][job] and not cluster.jobs["running_replicas"][job]
    survey = new_survey(cluster.state, PARAMS)
    before = contents(cluster.state)
    possible = ideal_hosts(cluster.state, job, params, survey)
    found = survey.hosts[: cluster.jobs["partitions"][job] + 1]
    assert contents(cluster.state) == before
    if not possible:
        return None
    return found.tolist() if brings else found[:-1].tolist()


# --- order within the gang ----------------------------------------------------------------------
def test_the_parameter_server_is_placed_first() -> None:
    cluster = at_first_round(J(replicas=2, compute=(1.0, 1.0), ps=True), servers=2, gpus=4)
    survey = new_survey(cluster.state, PARAMS)
    assert first_task(cluster.state, 0, PARAMS, survey) == 4
    place(cluster, 0, 0, 1, 0)
    assert first_task(cluster.state, 0, PARAMS, survey) == 2  # the second replica does not bring it
    place(cluster, 0, 2, 3)
    assert first_task(cluster.state, 0, PARAMS, survey) == NONE


def test_partitions_follow_by_priority() -> None:
    # Own terms 10 * share, gamma 0: 2 (0.5) before 0 (0.3) before 1 (0.2).
    job = J(compute=(1.0, 1.0, 1.0), edges=((0, 1, 1.0), (1, 2, 1.0)), shares=(0.3, 0.2, 0.5), urgency=10.0)
    cluster = at_first_round(job, gpus=3)
    survey = new_survey(cluster.state, PARAMS)
    put_tasks_in_order(cluster.state, 0, MLFHParams(gamma=0.0).record(), survey)
    assert survey.partitions.tolist() == [2, 0, 1]
    # Along a chain the children add up: the head of the chain is first.
    put_tasks_in_order(cluster.state, 0, PARAMS, survey)
    assert survey.partitions.tolist() == [0, 1, 2]
    assert first_task(cluster.state, 0, MLFHParams(gamma=0.0).record(), survey) == 2


def test_the_nearest_server_takes_the_parameter_server_and_its_peers_follow() -> None:
    # Server 0 has CPU 0.5, so servers 1 and 2 are nearest, 1 first. There the worker, which exchanges 2e8 bytes with
    # the parameter server: distance of server 1 is its utilisation alone (CPU 0.2), that of the others 1 or more.
    cluster = at_first_round(J(cpu=5000), J(ps=True, ps_cpu=2000, gradient=1e8), servers=3)
    place(cluster, 0, 0)
    survey = new_survey(cluster.state, PARAMS)
    find_nearest_servers(cluster.state, 1, PARAMS, survey)
    assert survey.nearest.tolist() == [1, 2, 0]
    assert ideal(cluster, 1) == [1, 1]


def test_without_the_bandwidth_term_the_peer_goes_to_the_emptiest_server() -> None:
    cluster = at_first_round(J(cpu=5000), J(ps=True, ps_cpu=2000, gradient=1e8), servers=3)
    place(cluster, 0, 0)
    assert ideal(cluster, 1, MLFHParams(bandwidth_weight=0.0).record()) == [2, 1]


def test_partitions_of_a_chain_stay_together_while_there_is_room() -> None:
    chain = J(compute=(1.0, 1.0, 1.0), edges=((0, 1, 1e8), (1, 2, 1e8)))
    assert ideal(at_first_round(chain, servers=2, gpus=4), 0) == [0, 1, 2]


def test_an_idle_cluster_is_not_oversubscribed_while_it_has_room() -> None:
    # Whole-GPU partitions, two GPUs per server. hr is lifted on an idle cluster, for a job that could not run
    # otherwise; this one can, without two partitions on one GPU.
    chain = J(compute=(1.0, 1.0, 1.0), edges=((0, 1, 1e8), (1, 2, 1e8)))
    assert ideal(at_first_round(chain, servers=2, gpus=2), 0) == [0, 1, 2]


def test_a_second_replica_goes_where_its_peers_are() -> None:
    # Ring: replica 0 on server 1. Distance of server 1: GPU 0.5 of 1; of server 0: 1 for the bytes it lacks.
    cluster = at_first_round(J(replicas=2, gradient=1e8), servers=2, gpus=2)
    place(cluster, 0, 2)
    assert ideal(cluster, 0) == [3]


def test_a_gang_may_share_one_gpu() -> None:
    gang = J(compute=(1.0, 1.0), gpu=400)
    for sharing, expected in ((True, [0, 0]), (False, None)):
        cluster = at_first_round(J(gpu=900), gang, gpus=2, sharing=sharing)
        place(cluster, 0, 1)
        assert ideal(cluster, 1) == expected


# --- limits -------------------------------------------------------------------------------------
def test_the_next_nearest_server_is_tried_when_the_gang_does_not_fit_around_the_nearest() -> None:
    # Both GPUs of server 0 are free; a tenant has one of server 1. Partitions need 60% of a server's memory each, so
    # two fit no single server, and with 90% in use next to the tenant, server 1 takes none.
    cluster = at_first_round(J(memory=MEMORY * 4 // 10), J(compute=(1.0, 1.0), memory=MEMORY * 6 // 10), servers=3)
    place(cluster, 0, 1)
    assert ideal(cluster, 1) == [0, 2]


def test_hr_is_lifted_for_the_first_job_of_an_idle_cluster_only() -> None:
    # Two partitions of 6 cores on the one server of 10: 1.2 is above 1.0.
    cluster = at_first_round(J(compute=(1.0, 1.0), cpu=6000), J(gpu=100), gpus=3)
    assert ideal(cluster, 0) == [0, 1]
    place(cluster, 1, 2)
    assert ideal(cluster, 0) is None


def test_nothing_fits_when_all_replicas_run() -> None:
    cluster = at_first_round(J(), gpus=2)
    place(cluster, 0, 0)
    assert ideal(cluster, 0) is None


def test_hosts_from_a_given_server_begin_there() -> None:
    cluster = at_first_round(J(compute=(1.0, 1.0), edges=((0, 1, 1e8),), ps=True, gradient=1e7), servers=3, gpus=2)
    survey = new_survey(cluster.state, PARAMS)
    put_tasks_in_order(cluster.state, 0, PARAMS, survey)
    for server in range(3):
        before = contents(cluster.state)
        assert hosts_from(cluster.state, 0, PARAMS, server, 0.9, survey)
        assert contents(cluster.state) == before
        assert survey.hosts.tolist() == [2 * server, 2 * server + 1, server]


# --- all or nothing -----------------------------------------------------------------------------
def test_a_trial_that_fails_half_way_leaves_no_trace() -> None:
    # GPUs at 0.7, 0.7, 0.9: beside the parameter server, partitions 0 and 1 find 0.1 and 0.15 of room, 2 does not.
    gang = J(compute=(1.0, 1.0, 1.0), gpu=(100, 150, 150), cpu=500, memory=512, gpu_memory=64, ps=True, ps_cpu=100)
    cluster = at_first_round(J(gpu=700), J(gpu=700), J(gpu=900), gang, gpus=3)
    for job in range(3):
        place(cluster, job, job)
    assert enough_room(cluster.state, 3, 0.9)  # so it is tried
    assert ideal(cluster, 3, MLFHParams(overload_threshold=0.9).record()) is None  # `ideal` compares every byte
    assert ideal(cluster, 3, MLFHParams(overload_threshold=1.1).record()) == [0, 1, 0, 0]


@pytest.mark.parametrize(
    "hosts",
    [
        (0, 1, 99, 0),  # no such GPU
        (0, 1, -1, 0),
        (0, 1, 2, 99),  # no such server
        (0, 1, 3, 0),  # the last partition meets a GPU whose memory is full
        (3, 0, 1, 0),  # the first does
        (0, 1, 2, 1),  # the parameter server meets a full server
    ],
)
def test_a_placement_that_fails_leaves_no_trace(hosts: tuple[int, ...]) -> None:
    tenant = J(gpu=900, gpu_memory=16 * 1024, memory=MEMORY - 1024)
    gang = J(compute=(1.0, 1.0, 1.0), gpu=300, gpu_memory=1024, memory=512, ps=True, ps_memory=2048)
    cluster = at_first_round(tenant, J(gpu=500), gang, servers=2, gpus=3)
    place(cluster, 0, 3)
    place(cluster, 1, 0)
    cluster.apply()
    before = contents(cluster.state)
    assert not cluster.place(2, hosts)
    cluster.apply()
    assert contents(cluster.state) == before


def test_a_failed_placement_on_a_contended_gpu_leaves_no_trace_after_the_round() -> None:
    # While it was tried, the tenant's GPU stood at 1.5; marks for a new look at speeds may remain until `apply`.
    cluster = at_first_round(J(gpu=900), J(compute=(1.0, 1.0), gpu=600), servers=2)
    place(cluster, 0, 0)
    cluster.apply()
    before = contents(cluster.state)
    assert not place_replica(cluster.state, 1, np.array([0, 5, 0]))
    cluster.apply()
    assert contents(cluster.state) == before


def test_a_job_that_fits_nowhere_does_not_block_the_ones_behind_it() -> None:
    # Job 0 is first (priority 10 against 1) but needs two empty GPUs of two; the tenant has one.
    big = J(compute=(1.0, 1.0), edges=((0, 1, 1e6),), urgency=10.0, arrival=0.0)
    cluster = at_first_round(J(iterations=1000), big, J(urgency=1.0), gpus=2)
    place(cluster, 0, 0)
    MLFH().schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [1, 0, 1]


# --- the quick test for room --------------------------------------------------------------------
@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_the_quick_test_never_denies_a_placement_that_exists(seed: int, sharing: bool) -> None:
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 30, 0.0, 8)
    config = {"servers": 4, "gpus_per_server": 2, "cpu_cores": 8, "memory_gib": 32, "nic_gbit_per_s": 2}
    cluster = SimulatedCluster(workload, config, {"sharing": sharing, "fluctuation": 0.3}, seed)
    assert cluster.advance() == ROUND
    survey = new_survey(cluster.state, PARAMS)
    denied = 0
    for job in rng.permutation(30):
        limit = hosting_limit(cluster.state, job, PARAMS, survey)
        room = enough_room(cluster.state, job, limit)
        put_tasks_in_order(cluster.state, job, PARAMS, survey)
        possible = [hosts_from(cluster.state, job, PARAMS, server, limit, survey) for server in range(4)]
        assert room or not any(possible)
        denied += not room
        if ideal_hosts(cluster.state, job, PARAMS, survey):
            assert place_replica(cluster.state, job, survey.hosts)
        check_invariants(cluster.state)
    assert denied > 0
