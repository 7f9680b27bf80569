"""The large simulation of MLFS (CoNEXT 2020), 117,325 jobs in 18 weeks on Philly's 550 servers; windows of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import ClusterConfig, ServerGroup, Settings
from mlfs_gym.workloads.assemble import assemble
from mlfs_gym.workloads.draws import span_for_load
from mlfs_gym.workloads.fill import JobMix, fill
from mlfs_gym.workloads.philly.arrivals import HOURS_OF_WEEK, arrival_times, draw_batches
from mlfs_gym.workloads.philly.sizes import gpu_requests, run_times
from mlfs_gym.workloads.philly.statistics import JOBS, RUN_TIME_SECONDS, SPAN_DAYS, TOTAL_GPUS
from mlfs_gym.workloads.workload import Workload

LONGEST_SECONDS = float(RUN_TIME_SECONDS[-1])

PHILLY_CLUSTER = ClusterConfig(
    servers=229, gpus_per_server=8, smaller_servers=(ServerGroup(servers=321, gpus_per_server=2),)
)
"""550 servers with 2,474 GPUs (CoNEXT 2020, section 4). Philly's have 8 or 2 GPUs; this is how many of each."""


class PhillyConfig(Settings):
    """What to generate: how many jobs, by factor or number, and how fast they come, by load or time.

    Without a load, `factor` packs more or fewer jobs into the same 18 weeks, and a number of `jobs` comes as fast as in
    the log: the log keeps 27% of the GPUs busy.
    """

    name: str = Field(default="philly", min_length=1, max_length=100)
    factor: float = Field(default=1.0, ge=0.001, le=10, description="of 117,325 jobs (MLFS: 0.5 to 4)")
    jobs: int | None = Field(default=None, ge=1, le=10_000_000, description="number of jobs, instead of a factor")
    load: float | None = Field(
        default=None, gt=0, le=1000, description="ideal GPU-seconds over GPU-seconds between first and last arrival"
    )
    span_days: float | None = Field(
        default=None, gt=0, le=1e5, description="time between first and last arrival, instead of a load; default 126"
    )
    total_gpus: int = Field(
        default=TOTAL_GPUS, ge=1, le=10_000_000, description="GPUs that the load refers to; no job asks for more"
    )
    start_hour: float | None = Field(
        default=0.0,
        ge=0,
        lt=HOURS_OF_WEEK,
        description="in the week, at the first arrival; 0: Monday 0:00; None: random",
    )
    max_run_seconds: float = Field(
        default=LONGEST_SECONDS, ge=60, le=LONGEST_SECONDS, description="Philly's run times are cut off above"
    )
    mix: JobMix = Field(default=JobMix())

    @model_validator(mode="after")
    def _check_together(self) -> PhillyConfig:
        if self.jobs is not None and "factor" in self.model_fields_set:
            raise PydanticCustomError("jobs", "at most one of factor and jobs")
        if self.load is not None and self.span_days is not None:
            raise PydanticCustomError("load", "at most one of load and span_days")
        return self

    @property
    def num_jobs(self) -> int:
        """Jobs to generate."""
        return self.jobs if self.jobs is not None else round(JOBS * self.factor)


@dataclass(frozen=True, eq=False)
class PhillyJobs:
    """What the log tells of jobs; every array has the shape (J,), batch by batch.

    Attributes:
        arrival: s after the first arrival.
        run_time: s, with all GPUs.
        num_gpus: 1 to 128.
        batch: index of the batch, in order of arrival.
        start_hour: of the week, at the first arrival.
    """

    arrival: Array
    run_time: Array
    num_gpus: Array
    batch: Array
    start_hour: float


def draw_philly_jobs(rng: np.random.Generator, config: PhillyConfig) -> PhillyJobs:
    """Jobs before the features that the log does not tell are filled in."""
    batches = draw_batches(rng, config.num_jobs)
    batch = np.repeat(np.arange(len(batches.jobs)), batches.jobs)
    num_gpus = gpu_requests(rng, batches, config.total_gpus)[batch]
    run_time = run_times(rng, num_gpus, batch, config.max_run_seconds)
    start_hour = rng.uniform(0.0, HOURS_OF_WEEK) if config.start_hour is None else config.start_hour
    arrival = arrival_times(rng, batches, _span(config, num_gpus, run_time), start_hour)
    return PhillyJobs(arrival, run_time, num_gpus, batch, start_hour)


def _span(config: PhillyConfig, num_gpus: Array, run_time: Array) -> float:
    """Seconds between first and last arrival."""
    if config.load is not None:
        return span_for_load(num_gpus, run_time, config.total_gpus, config.load)
    if config.span_days is not None:
        return config.span_days * 86_400.0
    part = 1.0 if config.jobs is None else config.jobs / JOBS
    return SPAN_DAYS * 86_400.0 * part


def generate_philly(config: PhillyConfig, seed: int | np.random.Generator) -> Workload:
    """Draw a workload; the same configuration and seed give the same bytes.

    GPU requests, run times, batches, hours and weekdays follow `mlfs_gym.workloads.philly.statistics`; the other
    features are drawn as for every workload, by `mlfs_gym.workloads.fill`.

    Args:
        config: what to generate.
        seed: a number, or a generator to draw from.
    """
    rng = np.random.default_rng(seed)
    jobs = draw_philly_jobs(rng, config)
    columns = fill(rng, jobs.arrival, jobs.run_time, jobs.num_gpus, config.mix)
    return assemble(columns, name=config.name)


def window_config(jobs: int = 200, **options: Any) -> PhillyConfig:
    """Settings of windows.

    Args:
        jobs: of a window.
        **options: other fields of `PhillyConfig`, such as `load`, `total_gpus` and `max_run_seconds`.

    Raises:
        SettingsError: a wrong value.
    """
    defaults: Mapping[str, Any] = {"jobs": jobs, "start_hour": None}
    return PhillyConfig.parse(defaults, **options)


@dataclass(frozen=True)
class PhillyWindows:
    """A new window of Philly in each episode, as the `workload` of an environment: some consecutive jobs.

    A window is generated by itself, from a random job of a random batch at a random hour of the week, with the same
    distributions as the whole. That takes about a millisecond for 200 jobs.

    Attributes:
        config: what to generate; `window_config` makes one.
    """

    config: PhillyConfig = field(default_factory=window_config)

    def __call__(self, rng: np.random.Generator) -> Workload:
        """A window that the generator draws."""
        return generate_philly(self.config, rng)


def philly_window(rng: np.random.Generator, jobs: int = 200, load: float | None = None, **options: Any) -> Workload:
    """One window of Philly: see `PhillyWindows`.

    Args:
        rng: every draw comes from here.
        jobs: of the window.
        load: ideal GPU-seconds over GPU-seconds between first and last arrival; None: as fast as in the log.
        **options: other fields of `PhillyConfig`.

    Raises:
        SettingsError: a wrong value.
    """
    return PhillyWindows(window_config(jobs, load=load, **options))(rng)
