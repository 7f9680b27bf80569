"""Every registered environment: checkers, seeding, pickling, spawned workers, spaces, rewards, the expert."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers.mlf_h.scheduler import MLFH
from mlfs_gym.sim.run import run
from tests.envs.episodes import POLICIES, expert, play_episode, random_valid
from tests.envs.equality import assert_same

IDS = sorted(env_id for env_id in gym.registry if env_id.startswith("mlfs_gym/"))
# Whole episodes of the large presets take many steps; fewer jobs exercise the same code.
SHORT: dict[str, dict[str, Any]] = {
    "mlfs_gym/JobScheduling-v0": {"jobs": 60},
    "mlfs_gym/Testbed-v0": {"jobs": 155},
    "mlfs_gym/Philly-v0": {"jobs": 150},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "exclusive": {"sharing": False},
    "preemption": {"preemption": True},
    "preemption_exclusive_blocked": {"preemption": True, "sharing": False, "end_round": "when_blocked"},
}


def make(env_id: str, **kwargs: Any) -> gym.Env:
    return gym.make(env_id, **{**SHORT[env_id], **kwargs})


def test_both_presets_are_registered() -> None:
    assert set(SHORT) <= set(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_checkers_pass_without_a_warning(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gymnasium_check_env(make(env_id).unwrapped, skip_render_check=True)
        sb3_check_env(make(env_id).unwrapped, warn=True)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_checkers_pass_with_rendering(env_id: str, render_mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gymnasium_check_env(make(env_id, render_mode=render_mode).unwrapped)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_two_seeded_copies_give_the_same_rollout(env_id: str, variant: str) -> None:
    one, other = (make(env_id, **VARIANTS[variant]) for _ in range(2))
    rng = np.random.default_rng(1)
    for seed in (3, None):  # the second episode continues the generator
        left, right = one.reset(seed=seed), other.reset(seed=seed)
        assert_same(left, right)
        for _ in range(300):
            action = random_valid(one, left[-1], rng)
            left, right = one.step(action), other.step(action)
            assert_same(left, right)
            if left[2] or left[3]:
                break


def test_different_seeds_give_different_workloads() -> None:
    env = make("mlfs_gym/JobScheduling-v0")
    env.reset(seed=1)
    first = env.unwrapped.cluster.jobs["arrival"].copy()
    env.reset(seed=2)
    assert not np.array_equal(first, env.unwrapped.cluster.jobs["arrival"])


@pytest.mark.parametrize("env_id", IDS)
def test_a_pickled_copy_goes_on_in_the_same_way(env_id: str) -> None:
    env = make(env_id).unwrapped
    env.reset(seed=5)
    for _ in range(50):
        env.step(env.expert_action())
    copy = pickle.loads(pickle.dumps(env))
    for _ in range(50):
        action = env.expert_action()
        assert copy.expert_action() == action
        assert_same(env.step(action), copy.step(action))


def _first_observation(env_id: str) -> tuple[Any, int]:
    env = gym.make(env_id, jobs=60)
    observation, info = env.reset(seed=11)
    return observation, int(info["action_mask"].sum())


def test_spawned_workers_can_make_it_by_the_prefixed_id() -> None:
    env_id = "mlfs_gym:mlfs_gym/JobScheduling-v0"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        far = pool.apply(_first_observation, (env_id,))
    assert_same(far, _first_observation(env_id))


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_whole_episodes_stay_in_their_spaces_and_sum_to_the_objective(env_id: str, policy: str, variant: str) -> None:
    if env_id == "mlfs_gym/Testbed-v0" and variant.startswith("preemption") and policy == "random":
        pytest.skip("a random preempting policy takes 20,000 steps on the testbed; the small preset covers it")
    env = make(env_id, **VARIANTS[variant])

    def inside(observation: dict[str, np.ndarray]) -> None:
        for name, space in env.observation_space.spaces.items():
            values = observation[name]
            assert values.dtype == np.float32
            assert values.shape == space.shape
            assert np.all(np.abs(values) <= 1.0), name  # false for nan too

    total, info = play_episode(env, POLICIES[policy], seed=7, visit=inside)
    assert total == pytest.approx(info["objective"], rel=1e-9)
    assert info["metrics"]["finished"] == info["metrics"]["jobs"]
    assert info["invalid_actions"] == 0


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_expert_played_through_steps_is_mlf_h_in_the_simulator(env_id: str, variant: str, seed: int) -> None:
    env = make(env_id, **VARIANTS[variant])
    _, info = play_episode(env, expert, seed)
    cluster = env.unwrapped.fresh_cluster()
    run(cluster, MLFH(env.unwrapped.mlf_h_params))
    assert info["metrics"] == metrics(cluster.state)
