"""An episode: everything that one copy of the environment knows, and how a kernel finds it by address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.bundle import B1, F8, Bundle, Of, reader_of
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import RewardWeights
from mlfs_gym.envs.encoder import Buffers, describe_jobs
from mlfs_gym.envs.feature_cache import FeatureCache, forget_features, new_feature_cache
from mlfs_gym.envs.layout import Layout
from mlfs_gym.envs.reward import ACCOUNT, new_account
from mlfs_gym.envs.window import Window, begin_looking, new_window
from mlfs_gym.schedulers.mlf_c.control import LoadControl, new_control
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from mlfs_gym.schedulers.mlf_h.survey import Survey, forget, new_survey

COUNTS: Final = np.dtype([("steps", np.int64), ("invalid_actions", np.int64)], align=True)


@dataclass(frozen=True, eq=False, repr=False)
class Episode(Bundle):
    """One copy of the environment.

    Attributes:
        state: the cluster.
        survey: what MLF-H knows of it.
        window: what is offered to the agent.
        cache: rows of features.
        control: MLF-C; without jobs if it is off.
        account: shape (1,), dtype `reward.ACCOUNT`.
        counts: shape (1,), dtype `COUNTS`.
        facts: shape (3,), number of jobs, mean ideal run time in s, load.
        mask: shape (A,), bool, valid actions.
        observation: receives the observation.
    """

    state: State
    survey: Survey
    window: Window
    cache: FeatureCache
    control: LoadControl
    account: Annotated[Array, Of(ACCOUNT)]
    counts: Annotated[Array, Of(COUNTS)]
    facts: Annotated[Array, Of(F8)]
    mask: Annotated[Array, Of(B1)]
    observation: Buffers


episode_at: Callable[[int], Episode] = reader_of(Episode)
"""For kernels: the episode at an address."""


def new_episode(
    state: State,
    layout: Layout,
    params: Array,
    weights: RewardWeights,
    paper_reward: bool,
    load_control: MLFCParams | None,
    mask: Array,
    observation: Buffers,
    before: Episode | None = None,
) -> Episode:
    """An episode at time 0.

    Args:
        state: a fresh cluster.
        layout: sizes of the window.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        weights: of the reward.
        paper_reward: True for eq. 7 as printed.
        load_control: MLF-C's settings; None: it is off.
        mask: where the mask goes, shape (A,), bool.
        observation: where the observation goes.
        before: the episode that stood in this place, whose arrays are used again if they are large enough.
    """
    if before is None or not _has_room(before, state):
        survey, window, cache = new_survey(state, params), new_window(layout, len(state.jobs)), new_feature_cache(state)
    else:
        survey, window, cache = before.survey, before.window, before.cache
        forget(survey)
        begin_looking(window)
        forget_features(cache)
    describe_jobs(state, cache)
    return Episode(
        state=state,
        survey=survey,
        window=window,
        cache=cache,
        control=new_control(state.jobs if load_control is not None else state.jobs[:0], load_control or _OFF),
        account=new_account(state, weights, paper_reward),
        counts=np.zeros(1, COUNTS),
        facts=_facts(state),
        mask=mask,
        observation=observation,
    )


def _has_room(episode: Episode, state: State) -> bool:
    """True if another state would do with the survey, the window and the cache of an episode."""
    survey = episode.survey
    return bool(
        len(state.servers) == len(episode.state.servers)
        and len(state.jobs) <= len(survey.jobs)
        and len(state.tasks) <= len(survey.tasks)
        and state.jobs["partitions"].max(initial=1) <= len(survey.partitions)
    )


_OFF: Final = MLFCParams()


def _facts(state: State) -> Array:
    """Number of jobs, their mean ideal run time, and the load of the episode."""
    facts = np.zeros(3)
    _fill_facts(state, facts)
    return facts


@kernel
def _fill_facts(state: State, facts: Array) -> None:
    jobs = state.jobs
    count = jobs.shape[0]
    run_time = 0.0
    gpu_seconds = 0.0
    for job in range(count):
        seconds = jobs[job].max_iterations * jobs[job].ideal_iteration_time
        run_time += seconds
        gpu_seconds += seconds * jobs[job].num_gpus
    span = max(1.0, jobs[count - 1].arrival - jobs[0].arrival)
    facts[0] = count
    facts[1] = run_time / count
    facts[2] = gpu_seconds / span / state.gpus.shape[0]
