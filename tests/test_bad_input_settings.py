"""A wrong setting gives one line that names the field, what was found and what is expected."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import mlfs_gym
from mlfs_gym.agents.config import train_config
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.config import ClusterConfig, RewardWeights, SimulationConfig
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv
from mlfs_gym.errors import MlfsError, SchedulerError, SettingsError, WorkloadError
from mlfs_gym.schedulers import Scheduler, make_scheduler
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.workloads import make_workload
from mlfs_gym.workloads.toy import toy


class Idler(Scheduler):
    """Never places anything."""

    name = "idler"

    def schedule(self, cluster: Cluster) -> None:
        pass


class NeedsArguments(Scheduler):
    """Cannot be made by its name alone."""

    def __init__(self, patience: float) -> None:
        self.patience = patience

    def schedule(self, cluster: Cluster) -> None:
        pass


class NoScheduler:
    """Has no schedule method."""


HERE = "tests.test_bad_input_settings"
NAN, INF = float("nan"), float("inf")

SETTINGS: list[tuple[Callable[[], object], list[str]]] = [
    (lambda: ClusterConfig.parse({"server": 5}), ["'server'", "unknown", "gpus_per_server"]),
    (lambda: ClusterConfig.parse(servers=0), ["'servers': found 0, expected a number greater than or equal to 1"]),
    (lambda: train_config(evaluation={"compare_with": 3}), ["found 3, expected a valid tuple"]),
    (lambda: train_config(evaluation={"compare_with": []}), ["found [], expected at least 1 item"]),
    (lambda: train_config(device="foo"), ["'device'", "found 'foo', expected cpu, cuda"]),
    (lambda: ClusterConfig.parse(servers=2.5), ["'servers'", "found 2.5", "integer"]),
    (lambda: ClusterConfig.parse(gpus_per_server="four"), ["'gpus_per_server'", "'four'", "integer"]),
    (lambda: ClusterConfig.parse(gpu_memory_gib=-16), ["'gpu_memory_gib'", "found -16", "greater than 0"]),
    (lambda: ClusterConfig.parse(nic_gbit_per_s=NAN), ["'nic_gbit_per_s'", "nan", "finite"]),
    (lambda: ClusterConfig.parse(memory_gib=INF), ["'memory_gib'", "inf", "finite"]),
    (lambda: ClusterConfig.parse(servers=10**9), ["'servers'", "1000000000", "100000"]),
    (lambda: SimulationConfig.parse(round_seconds=0), ["'round_seconds'", "found 0"]),
    (lambda: SimulationConfig.parse(fluctuation=1.0), ["'fluctuation'", "found 1.0", "less than 1"]),
    (lambda: SimulationConfig.parse(sharing="perhaps"), ["'sharing'", "'perhaps'", "boolean"]),
    (lambda: SimulationConfig.parse(time_limit_seconds=NAN), ["'time_limit_seconds'", "nan", "finite"]),
    (lambda: RewardWeights.parse(jct=-0.5), ["'jct'", "found -0.5", "0"]),
    (lambda: RewardWeights.parse({"speed": 1.0}), ["'speed'", "unknown", "bandwidth"]),
    (lambda: MLFHParams.parse(alpha=1.5), ["'alpha'", "found 1.5", "1"]),
    (lambda: MLFHParams.parse({"beta": 1}), ["'beta'", "unknown", "alpha"]),
    (lambda: make_scheduler("lifo"), ["scheduler", "'lifo'", "fifo", "mlf_h", "module:Class"]),
    (lambda: make_scheduler("mlf-h"), ["scheduler", "'mlf-h' (did you mean mlf_h?)"]),
    (lambda: make_scheduler("srft+mlf_c"), ["scheduler", "'srft' (did you mean srtf?)"]),
    (lambda: make_scheduler("no.such.module:Class"), ["scheduler", "no.such.module", "looked in", os.getcwd()]),
    (lambda: make_scheduler("math:Class"), ["scheduler", "math:Class", ": none"]),
    (lambda: make_scheduler(f"{HERE}:Idlr"), ["'Idlr'", "test_bad_input_settings.py: Idler, NeedsArguments"]),
    (lambda: make_scheduler("math:pi"), ["scheduler", "math:pi"]),
    (lambda: make_scheduler(f"{HERE}:NoScheduler"), ["scheduler", "NoScheduler", "mlfs_gym.schedulers.Scheduler"]),
    (lambda: make_scheduler(f"{HERE}:NeedsArguments"), ["scheduler", "NeedsArguments", "patience"]),
    (lambda: make_workload("huge"), ["workload", "'huge'", "small", "testbed", "toy"]),
    (lambda: make_workload("small", jobs=0), ["option 'jobs': found 0, expected a whole number of 1 or more"]),
    (lambda: make_workload("testbed", jobs=2.5), ["option 'jobs': found 2.5"]),
    (lambda: make_workload("philly", jobs=-1), ["option 'jobs': found -1"]),
    (lambda: make_workload("small", load=NAN), ["'load'", "nan", "finite"]),
    (lambda: make_workload("small", load=-1.0), ["'load'", "found -1.0", "greater than 0"]),
    (lambda: make_workload("toy", jobs=3), ["'jobs'", "unknown"]),
    (lambda: mlfs_gym.simulate("huge", "fifo"), ["workload", "'huge'"]),
    (lambda: mlfs_gym.simulate("toy", "lifo"), ["scheduler", "'lifo'"]),
    (lambda: mlfs_gym.simulate("toy", NoScheduler()), ["scheduler", "NoScheduler"]),  # type: ignore[arg-type]
    (lambda: mlfs_gym.simulate(3, "fifo"), ["workload", "found 3"]),  # type: ignore[arg-type]
    (lambda: mlfs_gym.simulate("toy", "fifo", seed=-1), ["seed", "found -1", "0"]),
    (lambda: mlfs_gym.simulate("toy", "fifo", seed=2**63), ["seed", "2**63 - 1"]),
    (lambda: mlfs_gym.simulate("toy", "fifo", seed=0.5), ["seed", "0.5"]),  # type: ignore[arg-type]
    (lambda: mlfs_gym.simulate("toy", "fifo", cluster={"gpus": 8}), ["'gpus'", "unknown"]),
    (lambda: mlfs_gym.simulate("toy", "fifo", simulation={"redraw_seconds": -1}), ["'redraw_seconds'", "-1"]),
]


@pytest.mark.parametrize(("make", "mentions"), SETTINGS)
def test_wrong_setting_is_named(make: Callable[[], object], mentions: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        make()
    assert_one_line(caught.value, mentions)


def test_each_wrong_field_is_named() -> None:
    with pytest.raises(SettingsError) as caught:
        ClusterConfig.parse(servers=0, gpu_speed=NAN, colour="red")
    assert_one_line(caught.value, ["'servers'", "'gpu_speed'", "'colour'"])


@pytest.mark.parametrize(
    ("kwargs", "mentions"),
    [
        ({"preset": "huge"}, ["preset", "'huge'", "small", "testbed"]),
        ({"cluster": {"servers": 0}}, ["'servers'", "found 0"]),
        ({"cluster": {"colour": "red"}}, ["'colour'", "unknown"]),
        ({"simulation": {"fluctuation": NAN}}, ["'fluctuation'", "nan"]),
        ({"workload": "huge"}, ["workload", "'huge'", "small"]),
        ({"load": NAN}, ["load", "nan"]),
        ({"load": -1.0}, ["load", "-1.0"]),
        ({"jobs": 0}, ["jobs", "found 0"]),
        ({"sharing": "perhaps"}, ["'sharing'", "'perhaps'"]),
        ({"reward": "sparse"}, ["reward", "'sparse'", "dense", "paper"]),
        ({"reward_weights": {"deadline": -1}}, ["'deadline'", "found -1"]),
        ({"reward_weights": {"speed": 1}}, ["'speed'", "unknown"]),
        ({"end_round": "never"}, ["end_round", "'never'", "always"]),
        ({"window": {"slots": 0}}, ["'slots'", "found 0"]),
        ({"window": {"columns": 5}}, ["'columns'", "unknown"]),
        ({"mlf_h": {"gamma": 2}}, ["'gamma'", "found 2"]),
        ({"max_episode_steps": 0}, ["max_episode_steps", "found 0"]),
        ({"render_mode": "ascii"}, ["render_mode", "'ascii'", "ansi"]),
        ({"cluster": {"servers": 1, "gpus_per_server": 1}, "workload": toy()}, ["num_gpus", "'wide'", "found 2"]),
    ],
)
def test_wrong_argument_of_an_environment_is_named(kwargs: dict[str, Any], mentions: list[str]) -> None:
    with pytest.raises(MlfsError) as caught:
        JobSchedulingEnv(**kwargs).reset(seed=0)
    assert_one_line(caught.value, mentions)


def test_job_with_more_gpus_than_the_cluster_is_named() -> None:
    with pytest.raises(WorkloadError) as caught:
        mlfs_gym.simulate("toy", "fifo", cluster={"servers": 1, "gpus_per_server": 1})
    assert_one_line(caught.value, ["toy", "job 'wide'", "'num_gpus'", "found 2", "cluster's 1"])


def test_scheduler_that_places_nothing_is_told() -> None:
    with pytest.raises(SchedulerError) as caught:
        mlfs_gym.simulate("toy", Idler())
    assert_one_line(caught.value, ["'idler'", "4 job(s)", "wide"])


def assert_one_line(error: Exception, mentions: list[str]) -> None:
    text = str(error)
    assert "\n" not in text
    assert [mention for mention in mentions if mention not in text] == [], text
