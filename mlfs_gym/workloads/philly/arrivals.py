"""When jobs come: in batches, and more of them by day and on weekdays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.workloads.draws import stratified
from mlfs_gym.workloads.philly.statistics import (
    BATCH_GAP_CDF,
    BATCH_GAP_SECONDS,
    BATCH_SIZE,
    BATCH_SIZE_CDF,
    HOUR_FACTORS,
    WEEKDAY_FACTORS,
)

_LOG_SIZE = np.log(BATCH_SIZE)

_SMALLEST_BLOCK = 1000

HOURS_OF_WEEK = 168
_HOURS = np.arange(HOURS_OF_WEEK + 1.0)
# Expected batches from Monday 0:00 to each hour of the week, in units of the mean per hour.
_EXPECTED = np.append(0.0, np.cumsum(np.outer(WEEKDAY_FACTORS, HOUR_FACTORS)))
_EXPECTED *= HOURS_OF_WEEK / _EXPECTED[-1]


@dataclass(frozen=True, eq=False)
class Batches:
    """Batches of jobs in order of arrival; every array has the shape (B,).

    Attributes:
        size: jobs of the batch.
        jobs: those of them that belong to the workload; fewer than `size` at the two ends of it.
    """

    size: Array
    jobs: Array


def sizes_at(quantile: Array) -> Array:
    """Batch sizes at quantiles of their distribution, logarithms interpolated between the published points."""
    size = np.exp(np.interp(quantile, BATCH_SIZE_CDF, _LOG_SIZE))
    whole: Array = np.ceil(size - 1e-9).astype(np.int64)  # (2, 3] is 3, whatever the logarithm rounds to
    return whole


@lru_cache(maxsize=1)
def size_distribution() -> tuple[Array, Array]:
    """Sizes at many evenly spaced quantiles, and the part of all jobs that is in batches of up to this size."""
    count = 2**14
    sizes = sizes_at((np.arange(count) + 0.5) / count)
    jobs = np.cumsum(sizes)
    return sizes, jobs / jobs[-1]


def draw_batches(rng: np.random.Generator, jobs: int) -> Batches:
    """Consecutive jobs from a random place of an endless sequence of batches.

    The place is a job, and most jobs are in large batches, so the first batch is large more often than the others.
    """
    sizes, part = size_distribution()
    first = sizes[np.searchsorted(part, rng.random(), side="right")]
    left_of_first = 1 + int(rng.random() * first)
    # Stratified in blocks of as many batches as these jobs are expected to make; so many blocks are always enough.
    # Few jobs draw from a larger block: they may well be one batch, or none that is large.
    block = max(_SMALLEST_BLOCK, int(np.ceil(jobs / sizes.mean())))
    quantile = np.concatenate([stratified(rng, block) for _ in range(-(-jobs // block))])
    size = np.append(first, sizes_at(quantile))
    ends = np.minimum(np.cumsum(np.append(left_of_first, size[1:])), jobs)
    inside = np.diff(ends, prepend=0)
    needed = inside > 0
    return Batches(size[needed], inside[needed])


def arrival_times(rng: np.random.Generator, batches: Batches, span: float, start_hour: float) -> Array:
    """Seconds from the first arrival; the last is at `span`.

    Batches begin as a Poisson process with Philly's hours and weekdays, given their number; virtual clusters submit
    independently of each other, so batches overlap. The gaps within batches do not depend on the span: a script
    submits at its own pace.

    Args:
        rng: every draw comes from here.
        batches: shape (B,).
        span: s.
        start_hour: of the week, 0 is Monday 0:00; there the span begins.

    Returns:
        Shape (J,), batch by batch.
    """
    jobs = int(batches.jobs.sum())
    if jobs == 1:
        return np.zeros(1)
    expected = expected_until(start_hour + np.array([0.0, span / 3600.0]))
    begin = np.sort(rng.uniform(expected[0], expected[1], len(batches.jobs)))
    begin = (_hour_when(begin) - start_hour) * 3600.0
    begin[0] = 0.0
    gap = np.interp(rng.random(jobs), BATCH_GAP_CDF, BATCH_GAP_SECONDS)
    first_job = np.cumsum(batches.jobs) - batches.jobs
    gap[first_job] = 0.0
    since_first = np.cumsum(gap)
    arrival = since_first + np.repeat(begin - since_first[first_job], batches.jobs)
    # The last batches may reach beyond the span, or end before it: by minutes or hours, which is much for windows only.
    scaled: Array = arrival * (span / arrival.max())
    return scaled


def expected_until(hour: Array) -> Array:
    """Batches expected from Monday 0:00 to an hour, which may lie in a later week; 1 per hour on average."""
    week, rest = np.divmod(hour, HOURS_OF_WEEK)
    expected: Array = week * HOURS_OF_WEEK + np.interp(rest, _HOURS, _EXPECTED)
    return expected


def _hour_when(expected: Array) -> Array:
    """The inverse of `expected_until`."""
    week, rest = np.divmod(expected, HOURS_OF_WEEK)
    hour: Array = week * HOURS_OF_WEEK + np.interp(rest, _EXPECTED, _HOURS)
    return hour
