"""The wrapper that asks only where there is a choice."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.envs.wrappers import SkipForcedActions
from tests.builders import J, workload_of
from tests.envs.episodes import play_episode, random_valid
from tests.envs.equality import assert_same


def make(**options: Any) -> gym.Env:
    return gym.make("mlfs_gym/JobScheduling-v0", jobs=60, **options)


@pytest.mark.parametrize("end_round", ["always", "when_blocked"])
def test_same_episode_with_fewer_steps(end_round: str) -> None:
    plain, skipping = make(end_round=end_round), SkipForcedActions(make(end_round=end_round))
    rng = np.random.default_rng(0)
    _, info = plain.reset(seed=4)
    observation, skipped_info = skipping.reset(seed=4)
    total = skipped_total = 0.0
    steps = skipped_steps = 0
    ended = False
    terms = dict.fromkeys(("jct", "deadline", "guarantee", "accuracy", "bandwidth"), 0.0)
    while not ended:
        # The plain one plays forced actions itself; at each choice both must stand at the same place.
        while info["action_mask"].sum() == 1:
            _, reward, terminated, truncated, info = plain.step(int(np.flatnonzero(info["action_mask"])[0]))
            total, steps = total + reward, steps + 1
        assert np.array_equal(info["action_mask"], skipped_info["action_mask"])
        assert info["time"] == skipped_info["time"]
        action = random_valid(plain, info, rng)
        _, reward, terminated, truncated, info = plain.step(action)
        total, steps = total + reward, steps + 1
        observation, reward, ended, _, skipped_info = skipping.step(action)
        assert skipping.observation_space.contains(observation)
        skipped_total, skipped_steps = skipped_total + reward, skipped_steps + 1
        assert reward == pytest.approx(sum(skipped_info["reward_terms"].values()), abs=1e-12)
        for name, value in skipped_info["reward_terms"].items():
            terms[name] += value
        while ended and not (terminated or truncated):
            _, reward, terminated, truncated, info = plain.step(int(np.flatnonzero(info["action_mask"])[0]))
            total, steps = total + reward, steps + 1
    assert skipped_steps < steps
    assert skipped_total == pytest.approx(total, rel=1e-9)
    assert sum(terms.values()) == pytest.approx(skipped_info["objective"], rel=1e-9)
    assert_same(info["metrics"], skipped_info["metrics"])


def test_every_step_is_a_choice() -> None:
    env = SkipForcedActions(make(end_round="when_blocked"))
    seen = []
    play_episode(env, lambda e, info, rng: seen.append(info["action_mask"].sum()) or random_valid(e, info, rng), 2)
    assert min(seen) >= 2


def test_episode_without_a_choice_is_played_from_its_beginning() -> None:
    env = SkipForcedActions(
        make_of(
            workload_of(J(), J(arrival=600.0)), cluster={"servers": 1, "gpus_per_server": 1}, window={"candidates": 1}
        )
    )
    _, info = env.reset(seed=0)
    assert info["action_mask"].sum() == 1
    total, last = play_episode(env, random_valid, 0)
    assert total == pytest.approx(last["objective"], rel=1e-9)


def make_of(workload: Any, **options: Any) -> gym.Env:
    return gym.make("mlfs_gym/JobScheduling-v0", workload=workload, end_round="when_blocked", **options)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_checker_passes() -> None:
    check_env(SkipForcedActions(make().unwrapped), skip_render_check=True)
