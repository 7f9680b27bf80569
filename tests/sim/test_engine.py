"""The event loop on instances worked out by hand: order of events, rounds, stalls, stops, limits, deadlines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import FINISHED, PENDING, QUEUED, RUNNING, STOPPED
from mlfs_gym.cluster.demand import FLUCTUATION_STREAM
from mlfs_gym.cluster.hashing import uniform
from mlfs_gym.sim.engine import DONE, EVENT, ROUND, STUCK
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import NIC, J, Script, at_first_round, cluster_of, next_round, place


def events_until_round(cluster: SimulatedCluster) -> list[tuple[float, list[int], int]]:
    """Time, statuses and demand period after each event before the next round."""
    seen = []
    while cluster.advance(one_event=True) == EVENT:
        seen.append((cluster.time, cluster.jobs["status"].tolist(), int(cluster.state.clock["period"][0])))
    return seen


def always(cluster: SimulatedCluster) -> None:
    """Place whatever fits."""
    for job in cluster.waiting_jobs():
        cluster.place_all(job)


# --- order at equal times -----------------------------------------------------------------------
def test_at_equal_times_completion_then_redraw_then_arrival_then_round() -> None:
    short, long, late = J(iterations=6, gpu=500), J(iterations=100, gpu=500), J(arrival=60.0)
    cluster = cluster_of(short, long, late, gpus=2, fluctuation=0.3, redraw_seconds=60.0)
    assert [status for _, status, _ in events_until_round(cluster)] == [
        [QUEUED, PENDING, PENDING],
        [QUEUED, QUEUED, PENDING],
    ]
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    cluster.apply()
    assert events_until_round(cluster) == [
        (60.0, [FINISHED, RUNNING, PENDING], 0),
        (60.0, [FINISHED, RUNNING, PENDING], 1),
        (60.0, [FINISHED, RUNNING, QUEUED], 1),
    ]
    assert cluster.time == 60.0  # and the round sees all of it


def test_jobs_that_end_together_end_in_order() -> None:
    cluster = cluster_of(*(J(iterations=6) for _ in range(3)), gpus=3)
    events_until_round(cluster)
    for job in (2, 0, 1):
        place(cluster, job, job)
    cluster.apply()
    assert [status for _, status, _ in events_until_round(cluster)] == [
        [FINISHED, RUNNING, RUNNING],
        [FINISHED, FINISHED, RUNNING],
        [FINISHED, FINISHED, FINISHED],
    ]


def test_times_meant_to_coincide_do() -> None:
    # 0.1 is no binary fraction: 600 iterations of 0.1 s end at exactly 60 s all the same, before the arrival.
    cluster = cluster_of(J(compute=(0.1,), iterations=600), J(arrival=60.0))
    script = Script(always, always)
    run(cluster, script)
    assert script.times == [0.0, 60.0]
    assert cluster.jobs["finish"].tolist() == [60.0, 160.0]


def test_finish_times_lie_on_the_microsecond_grid() -> None:
    cluster = cluster_of(J(compute=(1.0 / 3.0,), iterations=7))
    run(cluster, Script(always))
    assert cluster.jobs["finish"][0] == 2.333333


# --- rounds -------------------------------------------------------------------------------------
def test_no_round_while_there_is_nothing_to_decide() -> None:
    # Round at 0 for job 0. It ends at 100: nobody waits, no round. Job 1 arrives at 130: round at 180.
    # Job 2 arrives on the boundary 240: round at once.
    cluster = cluster_of(J(), J(arrival=130.0), J(arrival=240.0), gpus=2)
    script = Script(always, always, always)
    run(cluster, script)
    assert script.times == [0.0, 180.0, 240.0]
    assert cluster.state.clock["rounds"][0] == 3
    assert cluster.jobs["finish"].tolist() == [100.0, 280.0, 340.0]


def test_a_waiting_job_is_looked_at_again_only_when_something_has_happened() -> None:
    cluster = cluster_of(J(iterations=61), J())  # job 0 runs from 0 to 610
    script = Script(always, always)
    run(cluster, script)
    assert script.times == [0.0, 660.0]
    assert cluster.jobs["waiting_time"].tolist() == [0.0, 660.0]


def test_two_changes_between_boundaries_make_one_round() -> None:
    cluster = cluster_of(J(iterations=7), J(iterations=8), J(), J(), gpus=2)  # ends at 70 and 80
    script = Script(always, always)
    run(cluster, script)
    assert script.times == [0.0, 120.0]


def test_never_two_rounds_at_one_boundary() -> None:
    # Job 0 is stopped and so gone at 0; the change may cause another round, but not before 60.
    cluster = cluster_of(J(), J())
    script = Script(lambda c: (c.place(0), c.stop(0)), always, always)
    run(cluster, script)
    assert script.times == [0.0, 60.0]


def test_a_stop_is_a_change_that_waiting_jobs_are_told_of() -> None:
    # At 60 (arrival of job 2) job 0 is stopped. Job 1, which waits, can run from the next boundary on, to 220.
    cluster = cluster_of(J(iterations=1000), J(), J(arrival=60.0))
    script = Script(always, lambda c: c.stop(0), always, always)
    run(cluster, script)
    assert script.times == [0.0, 60.0, 120.0, 240.0]
    assert cluster.jobs["finish"].tolist() == [60.0, 220.0, 340.0]


def test_a_scheduler_may_ask_to_be_woken() -> None:
    cluster = cluster_of(J(iterations=31))  # runs from 0 to 310
    script = Script(always, wake_every_seconds=120.0)
    run(cluster, script)
    assert script.times == [0.0, 120.0, 240.0]


def test_wake_ups_come_at_round_boundaries() -> None:
    cluster = cluster_of(J(iterations=31))
    script = Script(always, wake_every_seconds=100.0)  # at least every 100 s, on boundaries of 60 s
    run(cluster, script)
    assert script.times == [0.0, 120.0, 240.0]


def test_an_overloaded_server_is_reason_for_a_round_though_nobody_waits() -> None:
    # 0.8 + 0.7 on one GPU. Job 2 ends at 100 elsewhere: a change, and the server is still overloaded.
    def onto_one_gpu(cluster: Any) -> None:
        place(cluster, 0, 0)
        place(cluster, 1, 0)
        place(cluster, 2, 1)

    cluster = cluster_of(J(gpu=800), J(gpu=700), J(iterations=10), gpus=2)
    script = Script(onto_one_gpu)
    run(cluster, script)
    assert script.times == [0.0, 120.0]
    assert cluster.jobs["finish"].tolist() == [150.0, 150.0, 100.0]


# --- stalls -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("gpus", "restart"), [(1, 7.0), (2, 30.0), (8, 30.0), (9, 60.0)])
def test_an_evicted_job_restarts_at_a_cost(gpus: int, restart: float) -> None:
    # 6 iterations by 60, evicted; placed again at 120, it loads 2e9 bytes at 1e9 bytes/s and restarts; 4 iterations.
    cluster = at_first_round(J(compute=(10.0,) * gpus, checkpoint=2e9), gpus=gpus)
    cluster.place(0)
    next_round(cluster, 60.0)
    assert cluster.evict(0)
    next_round(cluster, 60.0)
    row = cluster.jobs[0]
    assert (row["status"], row["progress"], row["preemptions"], row["bytes_sent"]) == (QUEUED, 6.0, 1, 0.0)
    cluster.place(0)
    cluster.apply()
    assert row["finish_at"] == 120.0 + restart + 2.0 + 40.0
    assert cluster.advance() == DONE
    assert row["finish"] == 162.0 + restart
    assert row["waiting_time"] == 60.0
    assert row["attained_service"] == gpus * (60.0 + restart + 42.0)
    assert row["bytes_sent"] == cluster.state.clock["bytes_sent"][0] == 2e9


def test_no_progress_during_a_stall() -> None:
    cluster = at_first_round(J(checkpoint=23e9))  # 7 + 23 s
    cluster.place(0)
    next_round(cluster, 60.0)
    cluster.evict(0)
    cluster.place(0)  # in the same round: it stalls from 60 to 90
    assert next_round(cluster, 60.0) == 120.0
    cluster.observe()
    assert cluster.jobs["progress"][0] == 9.0
    cluster.apply()
    assert cluster.advance() == DONE
    assert cluster.jobs["finish"][0] == 130.0


def test_the_first_placement_costs_nothing_but_each_eviction_does() -> None:
    # 6 iterations by 60; stalled until 67, 5.3 iterations by 120; stalled until 127, 88.7 to go.
    cluster = at_first_round(J(iterations=100))
    cluster.place(0)
    cluster.apply()
    assert cluster.jobs["finish_at"][0] == 1000.0
    for expected in (60.0 + 7.0 + 940.0, 120.0 + 7.0 + 887.0):
        next_round(cluster, 60.0)
        cluster.evict(0)
        cluster.place(0)
        cluster.apply()
        assert cluster.jobs["finish_at"][0] == expected


def test_a_moved_task_stalls_its_job_for_its_share_of_the_checkpoint() -> None:
    # 5 s per iteration: 12 of 20 by 60. Partition 1 holds 3/4: 30 s + 0.75 * 2e9 / 1e9 = 31.5 s; then 8 * 5 s.
    job = J(compute=(5.0, 5.0), shares=(0.25, 0.75), iterations=20, checkpoint=2e9)
    cluster = at_first_round(job, servers=2, gpus=2)
    place(cluster, 0, 0, 1)
    next_round(cluster, 60.0)
    assert cluster.move(1, 1)
    cluster.apply()
    row, task = cluster.jobs[0], cluster.tasks[1]
    assert (row["stalled_until"], row["finish_at"]) == (91.5, 131.5)
    assert (row["migrations"], row["preemptions"], row["bytes_sent"]) == (1, 0, 1.5e9)
    assert (task["server"], task["gpu"], task["moved_at"]) == (1, 2, 60.0)
    assert cluster.advance() == DONE
    assert row["finish"] == 131.5


def test_a_parameter_server_moves_with_the_whole_checkpoint() -> None:
    cluster = at_first_round(J(ps=True, checkpoint=2e9, iterations=20), servers=2)
    place(cluster, 0, 0, 0)
    next_round(cluster, 60.0)
    assert cluster.move(1, 1)
    cluster.apply()
    assert cluster.jobs["stalled_until"][0] == 69.0  # 60 + 7 + 2


def test_a_neighbour_that_arrives_during_a_stall_changes_the_speed_after_it() -> None:
    cluster = at_first_round(J(gpu=800, iterations=10, checkpoint=83e9), J(arrival=61.0, gpu=700, iterations=100))
    cluster.place(0)
    next_round(cluster, 60.0)
    cluster.evict(0)
    cluster.place(0)  # stalls for 7 + 83 s, until 150, then 4 iterations
    next_round(cluster)
    assert cluster.time == 120.0
    place(cluster, 1, 0)
    cluster.apply()
    assert cluster.jobs["finish_at"][0] == 150.0 + 4 * 15.0


# --- ends ---------------------------------------------------------------------------------------
def test_a_stopped_job_counts_as_completed_now() -> None:
    cluster = at_first_round(J(iterations=1000, deadline=60.0), J(iterations=1000, deadline=59.0), gpus=2)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    next_round(cluster, 60.0)
    assert cluster.stop(0) and cluster.stop(1)
    assert not cluster.stop(0)
    cluster.apply()
    assert cluster.advance() == DONE
    assert cluster.jobs["status"].tolist() == [STOPPED, STOPPED]
    assert cluster.jobs["finish"].tolist() == [60.0, 60.0]
    assert cluster.jobs["progress"].tolist() == [6.0, 6.0]
    assert cluster.state.clock["deadlines_met"][0] == 1
    assert (cluster.tasks["server"] == -1).all() and (cluster.gpus["num_tasks"] == 0).all()


def test_a_job_that_never_ran_can_be_stopped() -> None:
    cluster = at_first_round(J())
    assert cluster.stop(0)
    cluster.apply()
    assert cluster.advance() == DONE
    assert cluster.jobs["finish"][0] == 0.0


def test_the_time_limit_ends_the_run_with_everything_settled() -> None:
    cluster = cluster_of(J(iterations=1000), J(), J(arrival=5000.0), time_limit_seconds=95.0)
    record = run(cluster, Script(lambda c: c.place(0)))
    assert record.reached_limit
    assert cluster.time == 95.0
    assert cluster.jobs["status"].tolist() == [RUNNING, QUEUED, PENDING]
    assert cluster.jobs["progress"][0] == 9.5
    assert cluster.jobs["waiting_time"][1] == 95.0
    assert cluster.state.clock["jct_integral"][0] == 190.0


def test_an_event_at_the_time_limit_still_counts() -> None:
    cluster = cluster_of(J(), time_limit_seconds=100.0)
    assert not run(cluster, Script(always)).reached_limit
    assert cluster.jobs["finish"][0] == 100.0


def test_stuck_when_nothing_runs_and_nothing_comes() -> None:
    cluster = at_first_round(J())
    cluster.apply()
    assert cluster.advance() == STUCK


def test_an_idle_scheduler_that_wakes_up_is_not_stuck_before_the_limit() -> None:
    cluster = cluster_of(J(), time_limit_seconds=200.0)
    script = Script(wake_every_seconds=60.0)
    assert run(cluster, script).reached_limit
    assert script.times == [0.0, 60.0, 120.0, 180.0]


def test_no_jobs_no_time() -> None:
    cluster = cluster_of()
    assert cluster.advance() == DONE
    assert cluster.time == 0.0


# --- deadlines and accuracy ---------------------------------------------------------------------
def accuracy(iterations: float) -> float:
    """Of the default job: 0.9 * (1 - 1 / (1 + i / 10))."""
    return 0.9 * (1.0 - 1.0 / (1.0 + iterations / 10.0))


@pytest.mark.parametrize(
    ("deadline", "iterations"),
    [
        (45.0, 4.5),  # in the middle of an iteration, and of an interval without any event
        (100.0, 10.0),  # at the end
        (1000.0, 10.0),  # after it
        (0.0, 0.0),  # at the arrival
    ],
)
def test_accuracy_by_deadline_is_what_was_reached_then(deadline: float, iterations: float) -> None:
    cluster = cluster_of(J(deadline=deadline))
    run(cluster, Script(always))
    row = cluster.jobs[0]
    assert row["accuracy"] == pytest.approx(accuracy(10.0), rel=1e-12)
    assert row["accuracy_by_deadline"] == pytest.approx(accuracy(iterations), rel=1e-12)
    assert cluster.state.clock["accuracy_sum"][0] == pytest.approx(accuracy(iterations), rel=1e-12)


@pytest.mark.parametrize(("margin", "met"), [(1e-12, 1), (-1e-6, 1), (1e-6, 0)])
def test_the_requirement_is_met_if_reached_at_the_deadline(margin: float, met: int) -> None:
    cluster = cluster_of(J(deadline=45.0, required=accuracy(4.5) + margin))
    run(cluster, Script(always))
    assert cluster.jobs["requirement_met"][0] == met
    assert cluster.state.clock["requirements_met"][0] == met


def test_a_stall_at_the_deadline_is_not_progress() -> None:
    # 6 iterations by 60, then stalled until 90; the deadline falls into the stall.
    cluster = at_first_round(J(checkpoint=23e9, deadline=80.0))
    cluster.place(0)
    next_round(cluster, 60.0)
    cluster.evict(0)
    cluster.place(0)
    cluster.apply()
    assert cluster.advance() == DONE
    assert cluster.jobs["accuracy_by_deadline"][0] == pytest.approx(accuracy(6.0), rel=1e-12)


def test_a_deadline_after_a_stall_counts_the_iterations_after_the_stall() -> None:
    cluster = at_first_round(J(checkpoint=23e9, deadline=105.0))
    cluster.place(0)
    next_round(cluster, 60.0)
    cluster.evict(0)
    cluster.place(0)
    cluster.apply()
    assert cluster.advance() == DONE
    assert cluster.jobs["accuracy_by_deadline"][0] == pytest.approx(accuracy(7.5), rel=1e-12)


OVERFITTING = J(iterations=40, overfit_start=10.0, overfit_slope=0.03, deadline=395.0)


def peak_accuracy() -> float:
    """The highest accuracy of `OVERFITTING`: 0.9 * (1 - n - 0.03 * (i - 10) / 2), n = 10 / (10 + i).

    The derivative is 0 where 10 / (10 + i)**2 = 0.015: i = sqrt(10 / 0.015) - 10 = 15.8199.
    """
    i = (10.0 / 0.015) ** 0.5 - 10.0
    return 0.9 * (1.0 - 10.0 / (10.0 + i) - 0.015 * (i - 10.0))


@pytest.mark.parametrize("wake_every", [np.inf, 60.0])
@pytest.mark.parametrize(("margin", "met"), [(-1e-6, 1), (1e-4, 0)])
def test_a_requirement_reached_before_overfitting_is_met_whether_or_not_anybody_looked(
    wake_every: float, margin: float, met: int
) -> None:
    job = J(**{**OVERFITTING.__dict__, "required": peak_accuracy() + margin})
    cluster = cluster_of(job)
    run(cluster, Script(always, wake_every_seconds=wake_every))
    assert cluster.jobs["requirement_met"][0] == met


def test_losses_are_those_of_the_last_two_whole_iterations() -> None:
    # Loss of the default job: 2 * 10 / (10 + i). After 65 s: 6 iterations and a half.
    cluster = at_first_round(J(arrival=0.0), J(arrival=65.0, gpu=1), round_seconds=65.0)
    cluster.place(0)
    next_round(cluster)
    cluster.observe()
    row = cluster.jobs[0]
    assert (cluster.time, row["progress"]) == (65.0, 6.5)
    assert row["loss"] == pytest.approx(2.0 * 10 / 16)
    assert row["previous_loss"] == pytest.approx(2.0 * 10 / 15)
    assert row["first_loss"] == 2.0


# --- demand -------------------------------------------------------------------------------------
def test_demand_is_that_of_the_period_also_after_an_idle_time() -> None:
    # Nothing runs before 1260: no redraw events; the placement uses period 2, the next redraw is at 1800.
    cluster = cluster_of(J(arrival=1250.0, iterations=1000, gpu=500), fluctuation=0.3, seed=7)
    assert cluster.advance() == ROUND
    assert cluster.time == 1260.0
    place(cluster, 0, 0)

    def expected(period: int) -> int:
        return round(500 * (1.0 + 0.3 * (2.0 * uniform(np.uint64(7), FLUCTUATION_STREAM, 0, period) - 1.0)))

    assert cluster.tasks["gpu_used"][0] == expected(2)
    cluster.apply()
    assert cluster.advance(one_event=True) == EVENT
    assert cluster.time == 1800.0
    assert cluster.tasks["gpu_used"][0] == cluster.gpus["used"][0] == cluster.servers["gpu_used"][0] == expected(3)


def test_a_checkpoint_is_loaded_at_the_nominal_bandwidth() -> None:
    assert NIC == 1e9  # what the numbers above assume
    assert at_first_round(J()).servers["nic"][0] == NIC
