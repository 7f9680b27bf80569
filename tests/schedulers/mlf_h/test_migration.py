"""Which task leaves an overloaded server, where to, and whether that pays: numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import NONE
from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.schedulers.mlf_h.benefit import move_pays
from mlfs_gym.schedulers.mlf_h.decide import next_move
from mlfs_gym.schedulers.mlf_h.migration import move_candidates, move_host, move_targets, task_utilisation
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.scheduler import MLFH
from mlfs_gym.schedulers.mlf_h.survey import new_survey
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, contents, next_round, place

HALF_AN_HOUR = {"benefit_horizon_seconds": 1800.0}  # the horizon that the numbers below assume
LINKS = {"tasks.next_on_server", "tasks.previous_on_server", "servers.first_task"}  # order of no consequence


def candidates(cluster: SimulatedCluster, **changes: Any) -> list[int]:
    params = MLFHParams(**changes).record()
    found = np.full(int(params["move_candidates"][0]), -9, np.int64)
    return found[: move_candidates(cluster.state, params, found, new_survey(cluster.state, params))].tolist()


def shared_gpu(*jobs: J, servers: int = 2, **options: Any) -> SimulatedCluster:
    """All jobs (of one task each) on GPU 0."""
    cluster = at_first_round(*jobs, servers=servers, gpus=2, **options)
    for job in range(len(jobs)):
        place(cluster, job, 0)
    cluster.apply()
    return cluster


# --- which task ---------------------------------------------------------------------------------
def test_no_overload_no_candidates() -> None:
    assert candidates(shared_gpu(J(gpu=600), J(gpu=400))) == []  # exactly full is not above 1.0


def test_of_an_overloaded_gpu_only_the_tenth_of_lowest_priority_may_move() -> None:
    # Two tasks: a tenth rounds up to one, the less urgent.
    assert candidates(shared_gpu(J(gpu=800, urgency=1.0), J(gpu=700, urgency=9.0))) == [0]
    assert candidates(shared_gpu(J(gpu=800, urgency=9.0), J(gpu=700, urgency=1.0))) == [1]
    # Eleven tasks: two. By urgency, tasks 10 and 9.
    many = [J(gpu=100, urgency=10.0 - number / 2) for number in range(11)]
    assert sorted(candidates(shared_gpu(*many))) == [9, 10]


def test_tasks_beside_the_overloaded_gpu_stay() -> None:
    cluster = at_first_round(J(gpu=800), J(gpu=700), J(gpu=900, urgency=0.0), servers=2, gpus=2)
    for job, gpu in enumerate((0, 0, 1)):
        place(cluster, job, gpu)
    assert sorted(candidates(cluster, lowest_priority_fraction=1.0)) == [0, 1]


def test_the_ideal_task_uses_most_of_what_is_scarce() -> None:
    # GPU is overloaded; nothing else differs. Distances 0 (0.8), 0.1, 0.4.
    cluster = shared_gpu(J(gpu=400), J(gpu=800), J(gpu=700))
    assert candidates(cluster, lowest_priority_fraction=1.0) == [1, 2, 0]


def test_the_ideal_task_uses_least_of_what_is_not() -> None:
    # Task 0: GPU 0.8, CPU 0.5. Task 1: GPU 0.7, CPU 0.1. Squares: 0 + 0.4**2 = 0.16 against 0.1**2 + 0 = 0.01.
    cluster = shared_gpu(J(gpu=800, cpu=5000), J(gpu=700, cpu=1000))
    assert task_utilisation(cluster.state, 0, 0) == 0.8
    assert task_utilisation(cluster.state, 0, 1) == 0.5
    assert candidates(cluster, lowest_priority_fraction=1.0) == [1, 0]


def test_while_only_the_cpu_is_overloaded_every_task_may_move_the_largest_first() -> None:
    cluster = at_first_round(J(cpu=3000), J(cpu=5000), J(cpu=4000, ps=True, ps_cpu=4500), servers=2, gpus=4)
    for job, hosts in enumerate(((0,), (1,), (2, 0))):
        place(cluster, job, *hosts)
    # Task 1 uses 0.5 and is ideal; the parameter server (task 3) 0.45 and no GPU, which is ideal too (the least);
    # the others use a whole GPU: squares 1 (task 1), 0.05**2 (3), 1 + 0.1**2 (2), 1 + 0.2**2 (0).
    assert candidates(cluster) == [3, 1, 2, 0]


def test_a_task_that_talks_to_tasks_that_stay_comes_later() -> None:
    # Four equal tasks; partitions 0 and 1 of job 0 exchange 1e8 on the server, the others nothing.
    pair = J(compute=(1.0, 1.0), edges=((0, 1, 1e8),), gpu=400)
    cluster = at_first_round(pair, J(gpu=400), servers=2, gpus=1)
    place(cluster, 0, 0, 0)
    place(cluster, 1, 0)
    assert candidates(cluster, lowest_priority_fraction=1.0) == [2, 0, 1]
    assert candidates(cluster, lowest_priority_fraction=1.0, bandwidth_weight=0.0) == [0, 1, 2]


def test_a_task_that_has_moved_rests() -> None:
    cluster = shared_gpu(J(gpu=800, iterations=1000), J(gpu=700, iterations=1000))
    next_round(cluster, 1800.0)
    cluster.observe()
    for moved_at, expected in ((0.0, [0, 1]), (1.0, [1]), (1800.0, [1])):
        cluster.tasks["moved_at"][0] = moved_at
        assert sorted(candidates(cluster, lowest_priority_fraction=1.0)) == expected
    cluster.tasks["moved_at"][0] = 1.0
    assert candidates(cluster, lowest_priority_fraction=1.0, migration_cooldown_seconds=1799.0) == [0, 1]


def test_a_task_moves_once_a_round_even_without_a_cooldown() -> None:
    cluster = shared_gpu(J(gpu=800), J(gpu=700))
    cluster.tasks["moved_at"][:] = cluster.time
    assert candidates(cluster, lowest_priority_fraction=1.0, migration_cooldown_seconds=0.0) == []


def test_a_gpu_with_one_task_is_not_overloaded() -> None:
    # Demands of a whole GPU that fluctuate by 30%: some are above 1.0, alone on their GPUs.
    cluster = at_first_round(*(J(gpu=1000) for _ in range(8)), servers=4, gpus=4, fluctuation=0.3)
    for job in range(8):
        place(cluster, job, job)
    assert cluster.gpus["used"].max() > 1100
    assert candidates(cluster, lowest_priority_fraction=1.0) == []
    assert candidates(cluster, lowest_priority_fraction=1.0, migrate_above=0.9) == []


def test_servers_take_turns_and_the_number_of_candidates_is_bounded() -> None:
    jobs = [J(gpu=gpu) for gpu in (800, 700, 600, 900)]
    cluster = at_first_round(*jobs, servers=3, gpus=1)
    for job, gpu in enumerate((0, 0, 1, 1)):
        place(cluster, job, gpu)
    assert candidates(cluster, lowest_priority_fraction=1.0) == [0, 3, 1, 2]
    assert candidates(cluster, lowest_priority_fraction=1.0, move_candidates=3) == [0, 3, 1]


# --- where to -----------------------------------------------------------------------------------
def test_the_nearest_server_that_may_host_is_the_target() -> None:
    # GPU use: server 1 0.2, server 2 0.1, server 3 0.9 on both GPUs (no room below 0.9).
    tenants = [J(gpu=gpu) for gpu in (400, 200, 900, 900)]
    cluster = at_first_round(J(gpu=800), J(gpu=700), *tenants, servers=4, gpus=2)
    for job, gpu in enumerate((0, 0, 2, 4, 6, 7)):
        place(cluster, job, gpu)
    params = MLFHParams().record()
    survey = new_survey(cluster.state, params)
    assert move_targets(cluster.state, 1, params, survey) == 2
    assert survey.targets[:2].tolist() == [2, 1]
    assert move_host(cluster.state, 1, 2, params) == 5  # its empty GPU
    assert move_host(cluster.state, 1, 0, params) == NONE  # where it is
    assert move_host(cluster.state, 1, 3, params) == NONE


def test_peers_attract() -> None:
    # The task's neighbour in the graph sits on server 2: distance 1 for the others.
    pair = J(compute=(1.0, 1.0), edges=((0, 1, 1e8),), gpu=(700, 200))
    cluster = at_first_round(J(gpu=800), pair, servers=3, gpus=2)
    place(cluster, 0, 0)
    place(cluster, 1, 0, 4)
    params = MLFHParams().record()
    survey = new_survey(cluster.state, params)
    assert move_targets(cluster.state, 1, params, survey) == 2
    assert survey.targets[:2].tolist() == [2, 1]


# --- does it pay --------------------------------------------------------------------------------
def pays(cluster: SimulatedCluster, task: int, server: int, gpu: int, **changes: Any) -> bool:
    """Also checks that the trial moves nothing."""
    before = contents(cluster.state)
    params = MLFHParams(**HALF_AN_HOUR | changes).record()
    found = bool(move_pays(cluster.state, task, server, gpu, params, new_survey(cluster.state, params)))
    check_invariants(cluster.state)
    cluster.apply()
    after = contents(cluster.state)
    assert {name for name in after if after[name] != before[name]} <= LINKS
    return found


def crowded(iterations: int = 1000, checkpoint: float = 0.0) -> SimulatedCluster:
    """Tasks at 0.8 (urgent) and 0.7 on GPU 0, at two thirds of their speed; server 1 (GPUs 2, 3) is empty."""
    return shared_gpu(
        J(gpu=800, iterations=1000, urgency=9.0),
        J(gpu=700, iterations=iterations, urgency=1.0, checkpoint=checkpoint),
    )


@pytest.mark.parametrize(
    ("checkpoint", "expected"),
    [
        # Gain: both tasks from 2/3 to 1, together 2/3 of a GPU over 1800 s = 1200 GPU-seconds.
        # Cost: 2/3 of a GPU for 7 s + checkpoint / 1e9 bytes/s.
        (0.0, True),
        (1792e9, True),  # 1799 s
        (1794e9, False),  # 1801 s
    ],
)
def test_the_gain_over_the_horizon_must_exceed_the_stall(checkpoint: float, expected: bool) -> None:
    assert pays(crowded(checkpoint=checkpoint), 1, 1, 2) is expected


@pytest.mark.parametrize(("checkpoint", "expected"), [(92e9, True), (94e9, False)])
def test_a_job_that_ends_soon_has_little_time_to_gain(checkpoint: float, expected: bool) -> None:
    assert pays(crowded(iterations=10, checkpoint=checkpoint), 1, 1, 2) is expected  # 100 s: stalls of 99 and 101 s


@pytest.mark.parametrize(("checkpoint", "expected"), [(42e9, True), (44e9, False)])
def test_the_horizon_is_a_parameter(checkpoint: float, expected: bool) -> None:
    assert pays(crowded(checkpoint=checkpoint), 1, 1, 2, benefit_horizon_seconds=50.0) is expected


def test_only_the_share_of_the_task_is_transferred() -> None:
    # Partition 1 with an eighth of the parameters leaves GPU 0, where both partitions compute at 1/1.5:
    # (12 + 3) s per iteration before, 8 + 2 after (the edge is tiny); ideal 10, two GPUs: speed 4/3 -> 2.
    # Gain 2/3 * 1800; cost 4/3 * stall: stalls below 900 s pay. 30 s + checkpoint / 8.
    for checkpoint, expected in ((8 * 869e9, True), (8 * 871e9, False)):
        job = J(
            compute=(8.0, 2.0), edges=((0, 1, 1.0),), gpu=750, shares=(0.875, 0.125), iterations=1000,
            checkpoint=checkpoint,
        )  # fmt: skip
        cluster = at_first_round(job, servers=2)
        place(cluster, 0, 0, 0)
        cluster.apply()
        assert pays(cluster, 1, 1, 1) is expected


def test_a_move_that_slows_the_neighbours_there_does_not_pay() -> None:
    # From a GPU at 1.5 with one neighbour to one at 1.6 with one neighbour: nothing gained.
    cluster = at_first_round(J(gpu=800), J(gpu=700), J(gpu=900), servers=2, gpus=1)
    for job, gpu in enumerate((0, 0, 1)):
        place(cluster, job, gpu)
    cluster.apply()
    assert not pays(cluster, 1, 1, 1)


def test_a_move_that_cuts_a_busy_edge_does_not_pay() -> None:
    # The edge of 1e10 bytes takes 10 s once it crosses: 15 s per iteration become 20.
    job = J(compute=(8.0, 2.0), edges=((0, 1, 1e10),), gpu=750, iterations=1000)
    cluster = at_first_round(job, servers=2)
    place(cluster, 0, 0, 0)
    cluster.apply()
    assert not pays(cluster, 1, 1, 1)


# --- a round ------------------------------------------------------------------------------------
def schedule(cluster: SimulatedCluster, **changes: Any) -> list[int]:
    """One round of MLF-H. Returns the GPU of each task."""
    MLFH(HALF_AN_HOUR | changes).schedule(cluster)
    check_invariants(cluster.state)
    return cluster.tasks["gpu"].tolist()


def test_a_move_that_pays_is_made() -> None:
    cluster = crowded(checkpoint=1792e9)
    assert schedule(cluster) == [0, 2]
    row = cluster.jobs[1]
    assert (row["migrations"], cluster.state.clock["migrations"][0], cluster.tasks["moved_at"][1]) == (1, 1, 0.0)
    cluster.apply()
    assert cluster.jobs["iteration_time"].tolist() == [10.0, 10.0]
    assert cluster.jobs["stalled_until"][1] == 1799.0


def test_a_move_that_does_not_pay_is_not_made_unless_told_so() -> None:
    assert schedule(crowded(checkpoint=1794e9)) == [0, 0]
    assert schedule(crowded(checkpoint=1794e9), cost_benefit=False) == [0, 2]


def test_migration_can_be_switched_off() -> None:
    assert schedule(crowded(), migrate=False) == [0, 0]


def test_the_published_rule_moves_above_hr() -> None:
    # 0.95 is above 0.9 and below 1.0: the letter moves, the default does not.
    def cluster() -> SimulatedCluster:
        return shared_gpu(J(gpu=500, urgency=9.0), J(gpu=450, urgency=1.0))

    assert schedule(cluster()) == [0, 0]
    letter = cluster()
    MLFH(MLFHParams.paper()).schedule(letter)
    assert letter.tasks["gpu"].tolist() == [0, 2]


def test_moves_go_on_until_the_server_is_no_longer_overloaded() -> None:
    # Four tasks of 0.5 on GPU 0. One move leaves 1.5, two leave 1.0, which is not above 1.0.
    cluster = shared_gpu(*(J(gpu=500, iterations=1000) for _ in range(4)))
    placed = schedule(cluster)
    assert placed.count(0) == 2
    assert cluster.gpus["used"].tolist()[0] == 1000
    assert cluster.state.clock["migrations"][0] == 2


def test_without_a_target_the_task_stays() -> None:
    cluster = shared_gpu(J(gpu=800), J(gpu=700), servers=1)
    params = MLFHParams(cost_benefit=False).record()
    assert next_move(cluster.state, params, new_survey(cluster.state, params)) == (NONE, NONE)
    assert schedule(cluster, cost_benefit=False) == [0, 0]


def test_a_parameter_server_leaves_a_server_short_of_cpu() -> None:
    # CPU 4 + 7 of 10 cores on server 0: the parameter server (7) is the ideal task to move.
    cluster = at_first_round(J(cpu=4000, ps=True, ps_cpu=7000, iterations=1000), servers=2)
    place(cluster, 0, 0, 0)
    cluster.apply()
    MLFH().schedule(cluster)
    check_invariants(cluster.state)
    assert cluster.tasks["server"].tolist() == [0, 1]
