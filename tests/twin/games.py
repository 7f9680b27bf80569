"""Random games: a workload, a cluster, settings and a way of deciding, all drawn from one seed."""

from __future__ import annotations

import math
import random
from typing import Any

from mlfs_gym.config import ClusterConfig, SimulationConfig
from tests.twin.decisions import Made, decide_at_random, decide_first_come
from tests.twin.pair import Pair
from tests.twin.twin import Twin
from tests.twin.workloads import random_workload

WILD_ROUNDS = 150  # then first come, first served, so that every job ends


def random_cluster(rng: random.Random) -> ClusterConfig:
    return ClusterConfig(
        servers=rng.randint(2, 4),
        gpus_per_server=rng.randint(1, 4),
        gpu_speed=rng.choice([1.0, 1.0, 0.7]),
        cpu_cores=rng.choice([4.0, 8.0, 64.0]),
        memory_gib=rng.choice([24.0, 64.0]),
        nic_gbit_per_s=rng.choice([1.0, 2.5, 10.0]),
    )


def random_simulation(rng: random.Random, **changes: Any) -> SimulationConfig:
    drawn = {
        "sharing": rng.random() < 0.7,
        "contention": rng.random() < 0.8,
        "round_seconds": rng.choice([1.0, 60.0]),
        "redraw_seconds": rng.choice([20.0, 45.5, 60.0, 600.0]),
        "fluctuation": rng.choice([0.0, 0.3]),
    }
    return SimulationConfig.parse({**drawn, **changes})


def random_pair(rng: random.Random, **changes: Any) -> Pair:
    cluster, simulation = random_cluster(rng), random_simulation(rng, **changes)
    workload = random_workload(rng, rng.randint(3, 12), cluster.total_gpus, simulation.sharing)
    wake_every = rng.choice([math.inf, math.inf, 60.0, 7.0])
    return Pair(workload, cluster, simulation, seed=rng.randrange(2**64), wake_every=wake_every)


def wild_round(twin: Twin, rng: random.Random) -> list[Made]:
    """Mostly at random, sometimes and in the end sensible."""
    wild = twin.rounds <= WILD_ROUNDS and rng.random() < 0.8
    return decide_at_random(twin, rng) if wild else decide_first_come(twin)


def play(pair: Pair, rng: random.Random) -> tuple[str, list[Made]]:
    """To the end or the time limit, with the same decisions on both sides.

    Returns:
        How it ended, and all decisions.
    """
    observes = rng.random() < 0.5
    history: list[Made] = []
    while True:
        outcome = pair.advance()
        if outcome in ("done", "limit"):
            return outcome, history
        if outcome == "round":
            if observes:
                pair.observe()
            made = wild_round(pair.twin, rng)
        else:  # stuck: nothing runs, and nothing will happen before somebody decides
            made = decide_first_come(pair.twin)
            assert made, "a job must fit on an empty cluster"
        pair.repeat(made)
        history += made
