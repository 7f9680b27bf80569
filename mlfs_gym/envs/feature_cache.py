"""Rows of features that are computed once and used until what they describe has changed.

Within a round most jobs and servers stay as they are from step to step, and much of what describes a job never
changes at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.bundle import F4, I8, Bundle, Of
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.envs.features import JOB, SERVER

STALE = -1


@dataclass(frozen=True, eq=False, repr=False)
class FeatureCache(Bundle):
    """Rows of jobs and servers, each with the version of what it shows.

    Attributes:
        jobs: shape (J, features of a job), float32.
        job_versions: shape (J,), int64, value of `now` when the row was filled.
        servers: shape (S, features of a server), float32; what depends on a job is left 0.
        server_versions: shape (S,), int64, ``servers["version"]`` when the row was filled.
        now: shape (1,), int64, grows whenever time passes.
    """

    jobs: Annotated[Array, Of(F4, 2)]
    job_versions: Annotated[Array, Of(I8)]
    servers: Annotated[Array, Of(F4, 2)]
    server_versions: Annotated[Array, Of(I8)]
    now: Annotated[Array, Of(I8)]


def new_feature_cache(state: State) -> FeatureCache:
    """All rows are stale; those of the jobs are still to be described (`encoder.describe_jobs`)."""
    jobs, servers = len(state.jobs), len(state.servers)
    return FeatureCache(
        jobs=np.zeros((jobs, len(JOB)), np.float32),
        job_versions=np.full(jobs, STALE, np.int64),
        servers=np.zeros((servers, len(SERVER)), np.float32),
        server_versions=np.full(servers, STALE, np.int64),
        now=np.zeros(1, np.int64),
    )


@kernel
def forget_features(cache: FeatureCache) -> None:
    """All rows are stale; the state has been set back."""
    cache.now[0] += 1
    cache.job_versions[:] = STALE
    cache.server_versions[:] = STALE
