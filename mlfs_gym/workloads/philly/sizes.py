"""How many GPUs jobs ask for, and how long they run."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.workloads.draws import by_weight
from mlfs_gym.workloads.philly.arrivals import Batches, size_distribution
from mlfs_gym.workloads.philly.statistics import (
    GPU_REQUEST_PERCENT,
    GPU_REQUESTS,
    LARGEST_BATCH_OF_MANY_GPUS,
    RUN_TIME_CORRELATION,
    RUN_TIME_PERCENT,
    RUN_TIME_SECONDS,
    RUN_TIME_SHIFT,
)


def gpu_requests(rng: np.random.Generator, batches: Batches, total_gpus: int) -> Array:
    """The GPU request of each batch, shape (B,), such that the shares of jobs are those of Philly.

    Args:
        rng: every draw comes from here.
        batches: shape (B,).
        total_gpus: larger requests do not occur.
    """
    request = np.ones(len(batches.size), np.int64)
    small = rng.permutation(np.flatnonzero(batches.size <= LARGEST_BATCH_OF_MANY_GPUS))
    # One stratum after another along the jobs of the small batches in random order, from a random place on: a share
    # of few jobs is then met as well as it can be, and correct on average in windows that are too short for it.
    jobs = batches.jobs[small]
    middle = np.cumsum(jobs) - 0.5 * jobs
    place = (middle / max(1, jobs.sum()) + rng.random()) % 1.0
    request[small] = GPU_REQUESTS[by_weight(place, _weights_in_small_batches(total_gpus))]
    return request


def _weights_in_small_batches(total_gpus: int) -> Array:
    """Small batches make up for the large ones, which ask for 1 GPU."""
    sizes, part = size_distribution()
    small = part[np.searchsorted(sizes, LARGEST_BATCH_OF_MANY_GPUS, side="right") - 1]
    weights = np.where(total_gpus >= GPU_REQUESTS, GPU_REQUEST_PERCENT, 0.0)
    weights /= weights.sum()
    weights[0] -= 1.0 - small
    return weights


def run_times(rng: np.random.Generator, num_gpus: Array, batch: Array, max_seconds: float) -> Array:
    """Run times with the distribution of Philly, longer with several GPUs, similar within a batch.

    Every job has a normal score, shifted by its GPU request. The distribution function of all scores takes a score to
    a quantile of the run times: over all jobs these have the published distribution, while the shifts alone decide
    how GPU time divides among the requests. Scores are stratified within each request; with a tail this heavy, plain
    draws would let the load jump.

    Args:
        rng: every draw comes from here.
        num_gpus: shape (J,), of `GPU_REQUESTS`.
        batch: shape (J,), index of each job's batch.
        max_seconds: the distributions are cut off here.

    Returns:
        Shape (J,), s.
    """
    kind = np.searchsorted(GPU_REQUESTS, num_gpus)
    shared = rng.standard_normal(int(batch[-1]) + 1)[batch]
    own = rng.standard_normal(len(batch))
    likeness = np.sqrt(RUN_TIME_CORRELATION) * shared + np.sqrt(1.0 - RUN_TIME_CORRELATION) * own
    quantile = _ranks(rng, likeness, kind)
    scores, log_seconds = _run_times_by_score()
    highest = np.interp(np.log(max_seconds), log_seconds, scores)
    score = ndtri(quantile * ndtr(highest - RUN_TIME_SHIFT)[kind]) + RUN_TIME_SHIFT[kind]
    seconds: Array = np.exp(np.interp(score, scores, log_seconds))
    return seconds


def _ranks(rng: np.random.Generator, value: Array, kind: Array) -> Array:
    """Quantiles of values among those of their kind, one from each equal part."""
    order = np.lexsort((value, kind))
    count = np.bincount(kind)
    first = np.cumsum(count) - count
    kind = kind[order]
    quantile = np.empty(len(value))
    quantile[order] = (np.arange(len(value)) - first[kind] + rng.random(len(value))) / count[kind]
    return quantile


@lru_cache(maxsize=1)
def _run_times_by_score() -> tuple[Array, Array]:
    """Shifted normal scores, and the logarithms of the run times that belong to them.

    Between two published points the part of jobs that run longer falls as a power of the run time: straight lines of
    the distribution function itself would put the mean 5% too high. This one gives 17,850 s; the full log has 18,006.
    """
    scores = np.linspace(-9.0, 9.0, 2401)
    longer = ndtr(RUN_TIME_SHIFT - scores[:, None]) @ (GPU_REQUEST_PERCENT / GPU_REQUEST_PERCENT.sum())
    published = np.log1p(-RUN_TIME_PERCENT / 100.0)
    return scores, np.interp(-np.log(longer), -published, np.log(RUN_TIME_SECONDS))
