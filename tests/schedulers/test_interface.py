"""Schedulers by name, schedulers of one's own, and what happens to those that decide nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from mlfs_gym.cluster.arrays import FINISHED
from mlfs_gym.errors import SchedulerError, SettingsError
from mlfs_gym.schedulers import Scheduler, make_scheduler, scheduler_names
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.scheduler import MLFH
from mlfs_gym.sim.run import run
from tests.builders import J, at_first_round, cluster_of


class LongestFirst(Scheduler):
    """A scheduler in a few lines of plain Python."""

    name = "longest_first"

    def schedule(self, cluster: Any) -> None:
        for job in sorted(cluster.waiting_jobs(), key=cluster.remaining_time, reverse=True):
            cluster.place_all(job)


class NeedsAnArgument(LongestFirst):
    def __init__(self, argument: int) -> None:
        self.argument = argument


class PlacesNothing(Scheduler):
    name = "lazy"

    def schedule(self, cluster: Any) -> None:
        """Nothing."""


# --- by name ------------------------------------------------------------------------------------
def test_every_name_makes_the_scheduler_of_that_name() -> None:
    assert scheduler_names()[:4] == ["fifo", "sjf", "srtf", "mlf_h"]
    assert len(set(scheduler_names())) == len(scheduler_names())
    for name in scheduler_names():
        made = make_scheduler(name)
        assert isinstance(made, Scheduler)
        assert made.name == name
        assert made is not make_scheduler(name)


def test_a_class_of_ones_own_by_its_path() -> None:
    assert make_scheduler("tests.schedulers.test_interface:LongestFirst").name == "longest_first"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("fiffo", "found 'fiffo' (did you mean fifo?), expected one of fifo, sjf, srtf, mlf_h, "),
        ("quickest", "found 'quickest', expected one of fifo, sjf, srtf, mlf_h, "),
        ("", "found ''"),
        ("no_such_module:Thing", "found no module no_such_module for 'no_such_module:Thing'; looked in "),
        ("tests.schedulers.test_interface:NoSuchClass", "NoSuchClass"),
        ("tests.schedulers.test_interface:NeedsAnArgument", "argument"),
        ("builtins:dict", "no subclass of mlfs_gym.schedulers.Scheduler"),
        (":FIFO", "cannot be made"),
    ],
)
def test_a_wrong_name_gives_one_line_that_says_why(name: str, complaint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_scheduler(name)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_module_that_lacks_another_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_what_is_not_there.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match="cannot be made: No module named 'no_such_package'"):
        make_scheduler("needs_what_is_not_there:Mine")


def test_parameters_of_mlf_h_are_validated() -> None:
    assert MLFH({"alpha": 0.5}).params == MLFHParams(alpha=0.5)
    assert MLFH(MLFHParams.paper()).params == MLFHParams.paper()
    with pytest.raises(SettingsError, match=r"field 'alhpa' is unknown"):
        MLFH({"alhpa": 0.5})
    with pytest.raises(SettingsError, match=r"field 'alpha': found 2"):
        MLFH({"alpha": 2})


# --- one's own ----------------------------------------------------------------------------------
def test_a_scheduler_of_ones_own_runs() -> None:
    cluster = cluster_of(J(iterations=6), J(iterations=12), J(iterations=18))  # one GPU
    run(cluster, LongestFirst())
    assert cluster.jobs["finish"].tolist() == [360.0, 300.0, 180.0]


def test_defaults_of_the_interface() -> None:
    scheduler = LongestFirst()
    assert (scheduler.observes, scheduler.wake_every_seconds) == (True, math.inf)
    scheduler.reset(cluster_of(J()))


def test_an_observing_scheduler_sees_progress() -> None:
    seen = []

    class Looks(LongestFirst):
        wake_every_seconds = 60.0

        def schedule(self, cluster: Any) -> None:
            super().schedule(cluster)
            seen.append(float(cluster.jobs["progress"][0]))

    run(cluster_of(J(iterations=15)), Looks())
    assert seen == [0.0, 6.0, 12.0]


def test_a_scheduler_that_places_nothing_is_told_so() -> None:
    with pytest.raises(SchedulerError) as caught:
        run(cluster_of(*(J() for _ in range(5))), PlacesNothing())
    assert str(caught.value) == (
        "scheduler 'lazy' left 5 job(s) waiting on an idle cluster at 0 s with nothing to come (first: j0, j1, j2); "
        "place at least one of them, or set wake_every_seconds (now inf)"
    )


# --- what a scheduler may ask for ---------------------------------------------------------------
def test_wrong_indices_are_errors_not_crashes() -> None:
    cluster = at_first_round(J(compute=(1.0, 1.0), ps=True), gpus=2)
    for ask in (lambda: cluster.place(1), lambda: cluster.evict(-1), lambda: cluster.stop(7)):
        with pytest.raises(SchedulerError, match=r"no job -?\d, there are 1"):
            ask()
    with pytest.raises(SchedulerError, match=r"no task 3, there are 3"):
        cluster.move(3, 0)
    with pytest.raises(SchedulerError, match=r"needs 3 hosts \(GPUs and the parameter server's server\), got 2"):
        cluster.place(0, [0, 1])
    assert cluster.place(0, [0, 1, 0])
    with pytest.raises(SchedulerError, match=r"no server 5, there are 1"):
        cluster.move(0, 5)


def test_what_is_not_possible_is_false() -> None:
    cluster = at_first_round(J(), J(), gpus=2)
    assert not cluster.evict(0)  # does not run
    assert not cluster.move(0, 0)  # is not placed
    assert cluster.place(0)
    assert not cluster.place(0)  # all of it runs
    assert cluster.stop(1)
    assert not cluster.stop(1)
    assert not cluster.place(1)


def test_a_job_that_has_not_arrived_can_be_neither_placed_nor_stopped() -> None:
    cluster = at_first_round(J(), J(arrival=1e5), gpus=2)
    assert not cluster.place(1)
    assert not cluster.stop(1)
    assert cluster.active_jobs() == cluster.waiting_jobs() == [0]


def test_lists_and_remaining_time() -> None:
    cluster = at_first_round(J(replicas=2), J(iterations=7), J(), gpus=2)
    assert cluster.place(0, [0])
    assert cluster.place(2, [1])
    assert cluster.active_jobs() == [0, 1, 2]
    assert cluster.waiting_jobs() == [0, 1]  # one replica of job 0 waits
    assert cluster.running_jobs() == [0, 2]
    assert cluster.remaining_time(1) == 70.0
    cluster.apply()
    run(cluster, LongestFirst())
    assert (cluster.jobs["status"] == FINISHED).all()
