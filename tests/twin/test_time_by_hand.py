"""Events, stalls, deadlines and accounts worked out by hand, for the twin and the compiled simulator alike."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mlfs_gym.cluster.arrays import FINISHED, QUEUED, RUNNING, STOPPED
from mlfs_gym.config import ClusterConfig, SimulationConfig
from tests.twin import curves
from tests.twin.decisions import Decision, Evict, Move, Place, Stop
from tests.twin.hashing import FLUCTUATION_STREAM, uniform
from tests.twin.pair import Pair
from tests.twin.workloads import a_job, workload_of

SECOND = 125e6  # bytes that a NIC of 1 Gbit/s sends in a second
RESTART = {1: 7.0, 2: 30.0, 8: 30.0, 9: 60.0}  # s, by GPUs


def a_pair(*jobs: dict[str, Any], wake_every: float = math.inf, seed: int = 0, **simulation: Any) -> Pair:
    cluster = ClusterConfig(servers=3, gpus_per_server=4, cpu_cores=32, nic_gbit_per_s=1)
    settings = SimulationConfig.parse({"fluctuation": 0.0, **simulation})
    return Pair(workload_of(*jobs), cluster, settings, seed, wake_every)


def until(pair: Pair, time: float) -> None:
    """On to the round at this time, with no decision on the way."""
    while pair.twin.time < time:
        assert pair.advance() == "round"
    assert pair.twin.time == time


# --- the order of events ------------------------------------------------------------------------------
def test_order_at_equal_times() -> None:
    """Two completions, the redraw, two arrivals and a round, all at 60 s."""
    short = a_job(max_iterations=60)
    long = a_job(max_iterations=600)
    pair = a_pair(short, short, long, a_job(arrival=60.0), a_job(arrival=60.0), fluctuation=0.2, redraw_seconds=60.0)
    pair.advance()
    pair.decide(Place(1, (0,), None), Place(0, (1,), None), Place(2, (2,), None))
    pair.advance()
    assert pair.log[4:] == [
        (60.0, "completion", 0),
        (60.0, "completion", 1),
        (60.0, "redraw", -1),
        (60.0, "arrival", 3),
        (60.0, "arrival", 4),
        (60.0, "round", -1),
    ]


def test_rounds_come_only_when_there_is_something_to_decide() -> None:
    """Nothing waits after the first round, so the completions bring none; the arrivals do, one for both."""
    pair = a_pair(a_job(max_iterations=100), a_job(max_iterations=70), a_job(arrival=190.0), a_job(arrival=200.0))
    pair.advance()
    pair.decide(Place(0, (0,), None), Place(1, (1,), None))
    assert pair.advance() == "round"
    assert pair.log[3:] == [
        (70.0, "completion", 1),
        (100.0, "completion", 0),
        (190.0, "arrival", 2),
        (200.0, "arrival", 3),
        (240.0, "round", -1),
    ]
    assert pair.advance() == "stuck"


def test_a_completion_brings_a_round_while_a_replica_waits() -> None:
    pair = a_pair(a_job(max_iterations=100), a_job(2, max_iterations=900))
    pair.advance()
    pair.decide(Place(0, (0,), None), Place(1, (1,), None))
    assert pair.advance() == "round"
    assert pair.log[-2:] == [(100.0, "completion", 0), (120.0, "round", -1)]
    assert pair.advance() == "done"  # without another round, though a replica still waits


def test_a_redraw_brings_a_round_while_a_server_is_overloaded() -> None:
    greedy = a_job(max_iterations=900, tasks={"gpu_demand": 900})
    pair = a_pair(greedy, greedy, fluctuation=0.01, redraw_seconds=90.0)
    pair.advance()
    pair.decide(Place(0, (0,), None), Place(1, (0,), None))
    assert pair.advance() == "round"
    assert pair.log[-2:] == [(90.0, "redraw", -1), (120.0, "round", -1)]
    pair.decide(Move(1, 0, 1))
    assert pair.advance() == "done"


def test_a_stop_brings_a_round_while_a_job_waits() -> None:
    """What it frees may be what the job waits for."""
    pair = a_pair(a_job(max_iterations=900), a_job(), a_job(max_iterations=900))
    pair.advance()
    pair.decide(Place(0, (0,), None), Place(2, (1,), None), Stop(0))
    assert pair.advance() == "round"
    assert pair.log[3:] == [(0.0, "round", -1), (60.0, "round", -1)]


def test_no_two_rounds_at_the_same_time() -> None:
    """An arrival at a round's time comes before it; what the round itself changes waits for the next."""
    pair = a_pair(a_job(), a_job(arrival=60.0), a_job(arrival=60.0))
    until(pair, 60.0)
    pair.decide(Stop(0), Stop(1))
    assert pair.advance() == "round"
    assert pair.twin.time == 120.0


