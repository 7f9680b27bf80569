"""Policies and episodes that several tests play."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

Policy = Callable[[gym.Env, dict[str, Any], np.random.Generator], int]


def random_valid(env: gym.Env, info: dict[str, Any], rng: np.random.Generator) -> int:
    """Any valid action."""
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


def expert(env: gym.Env, info: dict[str, Any], rng: np.random.Generator) -> int:
    """MLF-H."""
    return env.unwrapped.expert_action()


def fifo(env: gym.Env, info: dict[str, Any], rng: np.random.Generator) -> int:
    """The first slot (the earliest arrival) or, if it does not fit, the end of the round."""
    layout = env.unwrapped.layout
    first_slot = np.flatnonzero(info["action_mask"][: layout.candidates])
    if len(first_slot):
        return int(first_slot[0])
    if info["action_mask"][layout.end]:
        return layout.end
    return random_valid(env, info, rng)


POLICIES: dict[str, Policy] = {"random": random_valid, "expert": expert, "fifo": fifo}


def play_episode(
    env: gym.Env,
    policy: Policy,
    seed: int,
    visit: Callable[[dict[str, Any]], None] | None = None,
    max_steps: int = 100_000,
) -> tuple[float, dict[str, Any]]:
    """Return and last info of an episode; `visit` sees every observation."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    total = 0.0
    for _ in range(max_steps):
        if visit is not None:
            visit(observation)
        observation, reward, terminated, truncated, info = env.step(policy(env, info, rng))
        total += float(reward)
        if terminated or truncated:
            return total, info
    raise AssertionError(f"the episode did not end within {max_steps} steps")
