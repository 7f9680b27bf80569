"""Graphene: troublesome tasks, their places and the order of jobs, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.cluster.consolidated import consolidated_hosts
from mlfs_gym.schedulers.emptiest_gpus import give_emptiest_first
from mlfs_gym.schedulers.graphene import (
    Graphene,
    GrapheneParams,
    frag_score,
    lines_of_all,
    online_scores,
    troublesome_first,
)
from tests.builders import CPU, J, at_first_round, next_round, place
from tests.schedulers.games import decide, play

LONG = 0.8


def chain(*compute: float, **options: float) -> J:
    edges = tuple((k, k + 1, 0.0) for k in range(len(compute) - 1))
    return J(compute=compute, edges=edges, **options)  # type: ignore[arg-type]


def scores_of(cluster, eta: float = 1.0, later: float = 0.5) -> list[float]:  # type: ignore[no-untyped-def]
    scores = np.empty(len(cluster.jobs))
    params = GrapheneParams(later_priority=later, remaining_work_weight=eta)
    online_scores(cluster.state, np.arange(len(cluster.jobs)), params, scores)
    found: list[float] = scores.tolist()
    return found


# --- troublesome tasks ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("demand", "score"), [(500, 1.0), (550, 0.55), (300, 0.9), (334, 0.668), (900, 0.9), (1000, 1.0)]
)
def test_how_well_tasks_of_a_kind_fill_a_shared_gpu(demand: int, score: float) -> None:
    assert frag_score(at_first_round(J(gpu=demand)).state, 0) == pytest.approx(score)


def test_how_well_gangs_fill_servers() -> None:
    jobs = [J(compute=(1.0,) * parts) for parts in (1, 2, 3, 4, 5)]
    state = at_first_round(*jobs, servers=2, gpus=4, sharing=False).state
    assert [frag_score(state, job) for job in range(5)] == [1.0, 1.0, 0.75, 1.0, 0.625]


def order_of(job: J) -> tuple[int, list[int]]:
    cluster = at_first_round(job, gpus=8)
    order = np.empty(job.partitions, np.int64)
    return int(troublesome_first(cluster.state, 0, LONG, order)), order.tolist()


def test_long_partitions_and_what_lies_between_them_come_first() -> None:
    # 1 and 4 are long, 3 lies between them; 0 comes before, 2 beside.
    job = J(compute=(1.0, 10.0, 2.0, 1.0, 9.0), edges=((0, 1, 0.0), (0, 2, 0.0), (1, 3, 0.0), (3, 4, 0.0), (2, 4, 0.0)))
    assert order_of(job) == (3, [1, 3, 4, 0, 2])


@pytest.mark.parametrize("seed", range(20))
def test_the_troublesome_set_is_closed_under_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    compute = rng.uniform(1.0, 10.0, size)
    pairs = [(s, t) for t in range(size) for s in range(t) if rng.random() < 0.4]
    reach = np.eye(size, dtype=bool)
    for s, t in sorted(pairs, key=lambda pair: pair[1]):
        reach[:, t] |= reach[:, s]
    long = compute >= LONG * compute.max()
    between = [bool((reach[:, k] & long).any() and (reach[k] & long).any()) for k in range(size)]
    expected = [k for k in range(size) if between[k]] + [k for k in range(size) if not between[k]]
    job = J(compute=tuple(compute), edges=tuple((s, t, 0.0) for s, t in pairs))
    assert order_of(job) == (sum(between), expected)


def dealt(cluster, job: int) -> list[int]:  # type: ignore[no-untyped-def]
    line = np.zeros(len(cluster.state.tasks), np.int64)
    lines_of_all(cluster.state, LONG, line)
    hosts = np.zeros(3, np.int64)
    assert consolidated_hosts(cluster.state, job, hosts)
    give_emptiest_first(cluster.state, job, line, hosts)
    found: list[int] = hosts[:2].tolist()
    return found


def test_the_troublesome_partition_gets_the_emptiest_gpu() -> None:
    # GPU 0 holds 400, GPU 1 300 milli. Of job 2 partition 1 is the long one, of job 3 partition 0.
    jobs = (J(gpu=400), J(gpu=300), chain(1.0, 9.0, gpu=500), chain(9.0, 1.0, gpu=500))
    cluster = at_first_round(*jobs, gpus=2)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    assert [dealt(cluster, job) for job in (2, 3)] == [[0, 1], [1, 0]]


def test_a_round_deals_gpus_in_that_order_too() -> None:
    # The job of one partition scores more, takes GPU 0 and leaves GPU 1 emptier.
    def gpus_of(*compute: float) -> list[int]:
        jobs = (J(gpu=400, iterations=1), chain(*compute, gpu=500, iterations=99))
        cluster = at_first_round(*jobs, gpus=2)
        assert decide(Graphene({"remaining_work_weight": 100.0}), cluster) == [1, 1]
        assert cluster.tasks["gpu"][0] == 0
        first = cluster.jobs["first_task"][1]
        found: list[int] = cluster.tasks["gpu"][first : first + 2].tolist()
        return found

    assert gpus_of(1.0, 9.0) == [0, 1]
    assert gpus_of(9.0, 1.0) == [1, 0]


# --- order of jobs -------------------------------------------------------------------------------
def test_scores_by_hand() -> None:
    # An empty cluster of 4 GPUs. Job 0: a quarter of the GPUs and of the CPU, packing 0.5; job 1: 0.25.
    # Remaining 1000 and 500 s: job 0 is troublesome, job 1 counts half. Means: (0.5 + 0.125) / 2 and 750.
    jobs = (J(iterations=100, cpu=CPU // 4), J(iterations=50))
    cluster = at_first_round(*jobs, gpus=4, sharing=False)
    assert scores_of(cluster) == pytest.approx([0.5 / 0.3125 - 1000 / 750, 0.125 / 0.3125 - 500 / 750])


def test_hard_to_pack_goes_first() -> None:
    # Equal but for the demand: two of 500 fill a GPU, one of 510 wastes half of it.
    jobs = (J(gpu=500, iterations=9), J(gpu=510, iterations=9), J(gpu=1000, iterations=90))
    cluster = at_first_round(*jobs, gpus=1)
    scores = scores_of(cluster, eta=0.1)
    assert scores[1] > scores[0]
    packing_alone = scores_of(cluster, eta=0.1, later=1.0)
    assert packing_alone[1] - packing_alone[0] < 0.1 < scores[1] - scores[0]


def test_less_remaining_work_goes_first_as_its_weight_grows() -> None:
    jobs = (J(iterations=100), J(iterations=10), J(iterations=11))
    cluster = at_first_round(*jobs, gpus=1, sharing=False)
    assert np.argmax(scores_of(cluster, eta=0.0)) == 0  # long-running: troublesome
    assert np.argsort(scores_of(cluster, eta=10.0)).tolist() == [0, 2, 1]


def test_available_resources_change_the_order() -> None:
    # Job 1 asks for CPU that is taken: what is free counts, not what is demanded.
    jobs = (J(cpu=CPU, iterations=99), J(cpu=CPU // 2, gpu=500), J(gpu=520))
    cluster = at_first_round(*jobs, gpus=2, sharing=True)
    assert scores_of(cluster, 0.0, 1.0)[1] > scores_of(cluster, 0.0, 1.0)[2]
    place(cluster, 0, 0)
    assert scores_of(cluster, 0.0, 1.0)[1] < scores_of(cluster, 0.0, 1.0)[2]


def test_a_training_leaves_after_its_quantum_for_one_that_scores_more() -> None:
    # One GPU. Job 1, shorter and so the one with less work, waits for the end of job 0's quantum and no longer: the
    # round at 60 s comes too early, the next one of a scheduler that wakes once a quantum is a quantum later.
    jobs = (J(iterations=100), J(iterations=6, arrival=60.0))
    cluster = play(Graphene({"quantum_seconds": 300.0}), *jobs, gpus=1)
    assert cluster.jobs["first_start"].tolist() == [0.0, 360.0]
    assert cluster.jobs["preemptions"].tolist() == [1, 0]
    patient = play(Graphene({"quantum_seconds": 600.0}), *jobs, gpus=1)
    assert patient.jobs["first_start"].tolist() == [0.0, 660.0]


def test_only_what_nobody_needs_to_keep_counts_as_available() -> None:
    # Job 0 holds all CPU of server 0; its GPU and CPU count as available again once its quantum is over.
    def scores_at(time: float) -> list[float]:
        cluster = at_first_round(J(cpu=CPU, iterations=99), J(cpu=CPU // 2, gpu=500), J(gpu=520), gpus=2)
        place(cluster, 0, 0)
        assert next_round(cluster, time) == time
        return scores_of(cluster, 0.0, 1.0)

    assert scores_at(240.0)[1] < scores_at(240.0)[2]
    assert scores_at(300.0)[1] > scores_at(300.0)[2]


def test_who_has_waited_long_goes_first() -> None:
    # One GPU, and always a shorter job: the long one would wait as long as they keep coming.
    def first_start(patience: float) -> float:
        jobs = [*(J(iterations=60, arrival=600.0 * k) for k in range(40)), J(iterations=400, arrival=30.0)]
        jobs = sorted(jobs, key=lambda job: job.arrival)
        return float(play(Graphene({"patience_hours": patience}), *jobs, gpus=1).jobs["first_start"][1])

    assert 3600.0 <= first_start(1.0) <= 3600.0 + 900.0
    assert first_start(100.0) >= 24_000.0


def test_decisions_of_a_round_follow_the_scores() -> None:
    scheduler = Graphene({"remaining_work_weight": 10.0})
    cluster = at_first_round(J(iterations=30), J(iterations=10), J(iterations=20), gpus=1, sharing=False)
    assert decide(scheduler, cluster) == [0, 1, 0]
    assert next_round(cluster) == 120.0
    assert decide(scheduler, cluster) == [0, 0, 1]