def test_a_scheduler_can_ask_for_rounds() -> None:
    pair = a_pair(a_job(max_iterations=200), wake_every=90.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "round"
    assert pair.twin.time == 120.0  # the first multiple of 60 s not before 90 s
    assert pair.advance() == "done"


def test_a_round_asked_for_never_lies_in_the_past() -> None:
    """No job is active from 30 s to 200 s, and the round that was due at 60 s did not take place."""
    pair = a_pair(a_job(max_iterations=30), a_job(arrival=200.0), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "round"
    assert pair.log[-3:] == [(30.0, "completion", 0), (200.0, "arrival", 1), (240.0, "round", -1)]


@pytest.mark.parametrize("microseconds", [1, 2])
def test_a_round_never_comes_before_what_it_is_for(microseconds: int) -> None:
    """An arrival just after a multiple of a long round time waits for the next multiple."""
    arrival = 3600 + microseconds / 1e6
    pair = a_pair(a_job(max_iterations=10_000), a_job(arrival=arrival), round_seconds=3600.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "round"
    assert pair.log[-2:] == [(arrival, "arrival", 1), (7200.0, "round", -1)]


def test_time_does_not_start_at_minus_zero() -> None:
    pair = a_pair(a_job())
    assert pair.advance() == "round"
    assert math.copysign(1.0, pair.cluster.time) == 1.0


def test_stuck_when_nothing_runs_and_nothing_will_come() -> None:
    pair = a_pair(a_job())
    assert pair.advance() == "round"
    assert pair.advance() == "stuck"
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "done"


def test_time_limit_settles_what_runs() -> None:
    pair = a_pair(a_job(max_iterations=1000), a_job(), time_limit_seconds=90.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "limit"
    runs, waits = pair.twin.jobs
    assert (runs.progress, runs.attained_service, runs.waiting_time) == (90.0, 90.0, 0.0)
    assert (waits.progress, waits.attained_service, waits.waiting_time) == (0.0, 0.0, 90.0)
    assert pair.twin.jct_integral == 180.0


def test_finish_is_on_the_grid_of_microseconds() -> None:
    pair = a_pair(a_job(max_iterations=1, tasks={"compute_time": 1 / 3}))
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "done"
    assert pair.twin.jobs[0].finish == 0.333333
    assert pair.twin.jobs[0].progress == 1.0


# --- stalls -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gpus", [1, 2, 8, 9])
def test_restart_after_an_eviction(gpus: int) -> None:
    """Evicted at 60 s after 60 iterations, placed again at 120 s; 5 s of checkpoint."""
    job = a_job(gpus, max_iterations=200, checkpoint_bytes=5 * SECOND, tasks={"compute_time": 1.0 / gpus})
    pair = a_pair(job, a_job(arrival=110.0), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    pair.decide(Evict(0))
    evicted = pair.twin.jobs[0]
    assert (evicted.status, evicted.restart_due, evicted.finish_at) == (QUEUED, True, math.inf)
    until(pair, 120.0)
    pair.decide(Place(0, (1,), None))
    assert evicted.stalled_until == 120 + RESTART[gpus] + 5
    assert evicted.finish_at == evicted.stalled_until + (200 - 60)
    assert (evicted.bytes_sent, evicted.preemptions, evicted.migrations) == (5 * SECOND, 1, 0)
    pair.observe()
    until(pair, 180.0)
    pair.observe()
    assert evicted.progress == 60 + max(0.0, 180 - evicted.stalled_until)
    assert (evicted.waiting_time, evicted.attained_service) == (60.0, 120.0)


def test_the_first_placement_costs_nothing() -> None:
    pair = a_pair(a_job(2, checkpoint_bytes=5 * SECOND), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    pair.decide(Place(0, (1,), None))  # nor does another replica
    job = pair.twin.jobs[0]
    assert (job.progress, job.bytes_sent, job.finish_at) == (30.0, 0.0, 60.0 + 70.0)


def moving() -> dict[str, Any]:
    tasks = [{"parameter_share": share, "cpu_demand": 100} for share in (0.25, 0.75)]
    return a_job(1, 2, [], tasks, {"cpu_demand": 100}, checkpoint_bytes=8 * SECOND, max_iterations=1000)


@pytest.mark.parametrize(
    ("moves", "transfer"),
    [
        ([Move(0, 0, 3)], 2),  # even inside its server
        ([Move(1, 1, 4)], 6),
        ([Move(2, 1, None)], 8),  # the parameter server: all of it
        ([Move(0, 1, 4), Move(1, 1, 5), Move(0, 2, 8)], 2 + 6 + 2),
    ],
)
def test_moves_stall_at_once(moves: list[Decision], transfer: float) -> None:
    pair = a_pair(moving(), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0, 1), 0))
    until(pair, 60.0)
    assert all(pair.decide(*moves))
    job = pair.twin.jobs[0]
    assert (job.status, job.progress, job.migrations) == (RUNNING, 60.0, len(moves))
    assert job.stalled_until == 60 + len(moves) * RESTART[2] + transfer
    assert job.bytes_sent == transfer * SECOND
    assert pair.twin.tasks[moves[0].task].moved_at == 60.0  # type: ignore[union-attr]
    until(pair, 180.0)
    pair.observe()
    assert job.progress == 60 + max(0.0, 180 - job.stalled_until) / job.iteration_time


def test_a_later_move_does_not_end_a_longer_stall() -> None:
    tasks = [{"parameter_share": share} for share in (0.01, 0.99)]
    pair = a_pair(a_job(1, 2, [], tasks, checkpoint_bytes=400 * SECOND, max_iterations=1000), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0, 1), None))
    until(pair, 60.0)
    pair.decide(Move(1, 0, 2))
    until(pair, 120.0)
    pair.decide(Move(0, 0, 3))
    assert pair.twin.jobs[0].stalled_until == 60 + 30 + 396


def test_impossible_moves() -> None:
    pair = a_pair(moving(), a_job(), sharing=False)
    pair.advance()
    assert pair.decide(Move(0, 0, 0)) == [False]  # not placed
    assert pair.decide(Place(0, (0, 1), 0), Place(1, (4,), None)) == [True, True]
    assert pair.decide(Move(0, 0, 0)) == [False]  # it is there
    assert pair.decide(Move(2, 0, None)) == [False]  # so is the parameter server
    assert pair.decide(Move(0, 1, 4)) == [False]  # taken, and GPUs are not shared
    assert pair.twin.jobs[0].migrations == 0


# --- placement ----------------------------------------------------------------------------------------
def test_a_replica_is_placed_as_a_whole_or_not_at_all() -> None:
    big = a_job(2, 2, [], {"gpu_memory": 9000}, {"memory": 1024})
    pair = a_pair(big)
    pair.advance()
    assert pair.decide(Place(0, (0, 0), 0)) == [False]  # 18,000 of 16,384 MiB
    assert all(task.server is None for task in pair.twin.tasks)
    assert pair.decide(Place(0, (0, 1), 0), Place(0, (1, 2), None), Place(0, (2, 3), None)) == [True, False, True]
    assert pair.decide(Place(0, (4, 5), None)) == [False]  # both replicas run


def test_host_memory_is_a_hard_limit() -> None:
    """244 GiB a server; the parameter server counts."""
    half = 122 * 1024
    job = a_job(1, 2, [], {"memory": half}, {"memory": 1})
    pair = a_pair(job)
    pair.advance()
    assert pair.decide(Place(0, (0, 1), 0)) == [False]
    assert pair.decide(Place(0, (0, 1), 1)) == [True]
    assert pair.decide(Move(2, 0, None)) == [False]


def test_exclusive_gpus() -> None:
    pair = a_pair(a_job(1, 2), a_job(), sharing=False)
    pair.advance()
    assert pair.decide(Place(0, (0, 0), None)) == [False]
    assert pair.decide(Place(0, (0, 1), None), Place(1, (1,), None), Place(1, (2,), None)) == [True, False, True]


def test_the_lowest_replica_comes_first_and_an_eviction_takes_all() -> None:
    pair = a_pair(a_job(3, 1, [], {}, {}), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (4,), 0), Place(0, (5,), None))
    assert [task.gpu.index if task.gpu else None for task in pair.twin.tasks] == [4, 5, None, None]
    pair.decide(Evict(0))
    assert all(task.server is None for task in pair.twin.tasks)
    assert pair.decide(Evict(0)) == [False]


# --- demand -------------------------------------------------------------------------------------------
def test_demand_fluctuates_by_task_and_period() -> None:
    nominal = {"gpu_demand": 600, "cpu_demand": 3000}
    pair = a_pair(a_job(2, tasks=nominal), wake_every=60.0, fluctuation=0.3, redraw_seconds=60.0, seed=5)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    pair.decide(Place(0, (1,), None))
    for task in pair.twin.tasks:
        factor = 1 + 0.3 * (2 * uniform(5, FLUCTUATION_STREAM, task.index, 1) - 1)
        assert (task.gpu_used, task.cpu_used) == (round(600 * factor), round(3000 * factor))


def test_a_late_placement_takes_the_factor_of_its_period() -> None:
    """Nothing runs before 200 s, so nothing is redrawn; the period is that of the time all the same."""
    pair = a_pair(a_job(tasks={"gpu_demand": 1000}, arrival=200.0), fluctuation=0.3, redraw_seconds=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.log == [(200.0, "arrival", 0), (240.0, "round", -1)]
    factor = 1 + 0.3 * (2 * uniform(0, FLUCTUATION_STREAM, 0, 4) - 1)
    assert pair.twin.tasks[0].gpu_used == round(1000 * factor)


def test_redraws_are_on_the_grid() -> None:
    """3 * 0.7 is 2.0999999999999996 in floating point."""
    pair = a_pair(a_job(max_iterations=3), fluctuation=0.1, redraw_seconds=0.7)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "done"
    assert [time for time, kind, _ in pair.log if kind == "redraw"] == [0.7, 1.4, 2.1, 2.8]


# --- learning -----------------------------------------------------------------------------------------
def test_accuracy_at_a_deadline_between_two_events() -> None:
    """At 30 s: 30 iterations, (1 + 30/10)^-2 = 1/16 of the way left; 0.8 is the ceiling."""
    pair = a_pair(a_job(deadline=30.0, required_accuracy=0.75))
    pair.advance()
    pair.decide(Place(0, (0,), None))
    pair.advance()
    job = pair.twin.jobs[0]
    assert job.accuracy_by_deadline == pytest.approx(0.8 * 15 / 16)
    assert job.accuracy == pytest.approx(0.8 * (1 - 11**-2))
    assert job.requirement_met
    assert pair.twin.deadlines_met == 0


def test_a_deadline_during_a_stall() -> None:
    pair = a_pair(a_job(deadline=80.0, checkpoint_bytes=30 * SECOND, max_iterations=200), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    pair.decide(Move(0, 0, 1))  # stalled until 97 s
    until(pair, 120.0)
    pair.observe()
    assert pair.twin.jobs[0].accuracy_by_deadline == pytest.approx(0.8 * (1 - 7**-2))


def test_a_requirement_that_overfitting_takes_away_again_is_met() -> None:
    """Accuracy peaks between two events, some time after overfitting has set in.

    Slope 0.008 a step, from iteration 10 on: training brings less than that takes away from where
    4 * 2/10 * (1 + i/10)^-3 = 0.008, i = 10 * (100^(1/3) - 1) = 36.4; there it has cost little.
    """
    pair = a_pair(a_job(overfit_start=10.0, overfit_slope=0.008, required_accuracy=0.71, max_iterations=200))
    pair.advance()
    pair.decide(Place(0, (0,), None))
    assert pair.advance() == "done"
    job = pair.twin.jobs[0]
    assert job.accuracy == pytest.approx(0.8 * (1 - 21**-2 - 0.008 * 190 / 4))
    assert curves.accuracy(job.request, 10.0) < 0.71 < curves.accuracy(job.request, 36.4)
    assert job.requirement_met


def test_losses_of_the_last_whole_iterations() -> None:
    """Power law from 5 to 1, without noise: 1 + 4 * (1 + i/10)^-2."""
    pair = a_pair(a_job(max_iterations=100), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    pair.observe()
    job = pair.twin.jobs[0]
    assert (job.loss, job.previous_loss) == pytest.approx((1 + 4 / 49, 1 + 4 / 6.9**2))


def test_losses_stay_true_when_a_job_no_longer_runs() -> None:
    """Evicted and finished jobs have learned what they have learned."""
    pair = a_pair(a_job(max_iterations=100), a_job(max_iterations=100), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None), Place(1, (1,), None))
    until(pair, 60.0)
    pair.decide(Evict(0))
    until(pair, 120.0)
    pair.observe()
    evicted, finished = pair.twin.jobs
    assert (evicted.loss, evicted.previous_loss) == pytest.approx((1 + 4 / 49, 1 + 4 / 6.9**2))
    assert (finished.loss, finished.previous_loss) == pytest.approx((1 + 4 / 121, 1 + 4 / 10.9**2))
    for job in pair.twin.jobs:
        row = pair.cluster.jobs[job.index]
        assert (row["loss"], row["previous_loss"]) == pytest.approx((job.loss, job.previous_loss), rel=1e-12)


def test_the_first_loss_is_the_one_observed_at_iteration_0() -> None:
    """The same noise whichever field shows it."""
    pair = a_pair(a_job(loss_noise=0.1))
    pair.advance()
    pair.decide(Place(0, (0,), None))
    pair.observe()
    row = pair.cluster.jobs[0]
    assert row["loss"] == row["previous_loss"] == row["first_loss"] == pair.twin.jobs[0].first_loss != 5.0


# --- accounts -----------------------------------------------------------------------------------------
def test_stop_counts_as_completed() -> None:
    pair = a_pair(a_job(max_iterations=1000, deadline=100.0), a_job(deadline=100.0), wake_every=60.0)
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    assert pair.decide(Stop(0), Stop(1), Stop(1), Place(1, (0,), None)) == [True, True, False, False]
    ran, waited = pair.twin.jobs
    assert ran.status == waited.status == STOPPED
    assert ran.finish == waited.finish == 60.0
    assert (ran.progress, ran.attained_service, waited.waiting_time) == (60.0, 60.0, 60.0)
    assert ran.accuracy_by_deadline == pytest.approx(0.8 * (1 - 7**-2))
    assert math.isnan(waited.first_start)
    assert pair.twin.deadlines_met == 2
    assert pair.advance() == "done"


def test_a_stopped_job_waits_no_more_in_the_same_round() -> None:
    pair = a_pair(a_job(), a_job())
    pair.advance()
    assert pair.cluster.stop(0)
    assert pair.cluster.waiting_jobs() == [1]
    assert pair.cluster.active_jobs() == [1]


def test_accounts_of_a_job_with_two_replicas() -> None:
    """Alone to 60 s at 2 s an iteration, then two across servers at 1 + 1 s, sending 2 s of the NIC each time."""
    pair = a_pair(a_job(2, gradient_bytes=SECOND, max_iterations=40, arrival=10.0), wake_every=60.0)
    until(pair, 60.0)
    pair.decide(Place(0, (0,), None))
    until(pair, 120.0)
    pair.decide(Place(0, (4,), None))
    assert pair.advance() == "done"
    job = pair.twin.jobs[0]
    assert (job.status, job.first_start, job.finish) == (FINISHED, 60.0, 140.0)
    assert (job.waiting_time, job.attained_service) == (50.0, 60.0 + 2 * 20.0)
    assert job.bytes_sent == 10 * 2 * SECOND
    assert pair.twin.jct_integral == 130.0


def test_a_neighbour_changes_speed_from_then_on() -> None:
    """Alone for 60 s, then beside a job of 60 iterations that doubles both their times, then alone again."""
    greedy = {"gpu_demand": 1000, "cpu_demand": 100}
    pair = a_pair(a_job(max_iterations=150, tasks=greedy), a_job(max_iterations=60, tasks=greedy, arrival=60.0))
    pair.advance()
    pair.decide(Place(0, (0,), None))
    until(pair, 60.0)
    pair.decide(Place(1, (0,), None))
    assert pair.advance() == "done"
    first, second = pair.twin.jobs
    assert (first.finish, second.finish) == (60 + 120 + 30, 60 + 120)
