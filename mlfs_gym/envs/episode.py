"""An episode: everything that one copy of the environment knows, and how a kernel finds it by address."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mlfs_gym.cluster.addresses import cube, matrix, note, vector
from mlfs_gym.cluster.arrays import CLOCK, EDGE, GPU, JOB, SERVER, TASK, Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import RewardWeights
from mlfs_gym.envs.encoder import Buffers, describe_jobs
from mlfs_gym.envs.feature_cache import FeatureCache, new_feature_cache
from mlfs_gym.envs.layout import Layout
from mlfs_gym.envs.reward import ACCOUNT, new_account
from mlfs_gym.envs.window import Window, new_window
from mlfs_gym.schedulers.mlf_c.control import LEARNT, MEMORY, LoadControl, new_control
from mlfs_gym.schedulers.mlf_c.params import PARAMS as CONTROL_PARAMS
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from mlfs_gym.schedulers.mlf_h.survey import Survey, new_survey
from mlfs_gym.schedulers.opt_stop.compiled import STOPPING

F4, F8, I8, I1, B1 = (np.dtype(kind) for kind in (np.float32, np.float64, np.int64, np.int8, np.bool_))

COUNTS: Final = np.dtype([("steps", np.int64), ("invalid_actions", np.int64)], align=True)


class Episode(NamedTuple):
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
    account: Array
    counts: Array
    facts: Array
    mask: Array
    observation: Buffers


ARRAYS: Final = 63
"""Number of arrays in an episode."""


def new_episode(
    state: State,
    layout: Layout,
    params: Array,
    weights: RewardWeights,
    paper_reward: bool,
    load_control: MLFCParams | None,
    mask: Array,
    observation: Buffers,
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
    """
    jobs = state.jobs if load_control is not None else state.jobs[:0]
    cache = new_feature_cache(state)
    describe_jobs(state, cache)
    return Episode(
        state=state,
        survey=new_survey(state, params),
        window=new_window(layout, len(state.jobs)),
        cache=cache,
        control=new_control(jobs, load_control or MLFCParams()),
        account=new_account(state, weights, paper_reward),
        counts=np.zeros(1, COUNTS),
        facts=_facts(state),
        mask=mask,
        observation=observation,
    )


def _facts(state: State) -> Array:
    """Number of jobs, their mean ideal run time, and the load of the episode."""
    jobs = state.jobs
    run_time = jobs["max_iterations"] * jobs["ideal_iteration_time"]
    span = max(1.0, float(np.ptp(jobs["arrival"])))
    return np.array([len(jobs), run_time.mean(), (run_time * jobs["num_gpus"]).sum() / span / len(state.gpus)])


@kernel
def note_episode(episode: Episode, table: Array, copy: int) -> None:
    """Write the addresses of an episode's arrays into a row of a table, in the order in which `episode_at` reads them.

    Args:
        episode: the arrays, which must stay where they are as long as the table is in use.
        table: shape (N, ARRAYS, addresses.WIDTH), int64.
        copy: the row.
    """
    state, survey, window = episode.state, episode.survey, episode.window
    note(table, copy, 0, state.jobs)
    note(table, copy, 1, state.tasks)
    note(table, copy, 2, state.edges)
    note(table, copy, 3, state.servers)
    note(table, copy, 4, state.gpus)
    note(table, copy, 5, state.active)
    note(table, copy, 6, state.marked)
    note(table, copy, 7, state.finishing)
    note(table, copy, 8, state.clock)
    note(table, copy, 9, survey.use)
    note(table, copy, 10, survey.overloaded)
    note(table, copy, 11, survey.versions)
    note(table, copy, 12, survey.order)
    note(table, copy, 13, survey.order_known)
    note(table, copy, 14, survey.nearest)
    note(table, copy, 15, survey.volumes)
    note(table, copy, 16, survey.distances)
    note(table, copy, 17, survey.planned)
    note(table, copy, 18, survey.partitions)
    note(table, copy, 19, survey.priorities)
    note(table, copy, 20, survey.hosts)
    note(table, copy, 21, survey.jobs)
    note(table, copy, 22, survey.job_keys)
    note(table, copy, 23, survey.tasks)
    note(table, copy, 24, survey.task_keys)
    note(table, copy, 25, survey.ranked)
    note(table, copy, 26, survey.movers)
    note(table, copy, 27, survey.targets)
    note(table, copy, 28, window.slots)
    note(table, copy, 29, window.servers)
    note(table, copy, 30, window.feasible)
    note(table, copy, 31, window.spread)
    note(table, copy, 32, window.moves)
    note(table, copy, 33, window.move_servers)
    note(table, copy, 34, window.running)
    note(table, copy, 35, window.preemptible)
    note(table, copy, 36, window.blocked)
    note(table, copy, 37, window.expert)
    note(table, copy, 38, window.queue)
    note(table, copy, 39, window.queue_length)
    note(table, copy, 40, window.fitting)
    note(table, copy, 41, window.found)
    note(table, copy, 42, window.found_servers)
    note(table, copy, 43, episode.cache.jobs)
    note(table, copy, 44, episode.cache.job_versions)
    note(table, copy, 45, episode.cache.servers)
    note(table, copy, 46, episode.cache.server_versions)
    note(table, copy, 47, episode.cache.now)
    note(table, copy, 48, episode.control.params)
    note(table, copy, 49, episode.control.stopping)
    note(table, copy, 50, episode.control.learnt)
    note(table, copy, 51, episode.control.memory)
    note(table, copy, 52, episode.account)
    note(table, copy, 53, episode.counts)
    note(table, copy, 54, episode.facts)
    note(table, copy, 55, episode.mask)
    note(table, copy, 56, episode.observation.cluster)
    note(table, copy, 57, episode.observation.jobs)
    note(table, copy, 58, episode.observation.pairs)
    note(table, copy, 59, episode.observation.moves)
    note(table, copy, 60, episode.observation.move_pairs)
    note(table, copy, 61, episode.observation.progress)
    note(table, copy, 62, episode.observation.running)


