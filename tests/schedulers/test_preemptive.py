"""Serving in order with preemption: the quantum, the cheapest room, the patience, placement styles. GPUs exclusive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import FINISHED, RUNNING, Array, State
from mlfs_gym.cluster.consolidated import usable_gpus
from mlfs_gym.cluster.decisions import evict_job
from mlfs_gym.schedulers.preemptive import (
    CONSOLIDATED,
    ONE_SERVER,
    SPREAD,
    ByLevel,
    PreemptionSettings,
    serve_in_order,
)
from mlfs_gym.schedulers.room import (
    Queue,
    cheapest_server,
    could_make_room,
    make_room,
    new_room_scratch,
    usable_without,
)
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from tests.builders import J, at_first_round, cluster_of, next_round, place, random_workload

LONG = 10_000  # iterations of 10 s


class ByUrgency(ByLevel):
    """The more urgent first; a simple stand-in for a scheduler."""

    name = "by_urgency"

    def __init__(self, **settings: float) -> None:
        super().__init__(PreemptionSettings.parse(settings))

    def level(self, state: State, active: Array) -> Array:
        """Minus the urgency."""
        return -state.jobs["urgency"][active]


def queue_of(
    cluster: SimulatedCluster, *levels: float, held: tuple[int, ...] = (), overdue: tuple[int, ...] = ()
) -> Queue:
    """All jobs, which are given in the order of levels."""
    jobs = len(levels)
    return Queue(
        order=np.arange(jobs),
        level=np.array(levels, float),
        wanted=cluster.jobs["replicas"].astype(np.int64),
        held=np.isin(np.arange(jobs), held),
        overdue=np.isin(np.arange(jobs), overdue),
        style=np.full(jobs, CONSOLIDATED),
        rank=np.arange(jobs),
        room=new_room_scratch(cluster.state),
    )


def running(cluster: SimulatedCluster) -> list[int]:
    found: list[int] = cluster.jobs["running_replicas"].tolist()
    return found


def gang(gpus: int, **fields: Any) -> J:
    return J(compute=(10.0,) * gpus, ideal=10.0, **fields)


# --- the quantum --------------------------------------------------------------------------------
def test_a_placed_job_is_left_alone_for_a_quantum() -> None:
    # Job 1 is more urgent and comes at 60. The next rounds: 60, and 300 s later 360, when job 0 has had its quantum.
    # Job 1: 360 to 420. Job 0 has 640 s left and restarts (7 s) at 420.
    cluster = cluster_of(J(iterations=100), J(iterations=6, arrival=60.0, urgency=9.0), sharing=False)
    run(cluster, ByUrgency())
    assert cluster.jobs["finish"].tolist() == [1067.0, 420.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 0]


def test_the_quantum_begins_anew_with_each_placement() -> None:
    # The urgent job 1 (400 s) runs from 360 to 760. Job 0 is back at 780, so job 2, which comes at 800, waits
    # until a round at or after 1080: at 1140, 300 s after the round of its arrival at 840.
    jobs = (J(iterations=300), J(iterations=40, arrival=60.0, urgency=9.0), J(arrival=800.0, urgency=9.0))
    cluster = cluster_of(*jobs, sharing=False)
    run(cluster, ByUrgency())
    assert cluster.jobs["first_start"].tolist() == [0.0, 360.0, 1140.0]


def test_without_a_quantum_preemption_is_immediate() -> None:
    cluster = cluster_of(J(iterations=100), J(iterations=6, arrival=60.0, urgency=9.0), sharing=False)
    run(cluster, ByUrgency(quantum_seconds=0.0))
    assert cluster.jobs["finish"].tolist() == [1067.0, 120.0]


def test_a_job_of_the_same_level_is_not_preempted() -> None:
    cluster = cluster_of(J(iterations=100), J(iterations=6, arrival=60.0), sharing=False)
    run(cluster, ByUrgency())
    assert cluster.jobs["preemptions"].sum() == 0


def test_nobody_is_preempted_where_there_is_room() -> None:
    cluster = cluster_of(J(iterations=100), J(iterations=100, arrival=400.0, urgency=9.0), gpus=2, sharing=False)
    run(cluster, ByUrgency())
    assert cluster.jobs["preemptions"].sum() == 0


# --- room ---------------------------------------------------------------------------------------
def test_room_is_made_on_the_server_where_fewest_gpus_must_go() -> None:
    # Three servers of 4. Server 0: a gang of 4. Server 1: one of 2 and one free pair. Server 2: two single jobs and
    # one of 2. A gang of 4 costs 4, 2 and 4 GPUs.
    jobs = (gang(4), gang(4), gang(2), J(), J(), gang(2))
    cluster = at_first_round(*jobs, servers=3, gpus=4, sharing=False)
    place(cluster, 1, 0, 1, 2, 3)
    place(cluster, 2, 4, 5)
    place(cluster, 3, 8)
    place(cluster, 4, 9)
    place(cluster, 5, 10, 11)
    queue = queue_of(cluster, 0, 1, 2, 3, 4, 5)
    assert cheapest_server(cluster.state, queue, 0, 4, False) == 1
    assert make_room(cluster.state, queue, 0, 4)
    assert running(cluster) == [0, 1, 0, 1, 1, 1]


def test_the_least_important_job_of_a_server_goes_first_and_no_more_than_needed() -> None:
    cluster = at_first_round(*(J() for _ in range(5)), gpus=4, sharing=False)
    for job in range(1, 5):
        place(cluster, job, job - 1)
    queue = queue_of(cluster, 0, 1, 2, 3, 4)
    assert make_room(cluster.state, queue, 0, 1)
    assert running(cluster) == [0, 1, 1, 1, 0]


def test_more_important_and_held_jobs_stay() -> None:
    jobs = (J(), gang(2), J(), J())
    cluster = at_first_round(*jobs, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 2, 1)
    assert not make_room(cluster.state, queue_of(cluster, 0, 1, 2, 3), 1, 2)  # job 0 is more important
    assert not could_make_room(cluster.state, queue_of(cluster, 0, 1, 2, 3), 1, 2)
    held = queue_of(cluster, 3, 1, 2, 4, held=(0,))
    assert not make_room(cluster.state, held, 1, 2)  # job 0 is held ...
    assert could_make_room(cluster.state, held, 1, 2)  # ... which will end
    assert running(cluster) == [1, 0, 1, 0]


def test_only_an_overdue_job_preempts_its_own_level_and_there_only_later_arrivals() -> None:
    cluster = at_first_round(J(), J(), J(), sharing=False)
    place(cluster, 1, 0)
    assert not make_room(cluster.state, queue_of(cluster, 1, 1, 1), 0, 1)
    assert not make_room(cluster.state, queue_of(cluster, 1, 1, 1, overdue=(2,)), 2, 1)
    assert make_room(cluster.state, queue_of(cluster, 1, 1, 1, overdue=(0,)), 0, 1)
    assert running(cluster) == [0, 0, 0]


def test_a_gang_larger_than_a_server_gets_whole_servers() -> None:
    # Three servers of 2: one job on server 0, one on 1, a free server 2. A gang of 4 needs two servers: the free one
    # and the cheaper of the others, server 1 (server 0 has a job that spans nothing but holds both GPUs).
    cluster = at_first_round(gang(4), gang(2), J(), servers=3, gpus=2, sharing=False)
    place(cluster, 1, 0, 1)
    place(cluster, 2, 2)
    assert could_make_room(cluster.state, queue_of(cluster, 0, 1, 2), 0, 4)
    assert running(cluster) == [0, 1, 1]
    assert make_room(cluster.state, queue_of(cluster, 0, 1, 2), 0, 4)
    assert running(cluster) == [0, 1, 0]
    assert cluster.place(0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sharing", [True, False])
def test_room_is_foreseen_as_it_will_be(seed: int, sharing: bool) -> None:
    """What `usable_without` says before an eviction is what `usable_gpus` says after it."""
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 20, 0.0, 8)
    cluster = {"servers": 2, "gpus_per_server": 4, "cpu_cores": 6.0, "memory_gib": 48.0}
    made = SimulatedCluster(workload, cluster, {"sharing": sharing}, seed)
    made.advance()
    for job in range(19):
        made.place_all(job)
    queue = queue_of(made, *range(20))
    compared = 0
    for server in range(2):
        on_it = sorted({int(task["job"]) for task in made.tasks if task["server"] == server}, reverse=True)
        for gone in range(len(on_it) + 1):
            victims, task = np.array(on_it, np.int64), int(made.jobs["first_task"][19])
            foreseen = usable_without(made.state, queue, task, server, victims, gone)
            before = made.state.copy()
            for job in on_it[:gone]:
                evict_job(made.state, job)
            assert foreseen == usable_gpus(made.state, task, server)
            made.state.restore(before)
            compared += 1
    assert compared >= 4


# --- the patience -------------------------------------------------------------------------------
def test_a_gang_gets_its_turn_though_small_jobs_never_leave_a_free_pair() -> None:
    # Jobs of the same level keep both GPUs busy, out of step. At 3600 the gang has waited an hour: nobody starts any
    # more, and it preempts who has had its quantum. Without the patience it waits for the last of them.
    small = [J(iterations=40, arrival=200.0 * number) for number in range(40)]
    jobs = [J(iterations=30), *small[:1], gang(2, iterations=6), *small[1:]]
    jobs[2] = gang(2, iterations=6, arrival=0.0)
    starts = []
    for patience in (3600.0, 1e8):
        cluster = cluster_of(*jobs, gpus=2, sharing=False)
        run(cluster, ByUrgency(patience_seconds=patience))
        assert (cluster.jobs["status"] == FINISHED).all()
        starts.append(float(cluster.jobs["first_start"][2]))
    assert 3600.0 <= starts[0] <= 3600.0 + 600.0
    assert starts[1] > 7000.0


# --- placement styles ---------------------------------------------------------------------------
def half_full(*jobs: J) -> SimulatedCluster:
    """Two servers of 2 GPUs, one GPU of each taken by jobs 0 and 1."""
    cluster = at_first_round(J(iterations=LONG), J(iterations=LONG), *jobs, servers=2, gpus=2, sharing=False)
    place(cluster, 0, 0)
    place(cluster, 1, 2)
    return cluster


@pytest.mark.parametrize(
    ("style", "two_replicas", "two_partitions"), [(CONSOLIDATED, 2, 0), (SPREAD, 2, 1), (ONE_SERVER, 0, 0)]
)
def test_styles(style: int, two_replicas: int, two_partitions: int) -> None:
    for job, expected in ((J(replicas=2), two_replicas), (gang(2), two_partitions)):
        cluster = half_full(job)
        queue = replace(queue_of(cluster, 0, 0, 0), style=np.array([0, 0, style]))
        assert serve_in_order(cluster.state, queue, cluster.hosts_scratch)
        assert running(cluster) == [1, 1, expected]


def test_a_job_that_must_be_together_makes_room_for_all_of_it() -> None:
    cluster = half_full(J(replicas=2))
    queue = replace(queue_of(cluster, 1, 1, 0), style=np.array([0, 0, ONE_SERVER]), order=np.array([2, 0, 1]))
    queue = replace(
        queue, level=np.array([0.0, 1.0, 1.0]), wanted=np.array([2, 1, 1]), style=np.array([ONE_SERVER, 0, 0])
    )
    serve_in_order(cluster.state, queue, cluster.hosts_scratch)
    first = cluster.jobs["first_task"][2]
    assert cluster.tasks["server"][first : first + 2].tolist() == [0, 0]
    assert running(cluster) == [1, 1, 2]  # job 0 is back, on the other server
    assert cluster.jobs["preemptions"].tolist() == [1, 0, 0]
    assert cluster.tasks["server"][:2].tolist() == [1, 1]


def test_a_job_too_large_for_one_server_is_not_kept_waiting_for_one() -> None:
    cluster = half_full(J(replicas=4))
    queue = replace(queue_of(cluster, 0, 0, 0), style=np.array([0, 0, ONE_SERVER]))
    serve_in_order(cluster.state, queue, cluster.hosts_scratch)
    assert running(cluster) == [1, 1, 2]


def test_an_idle_cluster_always_places_somebody() -> None:
    # The memory of a server takes one of the two replicas; the job must be together, but nothing runs at all.
    cluster = at_first_round(J(replicas=2, memory=60 * 1024), servers=2, gpus=2, sharing=False)
    queue = replace(queue_of(cluster, 0), style=np.array([ONE_SERVER]))
    serve_in_order(cluster.state, queue, cluster.hosts_scratch)
    assert cluster.jobs["status"][0] == RUNNING
    assert next_round(cluster, 60.0) == 60.0
