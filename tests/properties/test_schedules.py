"""What must hold for every workload under every scheduler: nothing exceeded, lost, done twice or unaccounted for."""

from __future__ import annotations

import os
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlfs_gym.cluster.arrays import FINISHED, STOP_FIXED, STOPPED
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers import Scheduler
from mlfs_gym.sim.engine import ROUND
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads.curves import accuracy, best_iteration
from tests.properties.play import SCHEDULERS, digest, instance, play, scheduler_of

GRID = 1e-6  # s: times are rounded to it

# The same examples every time, so that a red run can be repeated.
some = settings(max_examples=5, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)
every_scheduler = pytest.mark.parametrize("name", SCHEDULERS)
both_ways = pytest.mark.parametrize("sharing", [True, False], ids=["shared", "exclusive"])


def check_end(cluster: SimulatedCluster, load_control: bool) -> None:
    """Every job ended once, with all of its work done or stopped as its owner permits, and nothing is left behind."""
    jobs, clock = cluster.jobs, cluster.state.clock[0]
    stopped, finished = jobs[jobs["status"] == STOPPED], jobs[jobs["status"] == FINISHED]
    assert len(stopped) + len(finished) == len(jobs)
    assert (finished["progress"] == finished["max_iterations"]).all()
    assert load_control or len(stopped) == 0
    assert (stopped["stop_option_limit"] > STOP_FIXED).all()
    best = np.array([accuracy(row, min(best_iteration(row), row["progress"])) for row in stopped])
    assert (best >= stopped["required_accuracy"] - 1e-9).all(), "stopped below the required accuracy"
    assert (jobs["first_start"] >= jobs["arrival"]).all()
    assert (jobs["finish"] > jobs["first_start"]).all()
    assert (clock["num_done"], clock["num_active"], clock["num_running"], clock["num_waiting"]) == (len(jobs), 0, 0, 0)
    assert (cluster.tasks["server"] == -1).all()
    for table, columns in (
        (cluster.servers, ("gpu_used", "cpu_used", "memory_used", "nic_used", "num_tasks")),
        (cluster.gpus, ("used", "memory_used", "num_tasks")),
    ):
        for column in columns:
            assert (table[column] == 0).all()


def check_work(cluster: SimulatedCluster) -> None:
    """Nobody gets more than GPUs of speed 1 can give, and time is either waiting or service."""
    jobs = cluster.jobs
    ideal = jobs["progress"] * jobs["ideal_iteration_time"] * jobs["num_gpus"]
    slack = GRID * jobs["num_gpus"]
    assert (jobs["attained_service"] >= ideal * (1 - 1e-9) - slack).all()
    in_system = jobs["finish"] - jobs["arrival"]
    running = in_system - jobs["waiting_time"]
    assert (jobs["waiting_time"] >= 0).all()
    assert (jobs["attained_service"] >= running * jobs["partitions"] * (1 - 1e-9) - slack).all()
    assert (jobs["attained_service"] <= running * jobs["num_gpus"] * (1 + 1e-9) + slack).all()


def check_accounts(cluster: SimulatedCluster) -> None:
    """The clock's running totals are those of the job table."""
    jobs, clock = cluster.jobs, cluster.state.clock[0]
    jct = jobs["finish"] - jobs["arrival"]
    for total, column in (
        ("bytes_sent", jobs["bytes_sent"]),
        ("accuracy_sum", jobs["accuracy_by_deadline"]),
        ("jct_integral", jct),
    ):
        assert clock[total] == pytest.approx(column.sum(), rel=1e-9, abs=1e-9)
    for total, column in (
        ("preemptions", jobs["preemptions"]),
        ("migrations", jobs["migrations"]),
        ("requirements_met", jobs["requirement_met"]),
        ("deadlines_met", jobs["finish"] <= jobs["deadline"]),
    ):
        assert clock[total] == column.sum()
    assert clock["time"] == jobs["finish"].max()
    found = metrics(cluster.state)
    assert found["average_jct_s"] == pytest.approx(jct.mean(), rel=1e-12)
    assert found["makespan_s"] == jobs["finish"].max() - jobs["arrival"].min()
    assert found["deadline_ratio"] == pytest.approx(clock["deadlines_met"] / len(jobs))


@every_scheduler
@both_ways
@some
@given(seed=seeds)
def test_every_job_ends_once_and_everything_adds_up(name: str, sharing: bool, seed: int) -> None:
    cluster = play(instance(seed, sharing=sharing), name)
    check_end(cluster, name.endswith("+mlf_c"))
    check_work(cluster)
    check_accounts(cluster)


@every_scheduler
@some
@given(seed=seeds)
def test_looking_changes_nothing(name: str, seed: int) -> None:
    """Jobs are brought up to date at every round, or only when something happens to them: the same outcome.

    The others decide by what they see, so for them the same rounds are played and settled once more.
    """
    one = play(instance(seed, sharing=True), name)
    other = instance(seed, sharing=True)
    original = other.observe
    other.observe = lambda: (original(), original())  # type: ignore[assignment,method-assign]
    play(other, name, observes=True)
    if name in ("fifo", "sjf"):
        for field in ("finish", "waiting_time", "attained_service", "bytes_sent", "accuracy_by_deadline"):
            assert other.jobs[field] == pytest.approx(one.jobs[field], rel=1e-9, abs=1e-5)
        assert np.array_equal(one.jobs["requirement_met"], other.jobs["requirement_met"])
    else:
        assert digest(one) == digest(other)


def finish(cluster: SimulatedCluster, scheduler: Scheduler, rounds: float = np.inf) -> None:
    """Play so many rounds, or to the end."""
    while rounds > 0 and cluster.advance(scheduler.wake_every_seconds) == ROUND:
        cluster.observe()
        scheduler.schedule(cluster)
        cluster.apply()
        rounds -= 1


@every_scheduler
@some
@given(seed=seeds, rounds=st.integers(0, 40))
def test_a_copy_taken_in_the_middle_goes_on_the_same_way(name: str, seed: int, rounds: int) -> None:
    """`State.copy` and `restore` hold all there is, but for what a scheduler has learned and takes along itself."""
    cluster = instance(seed, sharing=True)
    scheduler = scheduler_of(name)
    scheduler.reset(cluster)
    finish(cluster, scheduler, rounds)
    middle, scheduler_then = cluster.state.copy(), deepcopy(scheduler)
    finish(cluster, scheduler)
    reference = digest(cluster)
    cluster.state.restore(middle)
    finish(cluster, scheduler_then)
    assert digest(cluster) == reference


CHILD = """
from tests.properties.play import SCHEDULERS, digest, instance, play
for name in SCHEDULERS:
    for seed in range(3):
        print(name, seed, digest(play(instance(seed, sharing=seed != 1, fluctuation=0.3), name)))
"""


def test_the_same_seed_gives_the_same_bytes_in_a_fresh_process() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "12345"}
    done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True, check=True)
    there = done.stdout.splitlines()
    here = [
        f"{name} {seed} {digest(play(instance(seed, sharing=seed != 1, fluctuation=0.3), name))}"
        for name in SCHEDULERS
        for seed in range(3)
    ]
    assert there == here
    assert len({line.split()[-1] for line in here}) > len(SCHEDULERS)  # seeds, and most schedulers, differ


def test_another_seed_of_the_simulation_gives_another_trajectory() -> None:
    one, other = (instance(0, sharing=True, fluctuation=0.3) for _ in range(2))
    other.state.clock["seed"] = 1
    assert digest(play(one, "mlf_h")) != digest(play(other, "mlf_h"))
