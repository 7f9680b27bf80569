"""`mlfs_gym.simulate`."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import mlfs_gym
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.config import SimulationConfig
from mlfs_gym.envs.presets import PRESETS
from mlfs_gym.report.metrics import METRICS
from mlfs_gym.schedulers import make_scheduler, scheduler_names
from mlfs_gym.workloads import default_cluster, default_simulation, make_workload
from mlfs_gym.workloads.toy import TOY_CLUSTER, TOY_FIFO_JCT_SECONDS, TOY_SHORTEST_FIRST_JCT_SECONDS, toy

EXACT = {"sharing": False, "contention": False}


@pytest.mark.parametrize(
    ("scheduler", "jct"), [("fifo", TOY_FIFO_JCT_SECONDS), ("sjf", TOY_SHORTEST_FIRST_JCT_SECONDS)]
)
def test_toy_solved_by_hand(scheduler: str, jct: float) -> None:
    result = mlfs_gym.simulate(toy(), scheduler, TOY_CLUSTER, EXACT)
    assert result.metrics["average_jct_s"] == pytest.approx(jct)
    assert result.scheduler == scheduler
    assert not result.reached_limit
    assert result.scheduler_ms_per_round > 0


def test_table_of_jobs_agrees_with_metrics() -> None:
    result = mlfs_gym.simulate(make_workload("small", 2, jobs=40), "srtf", simulation={"sharing": False})
    jobs = result.jobs
    assert isinstance(jobs, pd.DataFrame)
    assert len(jobs) == 40
    assert set(jobs["status"]) == {"finished"}
    assert jobs["jct_s"].mean() == pytest.approx(result.metrics["average_jct_s"])
    assert jobs["waiting_s"].mean() == pytest.approx(result.metrics["average_waiting_s"])
    assert jobs["met_deadline"].mean() == pytest.approx(result.metrics["deadline_ratio"])
    assert jobs["met_accuracy"].mean() == pytest.approx(result.metrics["accuracy_guarantee_ratio"])
    assert jobs["preemptions"].sum() == result.metrics["preemptions"] > 0
    assert jobs["bytes_sent"].sum() / 1e12 == pytest.approx(result.metrics["bandwidth_tb"])
    assert np.allclose(jobs["iterations"], jobs["max_iterations"])
    assert (jobs["first_start_s"] >= jobs["arrival_s"]).all()


@pytest.mark.parametrize("scheduler", scheduler_names())
def test_name_or_instance_and_settings_or_mapping_are_the_same(scheduler: str) -> None:
    by_name = mlfs_gym.simulate("small", scheduler, simulation={"sharing": False}, seed=5)
    workload = make_workload("small", 5)
    by_instance = mlfs_gym.simulate(
        workload, make_scheduler(scheduler), simulation=SimulationConfig(sharing=False), seed=5
    )
    assert set(by_name.metrics) == set(METRICS)
    pd.testing.assert_frame_equal(by_name.jobs, by_instance.jobs)


def test_a_name_brings_its_own_sharing_and_cluster() -> None:
    """The same as on the command line and in the environment of that name."""
    for name, preset in PRESETS.items():
        assert default_simulation(name) == preset.simulation
        assert default_cluster(name) == preset.cluster
    plain = mlfs_gym.simulate("small", "fifo", simulation={"contention": False}, cluster={"servers": 6}).cluster
    assert not plain.simulation_config.sharing
    assert not plain.simulation_config.contention
    assert plain.cluster_config.servers == 6
    assert mlfs_gym.simulate("small", "fifo", simulation={"sharing": True}).cluster.simulation_config.sharing
    assert mlfs_gym.simulate("small", "fifo", simulation=SimulationConfig()).cluster.simulation_config.sharing
    assert mlfs_gym.simulate("testbed", "fifo").cluster.cluster_config.servers == 20


def test_watching_changes_nothing() -> None:
    ended: list[int] = []

    def watch(cluster: Cluster) -> None:
        ended.append(int(cluster.state.clock["num_done"][0]))

    watched = mlfs_gym.simulate("small", "mlf_h", seed=1, on_round=watch)
    alone = mlfs_gym.simulate("small", "mlf_h", seed=1)
    pd.testing.assert_frame_equal(watched.jobs, alone.jobs)
    assert watched.scheduler == "mlf_h"
    assert len(ended) == watched.metrics["rounds"]
    assert ended == sorted(ended)


def test_time_limit_is_told() -> None:
    result = mlfs_gym.simulate("toy", "fifo", TOY_CLUSTER, {**EXACT, "time_limit_seconds": 700.0})
    assert result.reached_limit
    assert result.metrics["finished"] == 1
    assert result.jobs["status"].tolist().count("finished") == 1
    assert math.isnan(result.jobs["finish_s"].iloc[-1])
    assert not result.jobs["met_deadline"].iloc[-1]


def test_package_loads_the_simulator_on_first_use() -> None:
    code = "import sys, mlfs_gym; assert 'numba' not in sys.modules; mlfs_gym.simulate; assert 'numba' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "simulate" in dir(mlfs_gym)
    with pytest.raises(AttributeError, match="no attribute 'imitate'"):
        mlfs_gym.imitate  # noqa: B018
