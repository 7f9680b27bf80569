"""The paper's generator: loads, sizes, shapes of jobs, and bytes that depend on the seed alone."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import NONE
from mlfs_gym.workloads import default_cluster, make_workload
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from mlfs_gym.workloads.workload import Workload
from tests.repository.paths import ROOT

WEEK = 7 * 86_400.0


def digest(workload: Workload) -> str:
    parts = (workload.jobs, workload.tasks, workload.edges)
    return hashlib.sha256(b"".join(part[name].tobytes() for part in parts for name in part.dtype.names)).hexdigest()


@pytest.mark.parametrize("load", [0.7, 1.6])
@pytest.mark.parametrize("seed", range(3))
def test_small_has_the_load_that_was_asked_for(seed: int, load: float) -> None:
    workload = make_workload("small", seed, load=load)
    assert 60 <= len(workload) <= 150
    assert workload.load(default_cluster("small")) == pytest.approx(load, rel=1e-6)
    assert workload.jobs["num_gpus"].max() <= 20


def test_small_has_60_to_150_jobs_and_uses_the_range() -> None:
    sizes = [len(make_workload("small", seed)) for seed in range(60)]
    assert min(sizes) < 80
    assert max(sizes) > 130


@pytest.mark.parametrize("jobs", [155, 620, 1860])
def test_testbed_is_one_week(jobs: int) -> None:
    workload = make_workload("testbed", 0, jobs=jobs)
    assert len(workload) == jobs
    assert np.ptp(workload.jobs["arrival"]) == pytest.approx(WEEK)
    assert set(workload.jobs["num_gpus"]) <= {1, 2, 4, 8, 16, 32}  # as in the paper
    if jobs >= 620:  # about 1240 jobs fill 80 GPUs; of fewer jobs a single long one with many GPUs makes the load
        assert workload.load(default_cluster("testbed")) == pytest.approx(jobs / 1240, rel=0.25)


def test_features_are_drawn_as_the_paper_has_them() -> None:
    jobs = make_workload("testbed", 1, jobs=1860).jobs
    run_time = jobs["max_iterations"] * jobs["ideal_iteration_time"]
    slack = jobs["deadline"] - jobs["arrival"]
    assert (slack >= 1.1 * run_time * (1 - 1e-9)).all()
    assert slack.min() >= 0.5 * 3600
    bound_by_draw = slack > 1.1 * run_time * (1 + 1e-9)
    assert slack[bound_by_draw].max() <= 24 * 3600
    assert 0 <= jobs["urgency"].min() < 1
    assert 9 < jobs["urgency"].max() <= 10
    assert (jobs["stop_option_limit"] >= jobs["stop_option"]).all()
    shares = np.bincount(jobs["model"], minlength=5) / len(jobs)
    assert shares == pytest.approx(0.2, abs=0.05)


def test_graphs_of_the_families() -> None:
    workload = make_workload("testbed", 2, jobs=1860)
    seen = set()
    for job in workload.jobs:
        family = FAMILY_NAMES[job["model"]]
        edges = workload.edges[job["first_edge"] : job["first_edge"] + job["num_edges"]]
        pairs = {(int(edge["source"]), int(edge["target"])) for edge in edges}
        partitions = int(job["partitions"])
        assert all(source < target < partitions for source, target in pairs)
        chain = {(number, number + 1) for number in range(partitions - 1)}
        if family == "SVM":
            assert partitions == 1  # data-parallel only
        elif family in ("MLP", "AlexNet"):
            assert pairs == chain
        elif partitions == 4:
            assert pairs != chain  # layers cut into parallel parts
            seen.add(family)
        if partitions > 1:
            reached = {target for _, target in pairs} | {source for source, _ in pairs}
            assert reached == set(range(partitions))
    assert seen == {"LSTM", "ResNet"}


def test_tasks_belong_to_their_jobs() -> None:
    workload = make_workload("small", 3)
    expected_first = 0
    for number, job in enumerate(workload.jobs):
        assert job["first_task"] == expected_first
        tasks = workload.tasks[expected_first : expected_first + job["num_tasks"]]
        expected_first += int(job["num_tasks"])
        assert (tasks["job"] == number).all()
        assert job["num_tasks"] == job["num_gpus"] + job["parameter_server"]
        assert job["num_gpus"] == job["replicas"] * job["partitions"]
        workers = tasks[tasks["partition"] != NONE]
        for replica in range(job["replicas"]):
            own = workers[workers["replica"] == replica]
            assert own["partition"].tolist() == list(range(job["partitions"]))
            assert own["parameter_share"].sum() == pytest.approx(1.0)
    assert expected_first == len(workload.tasks)


@pytest.mark.parametrize("name", ["small", "testbed"])
def test_same_seed_same_bytes_in_a_fresh_process(name: str) -> None:
    here = digest(make_workload(name, 11, jobs=155))
    assert here == digest(make_workload(name, 11, jobs=155))
    assert here != digest(make_workload(name, 12, jobs=155))
    code = (
        "from tests.workloads.test_generator import digest, make_workload;"
        f"print(digest(make_workload({name!r}, 11, jobs=155)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == here
