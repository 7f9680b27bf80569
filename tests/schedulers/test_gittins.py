"""The Gittins index against its definition, and what it decides."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.gittins import Gittins, gittins_index
from mlfs_gym.schedulers.las import LAS
from mlfs_gym.schedulers.tiresias import Tiresias
from mlfs_gym.sim.run import run
from tests.builders import J, at_first_round, cluster_of

SAMPLE = (1.0, 8.0, 8.5, 8.5, 8.5)  # GPU-hours: who has survived 8 will end at once
ONE_QUEUE = (100.0,)


def by_definition(sample: Array, attained: float) -> float:
    """The supremum over a fine grid of quanta, and over those at which it is attained."""
    beyond = sample[sample > attained] - attained
    if len(beyond) == 0:
        return 0.0
    quanta = np.concatenate([beyond, np.linspace(1e-3, beyond.max() * 1.1, 2000)])
    return max(float((beyond <= quantum).mean() / np.minimum(beyond, quantum).mean()) for quantum in quanta)


@pytest.mark.parametrize("seed", range(10))
def test_index_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.lognormal(1.0, 1.5, int(rng.integers(1, 30))).round(2))
    for attained in (0.0, *rng.uniform(0, sample.max() * 1.1, 10), *sample):
        assert gittins_index(sample, attained) == pytest.approx(by_definition(sample, attained), rel=1e-12)


def test_index_by_hand() -> None:
    sample = np.array(SAMPLE)
    assert gittins_index(sample, 0.0) == pytest.approx(1 / 5)  # one of five ends within 1 h
    assert gittins_index(sample, 1.0) == pytest.approx(4 / (7 + 3 * 7.5))  # all four within 7.5 h
    assert gittins_index(sample, 8.0) == pytest.approx(3 / 1.5)
    assert gittins_index(sample, 8.5) == 0.0


def test_index_is_constant_between_values_of_the_sample() -> None:
    scheduler = Gittins({"service_gpu_hours": SAMPLE})
    hours = np.array([0.0, 0.9, 1.0, 7.9, 8.0, 8.4, 8.5, 99.0])
    expected = [0.2, 0.2, 4 / 29.5, 4 / 29.5, 2.0, 2.0, 0.0, 0.0]
    assert (scheduler.index(hours * 3600.0) * 3600.0).tolist() == pytest.approx(expected)


def test_a_job_that_is_likely_to_end_goes_first_though_it_has_had_more() -> None:
    choices = {}
    for scheduler in (
        Gittins({"service_gpu_hours": SAMPLE, "queue_gpu_hours": ONE_QUEUE}),
        Tiresias({"queue_gpu_hours": ONE_QUEUE}),
        LAS(),
    ):
        cluster = at_first_round(J(), J(), sharing=False)
        cluster.jobs["attained_service"][1] = 8.2 * 3600.0
        scheduler.schedule(cluster)
        choices[scheduler.name] = cluster.jobs["running_replicas"].tolist()
    assert choices == {"gittins": [0, 1], "tiresias": [1, 0], "las": [1, 0]}


def test_queues_come_before_the_index() -> None:
    cluster = at_first_round(J(), J(), sharing=False)
    cluster.jobs["attained_service"][1] = 8.2 * 3600.0
    Gittins({"service_gpu_hours": SAMPLE, "queue_gpu_hours": (4.0,)}).schedule(cluster)
    assert cluster.jobs["running_replicas"].tolist() == [1, 0]


def test_a_higher_index_preempts_within_a_queue() -> None:
    # Most jobs take 360 GPU-seconds or 7200. Job 0 has survived 360: it will take long, job 1 may not.
    settings = {"service_gpu_hours": (0.1, 0.1, 0.1, 2.0), "queue_gpu_hours": ONE_QUEUE}
    jobs = (J(iterations=200), J(iterations=36, arrival=60.0))
    for scheduler, start in ((Gittins(settings), 360.0), (Tiresias({"queue_gpu_hours": ONE_QUEUE}), 2040.0)):
        cluster = cluster_of(*jobs, sharing=False)
        run(cluster, scheduler)
        assert cluster.jobs["first_start"].tolist() == [0.0, start]


def test_learns_from_jobs_that_finished() -> None:
    # 100, 200 and 300 s; known from the first round after the third end. The long ones stay out.
    jobs = (J(iterations=10), J(iterations=20), J(iterations=30), *(J(iterations=90) for _ in range(3)))
    scheduler = Gittins({"fewest_finished": 3})
    cluster = cluster_of(*jobs, gpus=3, sharing=False)
    assert scheduler.index(np.array([0.0])).tolist() == [0.0]
    cluster.advance()
    scheduler.schedule(cluster)
    cluster.apply()
    while cluster.state.clock["num_done"][0] < 3:
        cluster.advance(60.0)
        scheduler.schedule(cluster)
        assert (scheduler.index(np.array([0.0]))[0] > 0) == (cluster.state.clock["num_done"][0] >= 3)
        cluster.apply()
    sample = np.array([100.0, 200.0, 300.0])
    assert scheduler.index(np.array([0.0, 100.0, 300.0])).tolist() == [
        gittins_index(sample, a) for a in (0.0, 100.0, 300.0)
    ]
    scheduler.reset(cluster)
    assert scheduler.index(np.array([0.0])).tolist() == [0.0]


def test_a_long_sample_is_thinned_to_its_quantiles() -> None:
    # 1 to 100 hours in 4 steps: the middles of the quarters.
    scheduler = Gittins({"service_gpu_hours": tuple(range(1, 101)), "most_steps": 4})
    quarters = np.array([13.375, 38.125, 62.875, 87.625])
    for hours, step in ((5.0, 0.0), (20.0, 13.375), (80.0, 62.875)):
        found = scheduler.index(np.array([hours * 3600.0]))[0] * 3600.0
        assert found == pytest.approx(by_definition(quarters, step))


def test_service_of_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"service_gpu_hours.*above 0"):
        Gittins({"service_gpu_hours": (1.0, 0.0)})
