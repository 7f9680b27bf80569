"""The paper's workload generator.

Job features as in MLFS (CoNEXT 2020, section 4.1), run times and GPU requests as in the Philly trace (Jeon et al.,
USENIX ATC 2019), which the paper replays.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import ClusterConfig, Settings
from mlfs_gym.workloads.assemble import assemble
from mlfs_gym.workloads.draws import by_weight, span_for_load, stratified
from mlfs_gym.workloads.fill import JobMix, fill
from mlfs_gym.workloads.workload import Workload

# Run times of Philly: probability and seconds, interpolated in the logarithm. The ends are assumed.
_RUN_TIME_CDF = np.array([0.0, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 1.0])
_RUN_TIME_SECONDS = np.array([5.0, 36.0, 108.0, 853.0, 3186.0, 15_800.0, 68_700.0, 414_000.0, 4_240_676.0])

# In Philly, jobs with several GPUs run longer: by their shares of jobs and of GPU time, 12,200 s on average with one
# GPU and 30,000 to 55,000 s with 2 to 32. A multi-GPU job therefore takes as its quantile u ** (1 / 2.5).
_LONGER_WITH_MANY_GPUS = 1.0 / 2.5

PHILLY_GPU_WEIGHTS = {1: 82.4, 2: 2.1, 4: 7.6, 8: 6.9, 16: 0.9, 32: 0.15}
"""Jobs by GPU request in the full Philly log, percent."""


class GeneratorConfig(Settings):
    """What to generate. Give either a load, and the arrivals spread as that takes, or the span of the arrivals."""

    name: str = Field(default="generated", min_length=1, max_length=100)
    total_gpus: int = Field(default=20, ge=1, le=10_000_000, description="GPUs of the cluster that the load refers to")
    min_jobs: int = Field(default=60, ge=1, le=10_000_000, description="the number of jobs is uniform from here")
    max_jobs: int = Field(default=150, ge=1, le=10_000_000, description="to here")
    load: float | None = Field(
        default=1.6, gt=0, le=1000, description="ideal GPU-seconds over GPU-seconds between first and last arrival"
    )
    span_hours: float | None = Field(default=None, gt=0, le=1e5, description="time between first and last arrival")
    diurnal: float = Field(default=0.0, ge=0, lt=1, description="amplitude of the daily wave of arrivals, 0: none")
    gpu_weights: dict[int, float] = Field(default=PHILLY_GPU_WEIGHTS, description="weights of the GPU requests")
    run_time_seconds: tuple[float, float] = Field(
        default=(5.0, 604_800.0), description="Philly's run times are cut off below and above"
    )
    mix: JobMix = Field(default=JobMix())

    @field_validator("run_time_seconds")
    @classmethod
    def _check_run_times(cls, pair: tuple[float, float]) -> tuple[float, float]:
        low, high = _RUN_TIME_SECONDS[0], _RUN_TIME_SECONDS[-1]
        if not low <= pair[0] < pair[1] <= high:
            raise PydanticCustomError("range", "{low} <= lowest < highest <= {high}", {"low": low, "high": high})
        return pair

    @field_validator("gpu_weights")
    @classmethod
    def _check_weights(cls, weights: dict[int, float]) -> dict[int, float]:
        if not weights or min(weights) < 1 or min(weights.values()) < 0 or sum(weights.values()) <= 0:
            raise PydanticCustomError("weights", "requests of 1 or more GPUs, no weight below 0 and one above")
        return weights

    @model_validator(mode="after")
    def _check_together(self) -> GeneratorConfig:
        if self.min_jobs > self.max_jobs:
            raise PydanticCustomError("jobs", "min_jobs of at most max_jobs")
        if (self.load is None) == (self.span_hours is None):
            raise PydanticCustomError("load", "exactly one of load and span_hours")
        if max(self.gpu_weights) > self.total_gpus:
            raise PydanticCustomError("weights", "gpu_weights for requests of at most total_gpus")
        return self


def small(load: float = 1.6, jobs: int | None = None) -> GeneratorConfig:
    """For 5 servers x 4 GPUs: 60 to 150 jobs of minutes to hours, at a load where the order matters."""
    return GeneratorConfig.parse(
        {
            "name": "small",
            "load": load,
            "min_jobs": 60 if jobs is None else jobs,
            "max_jobs": 150 if jobs is None else jobs,
            "gpu_weights": {1: 45.0, 2: 20.0, 4: 20.0, 8: 13.0, 16: 2.0},
            "run_time_seconds": (120.0, 14_400.0),
        }
    )


def paper_testbed(jobs: int = 1240, load: float | None = None) -> GeneratorConfig:
    """The paper's testbed, 20 servers x 4 GPUs: 155 to 1860 jobs in one week.

    About 1240 jobs ask for all that the cluster can give in that week without sharing. With a load, the jobs arrive
    within the time that makes it so instead.
    """
    return GeneratorConfig.parse(
        {
            "name": "testbed",
            "total_gpus": 80,
            "load": load,
            "span_hours": 168.0 if load is None else None,
            "min_jobs": jobs,
            "max_jobs": jobs,
            "diurnal": 0.2,  # Philly's hourly factors lie between 0.82 and 1.21
        }
    )


def generate(config: GeneratorConfig, seed: int | np.random.Generator) -> Workload:
    """Draw a workload; the same configuration and seed give the same bytes.

    Args:
        config: what to generate.
        seed: a number, or a generator to draw from.
    """
    rng = np.random.default_rng(seed)
    jobs = int(rng.integers(config.min_jobs, config.max_jobs + 1))
    num_gpus = _gpu_requests(rng, jobs, config.gpu_weights)
    run_time = _run_times(rng, num_gpus, config.run_time_seconds)
    if config.load is not None:
        span = span_for_load(num_gpus, run_time, config.total_gpus, config.load)
    else:
        span = float(config.span_hours or 0.0) * 3600.0
    arrival = _arrivals(rng, jobs, span, config.diurnal)
    columns = fill(rng, arrival, run_time, num_gpus, config.mix)
    return assemble(columns, name=config.name)


def _gpu_requests(rng: np.random.Generator, jobs: int, weights: dict[int, float]) -> Array:
    requests = np.array(sorted(weights), np.int64)
    return requests[by_weight(rng.random(jobs), [weights[request] for request in sorted(weights)])]


def _run_times(rng: np.random.Generator, num_gpus: Array, limits: tuple[float, float]) -> Array:
    """Run times between the limits, stratified: with a tail this heavy, plain draws would let the load jump."""
    quantile = stratified(rng, len(num_gpus))
    quantile = np.where(num_gpus > 1, quantile**_LONGER_WITH_MANY_GPUS, quantile)
    log_seconds = np.log(_RUN_TIME_SECONDS)
    low, high = np.interp(np.log(limits), log_seconds, _RUN_TIME_CDF)
    seconds: Array = np.exp(np.interp(low + (high - low) * quantile, _RUN_TIME_CDF, log_seconds))
    return seconds


def _arrivals(rng: np.random.Generator, jobs: int, span: float, diurnal: float) -> Array:
    """A Poisson process, given the number of arrivals and that the first is at 0 and the last at `span`."""
    draw = np.sort(rng.random(jobs))
    if diurnal > 0:
        hours = np.linspace(0.0, span, 1 + max(1, int(np.ceil(span / 900.0))))
        day = 2.0 * np.pi / 86_400.0
        expected = hours + diurnal * np.sin(day * hours) / day  # integral of the rate 1 + diurnal * cos(day * t)
        draw = np.interp(draw, expected / expected[-1], hours / span)
    if jobs == 1:
        return np.zeros(1)
    arrival: Array = (draw - draw[0]) / (draw[-1] - draw[0]) * span
    return arrival


SMALL_CLUSTER = ClusterConfig()
TESTBED_CLUSTER = ClusterConfig(servers=20)
