"""Policies and schedulers on the same held-out episodes, through the same simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from mlfs_gym.agents.task import Part, Task, core
from mlfs_gym.cluster.arrays import Array
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv
from mlfs_gym.envs.reward import References, objective
from mlfs_gym.envs.wrappers import SkipForcedActions
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.mlf_c.scheduler import MLFC
from mlfs_gym.sim.run import run

BATCH = 32  # episodes that a policy plays side by side
KEYS = ("name", "seed")

OnEpisode = Callable[[str, int], None]


class Predicts(Protocol):
    """What an evaluation needs of a policy; those of Stable-Baselines3 with masks have it."""

    def predict(self, observation: Any, *, deterministic: bool = ..., action_masks: Any = ...) -> tuple[Any, Any]:
        """Actions for a batch of observations."""


@dataclass(frozen=True)
class EvaluationSet:
    """Episodes that contestants are compared on.

    Attributes:
        task: the environment.
        part: of the jobs.
        seeds: one episode for each.
    """

    task: Task
    part: Part
    seeds: Sequence[int]

    def play_scheduler(self, name: str, scheduler: Scheduler, on_episode: OnEpisode | None = None) -> pd.DataFrame:
        """Let a scheduler play each episode in the simulator.

        Returns:
            One row per seed: ``name``, ``seed``, ``return`` (the blended objective), and `report.metrics.METRICS`.
        """
        env = self.task.make(self.part)
        if env.load_control and not isinstance(scheduler, MLFC):
            scheduler = MLFC(scheduler, env.mlf_c_params)  # as for a policy, who plays inside of it
        rows = []
        for seed in self.seeds:
            env.reset(seed=seed)
            cluster = env.fresh_cluster()
            run(cluster, scheduler)
            rows.append(_row(name, seed, env, cluster.state))
            if on_episode is not None:
                on_episode(name, len(rows))
        return pd.DataFrame(rows)

    def play_policy(
        self, name: str, policy: Predicts, deterministic: bool = True, on_episode: OnEpisode | None = None
    ) -> pd.DataFrame:
        """Let a policy play each episode through `env.step`, several side by side.

        Returns:
            As `play_scheduler`, with a row per seed in the order of the seeds.
        """
        rows: list[dict[str, Any]] = []
        for begin in range(0, len(self.seeds), BATCH):
            seeds = self.seeds[begin : begin + BATCH]
            envs = [self.task.make_for_learning(self.part) for _ in seeds]
            _play_side_by_side(envs, seeds, policy, deterministic)
            for env, seed in zip(envs, seeds, strict=True):
                rows.append(_row(name, seed, core(env), core(env).cluster.state))
            if on_episode is not None:
                on_episode(name, len(rows))
        return pd.DataFrame(rows)


def samples(results: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """By name and metric, one value per seed in the order of the seeds; for `report.tables.comparison_table`."""
    return {
        str(name): {column: rows[column].tolist() for column in rows.columns if column not in KEYS}
        for name, rows in results.sort_values("seed", kind="stable").groupby("name", sort=False)
    }


def means(results: pd.DataFrame) -> dict[str, float]:
    """Mean over the seeds of each metric of one contestant."""
    return {column: float(results[column].mean()) for column in results.columns if column not in KEYS}


def _play_side_by_side(
    envs: Sequence[SkipForcedActions], seeds: Sequence[int], policy: Predicts, deterministic: bool
) -> None:
    observations = [env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)]
    playing = list(range(len(envs)))
    while playing:
        batch = _stacked([observations[index] for index in playing])
        masks = np.stack([core(envs[index]).action_masks() for index in playing])
        actions, _ = policy.predict(batch, deterministic=deterministic, action_masks=masks)
        still_playing = []
        for index, action in zip(playing, actions, strict=True):
            observations[index], _, terminated, truncated, _ = envs[index].step(int(action))
            if not (terminated or truncated):
                still_playing.append(index)
        playing = still_playing


def _stacked(observations: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.stack([observation[name] for observation in observations]) for name in observations[0]}


def _row(name: str, seed: int, env: JobSchedulingEnv, state: Any) -> dict[str, Any]:
    found = metrics(state)
    blended = objective(found, env.reward_weights, References.of(state))
    return {"name": name, "seed": seed, "return": blended, **found}
