"""Graphene: troublesome tasks, their places and the order of jobs, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.schedulers.graphene import Graphene, frag_score, graphene_hosts, online_scores, troublesome_first
from tests.builders import CPU, J, at_first_round, next_round, place
from tests.schedulers.games import decide, play

LONG = 0.8


def chain(*compute: float, **options: float) -> J:
    edges = tuple((k, k + 1, 0.0) for k in range(len(compute) - 1))
    return J(compute=compute, edges=edges, **options)  # type: ignore[arg-type]


def scores_of(cluster, eta: float = 1.0, later: float = 0.5) -> list[float]:  # type: ignore[no-untyped-def]
    scores = np.empty(len(cluster.jobs))
    online_scores(cluster.state, np.arange(len(cluster.jobs)), LONG, 0.8, later, eta, scores)
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


def test_the_troublesome_partition_gets_the_emptiest_gpu() -> None:
    # GPU 0 holds 400, GPU 1 300 milli. Partition 1 is the long one.
    jobs = (J(gpu=400), J(gpu=300), chain(1.0, 9.0, gpu=500), chain(9.0, 1.0, gpu=500))
    cluster = at_first_round(*jobs, gpus=2)
    place(cluster, 0, 0)
    place(cluster, 1, 1)
    hosts = np.zeros(3, np.int64)
    assert graphene_hosts(cluster.state, 2, LONG, hosts)
    assert hosts[:2].tolist() == [0, 1]
    assert graphene_hosts(cluster.state, 3, LONG, hosts)
    assert hosts[:2].tolist() == [1, 0]


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


def test_it_skips_what_does_not_fit_and_never_preempts() -> None:
    # Job 0 holds one GPU of two to 600. Job 1 needs both and waits; job 2 does not wait behind it.
    jobs = (J(iterations=60), chain(5.0, 5.0, iterations=6, arrival=30.0), J(iterations=6, arrival=30.0))
    cluster = play(Graphene(), *jobs, gpus=2)
    assert cluster.jobs["finish"].tolist() == [600.0, 660.0, 120.0]
    assert cluster.jobs["preemptions"].sum() == 0


def test_who_has_waited_long_gets_a_server_held() -> None:
    # Two GPUs with small jobs of 600 s that overlap, so that both are never free at once.
    def first_start(patience: float) -> float:
        small = [J(iterations=60, arrival=300.0 * k) for k in range(60)]
        jobs = sorted([*small, chain(5.0, 5.0, iterations=6, arrival=30.0)], key=lambda job: job.arrival)
        return float(play(Graphene({"patience_hours": patience}), *jobs, gpus=2).jobs["first_start"][1])

    assert first_start(1.0) < 3600.0 + 2 * 660.0
    assert first_start(100.0) > 12_000.0


def test_decisions_of_a_round_follow_the_scores() -> None:
    scheduler = Graphene({"remaining_work_weight": 10.0})
    cluster = at_first_round(J(iterations=30), J(iterations=10), J(iterations=20), gpus=1, sharing=False)
    assert decide(scheduler, cluster) == [0, 1, 0]
    assert next_round(cluster) == 120.0
    assert decide(scheduler, cluster) == [0, 0, 1]
