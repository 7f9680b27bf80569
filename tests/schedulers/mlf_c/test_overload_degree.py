"""The overload degree, by hand (CoNEXT 2020, section 3.5; ToN 2022)."""

from __future__ import annotations

import pytest

from mlfs_gym.schedulers.mlf_c.control import end_round, is_overloaded, new_control
from mlfs_gym.schedulers.mlf_c.overload_degree import cluster_overload_degree, server_overload_degree
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from tests.builders import MEMORY, NIC, J, at_first_round, place


def test_an_empty_cluster_has_degree_0() -> None:
    cluster = at_first_round(J(), servers=2)
    assert cluster_overload_degree(cluster.state) == 0.0


def test_the_degree_of_a_server_is_the_norm_of_its_four_utilisations() -> None:
    # One of two GPUs at 80%: 0.4. CPU 3 of 10 cores, memory 20 of 100 GiB. Alone on its server it sends nothing.
    cluster = at_first_round(J(gpu=800, cpu=3000, memory=MEMORY // 5, nic=NIC / 2), servers=4, gpus=2)
    place(cluster, 0, 0)
    expected = (0.4**2 + 0.3**2 + 0.2**2) ** 0.5
    assert server_overload_degree(cluster.state, 0) == pytest.approx(expected)
    assert server_overload_degree(cluster.state, 1) == 0.0
    assert cluster_overload_degree(cluster.state) == pytest.approx(expected / 4)


def test_the_network_counts_while_a_job_spans_servers() -> None:
    job = J(compute=(10.0, 10.0), edges=((0, 1, 1e6),), gpu=600, nic=(0.8 * NIC, 0.8 * NIC))
    cluster = at_first_round(job, servers=2)
    place(cluster, 0, 0, 1)
    assert server_overload_degree(cluster.state, 0) == pytest.approx((0.6**2 + 0.8**2) ** 0.5)
    assert cluster_overload_degree(cluster.state) == pytest.approx(1.0)


@pytest.mark.parametrize(("gpu", "overloaded"), [(900, False), (901, True)])
def test_the_cluster_is_overloaded_above_hs(gpu: int, overloaded: bool) -> None:
    cluster = at_first_round(J(gpu=gpu))
    place(cluster, 0, 0)
    assert is_overloaded(cluster.state, new_control(cluster.jobs, MLFCParams())) == overloaded


def test_the_cluster_is_overloaded_while_the_last_round_left_a_task_queued() -> None:
    cluster = at_first_round(J(gpu=500), J(gpu=500), gpus=2)
    control = new_control(cluster.jobs, MLFCParams())
    place(cluster, 0, 0)
    assert not is_overloaded(cluster.state, control)  # job 1 has not been refused yet
    end_round(cluster.state, control)
    assert is_overloaded(cluster.state, control)
    place(cluster, 1, 1)
    end_round(cluster.state, control)
    assert not is_overloaded(cluster.state, control)
