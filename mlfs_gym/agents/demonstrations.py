"""The expert's decisions, collected and kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlfs_gym.agents.task import Task, core
from mlfs_gym.cluster.arrays import Array


@dataclass(frozen=True)
class Demonstrations:
    """Decisions of whole episodes, one after another; only those where there was a choice.

    Attributes:
        observations: parts of the observation, each of shape (N, ...), float32.
        masks: shape (N, A), bool.
        actions: shape (N,), int64, what the expert did.
        rewards: shape (N,), until the next decision.
        episodes: shape (N,), int64, number of the episode.
    """

    observations: dict[str, Array]
    masks: Array
    actions: Array
    rewards: Array
    episodes: Array

    def __len__(self) -> int:
        return len(self.actions)

    def returns(self, gamma: float) -> Array:
        """Discounted sum of the rewards from each decision to the end of its episode, shape (N,)."""
        found = np.empty(len(self))
        following = 0.0
        for index in range(len(self) - 1, -1, -1):
            last = index + 1 == len(self) or self.episodes[index + 1] != self.episodes[index]
            following = self.rewards[index] + (0.0 if last else gamma * following)
            found[index] = following
        return found

    def save(self, path: Path) -> None:
        """Write to a file, completely or not at all."""
        fields = {f"observation_{name}": values for name, values in self.observations.items()}
        partial = path.with_name(path.name + ".part")
        with partial.open("wb") as file:
            np.savez_compressed(
                file,
                masks=self.masks,
                actions=self.actions,
                rewards=self.rewards,
                episodes=self.episodes,
                **fields,  # type: ignore[arg-type]
            )
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path) -> Demonstrations:
        """Read what `save` wrote."""
        with np.load(path) as stored:
            names = [name for name in stored.files if name.startswith("observation_")]
            observations = {name.removeprefix("observation_"): stored[name] for name in names}
            return cls(observations, stored["masks"], stored["actions"], stored["rewards"], stored["episodes"])


def collect_demonstrations(
    task: Task, seeds: list[int], on_episode: Callable[[int, float, int], None] | None = None
) -> Demonstrations:
    """Let the expert play.

    Args:
        task: what to play.
        seeds: one episode for each.
        on_episode: called after each with its number from 1, its return and its number of decisions.
    """
    env = task.make_for_learning("training")
    inside = core(env)
    observations: dict[str, list[Array]] = {}
    masks: list[Array] = []
    actions: list[int] = []
    rewards: list[float] = []
    episodes: list[int] = []
    for number, seed in enumerate(seeds):
        observation, _ = env.reset(seed=seed)
        ended = False
        begin = len(rewards)
        while not ended:
            masks.append(inside.action_masks())
            action = inside.expert_action()
            for name, values in observation.items():
                observations.setdefault(name, []).append(values)
            observation, reward, terminated, truncated, _ = env.step(action)
            actions.append(action)
            rewards.append(reward)
            episodes.append(number)
            ended = terminated or truncated
        if on_episode is not None:
            on_episode(number + 1, sum(rewards[begin:]), len(rewards) - begin)
    return Demonstrations(
        {name: np.stack(values) for name, values in observations.items()},
        np.stack(masks),
        np.array(actions, np.int64),
        np.array(rewards),
        np.array(episodes, np.int64),
    )
