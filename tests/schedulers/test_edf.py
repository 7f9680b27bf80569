"""EDF on instances solved by hand. One GPU, iterations of 10 s, rounds every 60 s."""

from __future__ import annotations

from typing import Any

import pytest

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.edf import EDF
from mlfs_gym.sim.run import run
from tests.builders import J, cluster_of


def finishes(*jobs: J, **settings: Any) -> list[float]:
    cluster = cluster_of(*jobs, sharing=False)
    run(cluster, EDF(settings))
    found: list[float] = cluster.jobs["finish"].tolist()
    return found


def test_the_earliest_deadline_goes_first() -> None:
    # Neither arrival nor length: job 1 has until 150, job 2, the shortest, until 400, job 0 until 1000.
    jobs = (J(deadline=1000.0), J(deadline=150.0), J(iterations=5, deadline=400.0))
    assert finishes(*jobs) == [280.0, 100.0, 170.0]


def test_preempts_for_an_earlier_deadline_after_a_quantum() -> None:
    jobs = (J(iterations=60, deadline=1e5), J(iterations=6, arrival=60.0, deadline=600.0))
    assert finishes(*jobs) == [420.0 + 7.0 + 240.0, 420.0]


def test_a_hopeless_job_lets_the_others_pass() -> None:
    # Job 0 cannot be done by 200, job 1 can be done by 250.
    jobs = (J(iterations=30, deadline=200.0), J(deadline=250.0))
    assert finishes(*jobs) == [420.0, 100.0]
    assert finishes(*jobs, guard=False) == [300.0, 400.0]


def test_hopeless_jobs_go_by_deadline_among_themselves() -> None:
    jobs = (J(iterations=30, deadline=250.0), J(iterations=30, deadline=200.0))
    assert finishes(*jobs) == [600.0, 300.0]


def test_a_job_that_can_just_make_it_is_not_hopeless() -> None:
    jobs = (J(iterations=30, deadline=300.0), J(deadline=310.0))
    assert finishes(*jobs) == [300.0, 400.0]


def test_unknown_settings_are_named() -> None:
    with pytest.raises(SettingsError, match="'gard' is unknown"):
        EDF({"gard": False})
