"""What neither an arrival time nor a trace tells of a job, drawn as in the paper's evaluation.

Distributions: MLFS, CoNEXT 2020, section 4.1, where the paper prints them; the other ranges are settings with
their reasons.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import Settings
from mlfs_gym.workloads.draws import by_weight
from mlfs_gym.workloads.job_columns import JobColumns
from mlfs_gym.workloads.profiles import FAMILIES

Parallelism = Literal["ml", "gang"]
Range = tuple[float, float]

# A power of two: the iteration time is then the run time with another exponent, and run times stay exact.
GANG_ITERATIONS = 64

_LOWEST_DEMAND = np.array([profile.gpu_demand_milli[0] for profile in FAMILIES])
_HIGHEST_DEMAND = np.array([profile.gpu_demand_milli[1] for profile in FAMILIES])
_LOWEST_SCALE = np.array([profile.curve_scale[0] for profile in FAMILIES])
_HIGHEST_SCALE = np.array([profile.curve_scale[1] for profile in FAMILIES])
_PARTITIONED = np.array([profile.graph != "none" for profile in FAMILIES])
_REDUCIBLE_LOSS = np.array([profile.loss_start - profile.loss_floor for profile in FAMILIES])


class JobMix(Settings):
    """How the features of jobs are drawn; pairs are lowest and highest of a uniform distribution."""

    family_weights: tuple[float, float, float, float, float] = Field(
        default=(1.0, 1.0, 1.0, 1.0, 1.0), description="AlexNet, ResNet, MLP, LSTM, SVM"
    )
    urgency: Range = Field(default=(0.0, 10.0), description="L_J (paper: 0 to m = 10)")
    deadline_factor: float = Field(
        default=1.1, ge=1, le=1e6, description="deadline at least this times the run time (paper)"
    )
    deadline_hours: Range = Field(default=(0.5, 24.0), description="t_r: deadline at least this after arrival (paper)")
    max_iterations: tuple[int, int] = Field(default=(50, 200), description="I_max, epochs")
    required_at: Range = Field(default=(0.5, 0.9), description="the accuracy after this part of I_max is required")
    link_megabytes: Range = Field(default=(50.0, 100.0), description="per exchange between two tasks (paper)")
    exchange_seconds: float = Field(
        default=4.0,
        gt=0,
        le=1e9,
        description="of ideal run time between exchanges; at least one in each iteration",
    )
    data_megabytes: Range = Field(default=(100.0, 1000.0), description="training data (paper)")
    max_partitions: int = Field(default=4, ge=1, le=64, description="a model is cut into at most so many partitions")
    parameter_server_share: float = Field(
        default=0.5, ge=0, le=1, description="of replicated jobs; the rest use all-reduce"
    )
    overfit_share: float = Field(default=0.2, ge=0, le=1, description="of jobs whose loss rises again at the end")
    overfit_at: Range = Field(default=(0.7, 1.0), description="the rise begins at this part of I_max")
    overfit_rise: float = Field(
        default=0.3, ge=0, le=1, description="rise in I_max iterations, part of the reducible loss"
    )
    loss_noise: float = Field(default=0.01, ge=0, le=0.5, description="relative amplitude, observed losses")

    @field_validator("urgency", "deadline_hours", "required_at", "link_megabytes", "data_megabytes", "overfit_at")
    @classmethod
    def _check_range(cls, pair: Range, info: ValidationInfo) -> Range:
        most = {"urgency": 10.0, "required_at": 1.0}.get(info.field_name or "", 1e9)
        if not 0 <= pair[0] <= pair[1] <= most:
            raise PydanticCustomError("range", "0 <= lowest <= highest <= {most}", {"most": f"{most:g}"})
        return pair

    @field_validator("max_iterations")
    @classmethod
    def _check_iterations(cls, pair: tuple[int, int]) -> tuple[int, int]:
        if not 1 <= pair[0] <= pair[1] <= 10_000_000:
            raise PydanticCustomError("range", "1 <= lowest <= highest <= 1e7")
        return pair

    @field_validator("family_weights")
    @classmethod
    def _check_weights(cls, weights: tuple[float, ...]) -> tuple[float, ...]:
        if min(weights) < 0 or sum(weights) <= 0:
            raise PydanticCustomError("weights", "no weight below 0 and one above")
        return weights


def fill(
    rng: np.random.Generator,
    arrival: Array,
    run_time: Array,
    num_gpus: Array,
    mix: JobMix,
    parallelism: Parallelism = "ml",
    known_family: Array | None = None,
    known_gpu_share: Array | None = None,
) -> JobColumns:
    """Complete jobs of which only arrival, run time and GPUs are known.

    Args:
        rng: every draw comes from here.
        arrival: shape (J,), s.
        run_time: shape (J,), s, with all GPUs.
        num_gpus: shape (J,), 1 or more.
        mix: distributions.
        parallelism: ``ml``: the GPUs are split into replicas and partitions as the family allows; ``gang``: one
            replica of `num_gpus` partitions that exchange nothing, for comparison with simulators that know no more
            than that (assemble with ``connected=False``).
        known_family: shape (J,), families that need not be drawn, -1 for those that must.
        known_gpu_share: shape (J,), milli-GPU of each task likewise. All are drawn all the same: what is known of
            one job changes no draw of another.
    """
    jobs = len(arrival)
    family = by_weight(rng.random(jobs), mix.family_weights)
    family = _where_unknown(known_family, family)
    split, served = rng.random(jobs), rng.random(jobs) < mix.parameter_server_share
    if parallelism == "ml":
        partitions = np.where(_PARTITIONED[family], _partitions(split, num_gpus, mix.max_partitions), 1)
        iterations = rng.integers(mix.max_iterations[0], mix.max_iterations[1] + 1, jobs)
    else:
        partitions = np.asarray(num_gpus, np.int64)
        iterations = np.full(jobs, GANG_ITERATIONS)
    replicas = np.asarray(num_gpus, np.int64) // partitions
    slack = rng.uniform(*mix.deadline_hours, jobs) * 3600.0
    option = rng.integers(0, 3, jobs)
    overfits = rng.random(jobs) < mix.overfit_share
    start = rng.uniform(*mix.overfit_at, jobs) * iterations
    exchanges = np.maximum(1.0, np.rint(run_time / iterations / mix.exchange_seconds))
    link = rng.uniform(*mix.link_megabytes, jobs) * 1e6 * exchanges
    return JobColumns(
        arrival=np.ascontiguousarray(arrival, np.float64),
        run_time=np.ascontiguousarray(run_time, np.float64),
        family=np.ascontiguousarray(family, np.int64),
        replicas=replicas,
        partitions=partitions,
        parameter_server=(served & (replicas > 1)).astype(np.int64),
        max_iterations=iterations,
        urgency=rng.uniform(*mix.urgency, jobs),
        deadline=arrival + np.maximum(mix.deadline_factor * run_time, slack),
        required_at=rng.uniform(*mix.required_at, jobs),
        stop_option=option,
        stop_option_limit=option + np.floor(rng.random(jobs) * (3 - option)).astype(np.int64),
        gpu_demand=_where_unknown(known_gpu_share, rng.integers(_LOWEST_DEMAND[family], _HIGHEST_DEMAND[family] + 1)),
        link_bytes=link if parallelism == "ml" else np.zeros(jobs),
        # The volume per link holds for the links of the gradient exchange too, one for each partition.
        gradient_bytes=link * partitions if parallelism == "ml" else np.zeros(jobs),
        data_bytes=rng.uniform(*mix.data_megabytes, jobs) * 1e6,
        curve_scale=rng.uniform(_LOWEST_SCALE[family], _HIGHEST_SCALE[family]) * iterations,
        overfit_start=np.where(overfits, start, np.inf),
        overfit_slope=np.where(overfits, mix.overfit_rise * _REDUCIBLE_LOSS[family] / iterations, 0.0),
        loss_noise=np.full(jobs, mix.loss_noise),
    )


def _where_unknown(known: Array | None, drawn: Array) -> Array:
    return drawn if known is None else np.where(known >= 0, known, drawn)


def _partitions(draw: Array, num_gpus: Array, most: int) -> Array:
    """A power of two that divides the GPUs, each possible one equally likely."""
    gpus = np.asarray(num_gpus, np.int64)
    twos = np.log2(gpus & -gpus).astype(np.int64)  # how often 2 divides
    choices = 1 + np.minimum(twos, int(np.log2(most)))
    partitions: Array = 2 ** np.floor(draw * choices).astype(np.int64)
    return partitions
