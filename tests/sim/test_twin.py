"""The compiled engine against the plain twin: the same decisions give the same trajectory, event by event."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from mlfs_gym.cluster.arrays import RUNNING
from mlfs_gym.config import ClusterConfig, SimulationConfig
from mlfs_gym.workloads.generator import generate, small
from tests.twin.decisions import decide_first_come
from tests.twin.games import play, random_cluster, random_pair, random_simulation, wild_round
from tests.twin.pair import Pair
from tests.twin.twin import Twin
from tests.twin.workloads import random_workload


@pytest.mark.parametrize("seed", range(100))
def test_random_games(seed: int) -> None:
    rng = random.Random(seed)
    pair = random_pair(rng)
    outcome, _ = play(pair, rng)
    assert outcome == "done"
    assert all(job.ended for job in pair.twin.jobs)


@pytest.mark.parametrize(
    ("round_seconds", "redraw_seconds"),
    [(0.7, 2.1), (1.1, 3.3), (7.3, 33.3), (0.1, 30.0), (3600.0, 600.0), (1 / 3, 1000 / 7)],
)
@pytest.mark.parametrize("seed", range(3))
def test_steps_that_are_no_round_numbers(seed: int, round_seconds: float, redraw_seconds: float) -> None:
    """Multiples of such steps are not what their sums are: all must come from the same grid."""
    rng = random.Random(1000 + seed)
    pair = random_pair(rng, round_seconds=round_seconds, redraw_seconds=redraw_seconds, fluctuation=0.3)
    assert play(pair, rng)[0] == "done"


@pytest.mark.parametrize("seed", range(10))
def test_time_limit(seed: int) -> None:
    rng = random.Random(2000 + seed)
    pair = random_pair(rng, time_limit_seconds=rng.choice([60.0, 200.0, rng.uniform(50.0, 300.0)]))
    assert play(pair, rng)[0] in ("limit", "done")
    assert pair.cluster.time <= pair.twin.config.time_limit_seconds


@pytest.mark.parametrize("seed", range(10))
def test_first_come_first_served(seed: int) -> None:
    rng = random.Random(3000 + seed)
    pair = random_pair(rng)
    while pair.advance() != "done":
        pair.repeat(decide_first_come(pair.twin))
    assert all(job.preemptions == job.migrations == 0 for job in pair.twin.jobs)


@pytest.mark.parametrize("seed", range(2))
def test_generated_workload(seed: int) -> None:
    """Sizes and times of the generator; sensible decisions but for a few."""
    rng = random.Random(4000 + seed)
    pair = Pair(generate(small(jobs=60), seed), ClusterConfig(), SimulationConfig(), seed=seed)
    outcome = pair.advance()
    while outcome != "done":
        pair.repeat(wild_round(pair.twin, rng) if rng.random() < 0.05 else decide_first_come(pair.twin))
        outcome = pair.advance()


def test_random_games_reach_every_corner() -> None:
    """The games are worth no more than what happens in them: counted on the twin alone."""
    seen: Counter[str] = Counter()
    for seed in range(40):
        rng = random.Random(seed)
        cluster, simulation = random_cluster(rng), random_simulation(rng)
        twin = Twin(random_workload(rng, 8, cluster.total_gpus, simulation.sharing), cluster, simulation, seed)
        wake_every = rng.choice([math.inf, 60.0])
        while (outcome := twin.advance(wake_every)) != "done":
            made = wild_round(twin, rng) if outcome == "round" else decide_first_come(twin)
            seen.update(f"{type(decision).__name__} {possible}" for decision, possible in made)
            twin.refresh()
            seen.update(_corners(twin))
        seen.update(kind for _, kind, _ in twin.log)
        seen["deadline missed"] += twin.deadlines_met < len(twin.jobs)
        seen["requirement met"] += sum(job.requirement_met for job in twin.jobs)
        seen["requirement not met"] += sum(not job.requirement_met for job in twin.jobs)
    expected = {
        f"{decision} {possible}" for decision in ("Place", "Evict", "Move", "Stop") for possible in (True, False)
    }
    expected |= {
        "completion",
        "redraw",
        "arrival",
        "round",
        "deadline missed",
        "requirement met",
        "requirement not met",
    }
    expected |= {"ring across servers", "parameter server across servers", "one server", "edge between servers"}
    expected |= {"some replicas", "stalled", "crowded GPU", "crowded CPU", "crowded NIC", "host memory half full"}
    assert {name for name in expected if seen[name] < 5} == set()


def _corners(twin: Twin) -> set[str]:
    corners = set()
    for job in twin.jobs:
        if job.status != RUNNING:
            continue
        running = job.running_replicas
        across = "parameter server across servers" if job.parameter_server else "ring across servers"
        corners.add(across if job.spans_servers and len(running) > 1 else "one server")
        if any(
            replica[edge.source].server is not replica[edge.target].server for replica in running for edge in job.edges
        ):
            corners.add("edge between servers")
        if len(running) < len(job.replicas):
            corners.add("some replicas")
        if job.stalled_until > twin.time:
            corners.add("stalled")
    for server in twin.servers:
        if any(gpu.used > 1000 for gpu in server.gpus):
            corners.add("crowded GPU")
        if server.cpu_used > server.cpu:
            corners.add("crowded CPU")
        if server.nic_used > server.nic:
            corners.add("crowded NIC")
        if server.memory_used > server.memory / 2:
            corners.add("host memory half full")
    return corners
