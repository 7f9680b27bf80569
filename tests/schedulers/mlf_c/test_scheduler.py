"""MLF-C around schedulers: when jobs end, whose turn it is, and what may never happen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import FINISHED, STOP_OPTIMAL, STOP_REQUIRED_ACCURACY, STOPPED
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.simulate import simulate
from mlfs_gym.schedulers import Scheduler, make_scheduler
from mlfs_gym.schedulers.fifo import FIFO
from mlfs_gym.schedulers.mlf_c.scheduler import MLFC
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads import make_workload
from tests.builders import J, Script, cluster_of


class Counting(Scheduler):
    """FIFO that remembers its rounds."""

    name = "counting"

    def __init__(self, wake_every_seconds: float = np.inf) -> None:
        self.wake_every_seconds = wake_every_seconds
        self.inner = FIFO()
        self.times: list[float] = []

    def schedule(self, cluster: Any) -> None:
        self.times.append(cluster.time)
        self.inner.schedule(cluster)


def test_a_job_ends_at_the_first_look_after_it_has_its_accuracy_and_its_room_is_given_away_at_once() -> None:
    # accuracy 0.9 (1 - 1 / (1 + i / 10)) reaches 0.6 at i = 20, after 200 s; the next look is at 240 s.
    first = J(iterations=100, required=0.6, stop=STOP_REQUIRED_ACCURACY)
    cluster = cluster_of(first, J(arrival=30.0, iterations=5))
    run(cluster, MLFC(FIFO()))
    assert cluster.jobs["status"].tolist() == [STOPPED, FINISHED]
    assert cluster.jobs["finish"].tolist() == [240.0, 290.0]
    assert cluster.jobs["first_start"][1] == 240.0
    assert cluster.jobs["requirement_met"].tolist() == [1, 0]


def test_without_a_queue_a_fixed_job_runs_on_and_with_one_it_is_downgraded() -> None:
    patient = J(iterations=100, required=0.6, stop_limit=STOP_REQUIRED_ACCURACY, gpu=500)
    alone = cluster_of(patient)
    run(alone, MLFC(FIFO()))
    assert alone.jobs["status"][0] == FINISHED
    contended = cluster_of(patient, J(arrival=30.0, iterations=5), sharing=False)
    run(contended, MLFC(FIFO()))
    assert contended.jobs["finish"][0] == 240.0
    literal = cluster_of(patient, J(arrival=30.0, iterations=5), sharing=False)
    run(literal, MLFC(FIFO(), {"downgrade": False}))
    assert literal.jobs["finish"][0] == 1000.0


def test_the_scheduler_inside_has_its_own_rounds_and_no_more() -> None:
    jobs = (J(iterations=50), J(arrival=70.0), J(arrival=200.0))  # nobody may be stopped: no room is made
    for wake in (np.inf, 150.0):
        plain, inside = Counting(wake), Counting(wake)
        run(cluster_of(*jobs), plain)
        run(cluster_of(*(J(**{**vars(job), "stop": STOP_OPTIMAL, "required": 0.99}) for job in jobs)), MLFC(inside))
        assert inside.times == plain.times


def test_a_wake_up_is_not_lost_between_looks() -> None:
    script = Script(lambda cluster: cluster.place_all(0), wake_every_seconds=150.0)
    run(cluster_of(J(iterations=100, stop=STOP_OPTIMAL, required=0.99)), MLFC(script))
    assert script.times[:4] == [0.0, 180.0, 360.0, 540.0]  # rounds are whole minutes


@pytest.mark.parametrize("name", ["mlf_h", "fair", "tiresias"])
@pytest.mark.parametrize("sharing", [True, False])
def test_load_control_shortens_jobs_and_keeps_the_accuracy_guarantee(name: str, sharing: bool) -> None:
    workload = make_workload("testbed", 3, jobs=310)
    cluster = {"servers": 8}
    plain = simulate(workload, name, cluster, {"sharing": sharing}, 3).metrics
    controlled = simulate(workload, f"{name}+mlf_c", cluster, {"sharing": sharing}, 3).metrics
    assert controlled["average_jct_s"] < 0.8 * plain["average_jct_s"]
    assert controlled["accuracy_guarantee_ratio"] >= plain["accuracy_guarantee_ratio"]
    assert controlled["deadline_ratio"] >= plain["deadline_ratio"]


def test_the_letter_may_stop_below_the_required_accuracy() -> None:
    workload = make_workload("testbed", 3, jobs=155)
    cluster = SimulatedCluster(workload, {"servers": 8}, None, 3)
    run(cluster, MLFC(make_scheduler("mlf_h"), {"safe": False}))
    stopped = cluster.jobs[cluster.jobs["status"] == STOPPED]
    assert (stopped["accuracy"] < stopped["required_accuracy"] - 0.01).any()


def test_opt_stop_in_its_learning_curve_form_stops_at_the_threshold() -> None:
    jobs = [J(iterations=100, required=0.6, stop=STOP_OPTIMAL), J(arrival=30.0, iterations=5)]
    cluster = cluster_of(*jobs)
    run(cluster, MLFC(FIFO(), {"opt_stop": "learning_curve"}))
    assert cluster.jobs["finish"].tolist() == [240.0, 290.0]


def test_opt_stop_in_its_learning_curve_form_gives_up_a_job_only_to_the_letter() -> None:
    # 0.5 can never be reached: the curve ends at 0.4.
    jobs = [J(iterations=100, required=0.5, ceiling=0.4, scale=3.0, stop=STOP_OPTIMAL), J(arrival=30.0, iterations=5)]
    for safe in (True, False):
        cluster = cluster_of(*jobs)
        run(cluster, MLFC(FIFO(), {"opt_stop": "learning_curve", "safe": safe}))
        assert cluster.jobs["status"][0] == (FINISHED if safe else STOPPED)


def test_names_and_settings() -> None:
    assert make_scheduler("srtf+mlf_c").name == "srtf+mlf_c"
    with pytest.raises(SettingsError, match="no_such"):
        make_scheduler("no_such+mlf_c")
    with pytest.raises(SettingsError, match="overload_degree"):
        MLFC(FIFO(), {"overload_degree": -1})