@kernel(allocates=True)
def episode_at(table: Array, copy: int) -> Episode:
    """The episode whose addresses `note_episode` has written into a row of a table."""
    t = table
    state = State(
        vector(t, copy, 0, JOB),
        vector(t, copy, 1, TASK),
        vector(t, copy, 2, EDGE),
        vector(t, copy, 3, SERVER),
        vector(t, copy, 4, GPU),
        vector(t, copy, 5, I8),
        vector(t, copy, 6, I8),
        vector(t, copy, 7, I8),
        vector(t, copy, 8, CLOCK),
    )
    survey = Survey(
        matrix(t, copy, 9, F8),
        vector(t, copy, 10, B1),
        vector(t, copy, 11, I8),
        vector(t, copy, 12, I8),
        vector(t, copy, 13, B1),
        vector(t, copy, 14, I8),
        vector(t, copy, 15, F8),
        vector(t, copy, 16, F8),
        vector(t, copy, 17, I8),
        vector(t, copy, 18, I8),
        vector(t, copy, 19, F8),
        vector(t, copy, 20, I8),
        vector(t, copy, 21, I8),
        vector(t, copy, 22, F8),
        vector(t, copy, 23, I8),
        vector(t, copy, 24, F8),
        matrix(t, copy, 25, I8),
        vector(t, copy, 26, I8),
        vector(t, copy, 27, I8),
    )
    window = Window(
        vector(t, copy, 28, I8),
        matrix(t, copy, 29, I8),
        matrix(t, copy, 30, I1),
        matrix(t, copy, 31, I8),
        vector(t, copy, 32, I8),
        matrix(t, copy, 33, I8),
        vector(t, copy, 34, I8),
        vector(t, copy, 35, I1),
        vector(t, copy, 36, I1),
        vector(t, copy, 37, I8),
        vector(t, copy, 38, I8),
        vector(t, copy, 39, I8),
        vector(t, copy, 40, I1),
        vector(t, copy, 41, I8),
        cube(t, copy, 42, I8),
    )
    cache = FeatureCache(
        matrix(t, copy, 43, F4),
        vector(t, copy, 44, I8),
        matrix(t, copy, 45, F4),
        vector(t, copy, 46, I8),
        vector(t, copy, 47, I8),
    )
    control = LoadControl(
        vector(t, copy, 48, CONTROL_PARAMS),
        vector(t, copy, 49, STOPPING),
        vector(t, copy, 50, LEARNT),
        vector(t, copy, 51, MEMORY),
    )
    observation = Buffers(
        vector(t, copy, 56, F4),
        matrix(t, copy, 57, F4),
        cube(t, copy, 58, F4),
        matrix(t, copy, 59, F4),
        cube(t, copy, 60, F4),
        vector(t, copy, 61, F4),
        matrix(t, copy, 62, F4),
    )
    return Episode(
        state,
        survey,
        window,
        cache,
        control,
        vector(t, copy, 52, ACCOUNT),
        vector(t, copy, 53, COUNTS),
        vector(t, copy, 54, F8),
        vector(t, copy, 55, B1),
        observation,
    )
