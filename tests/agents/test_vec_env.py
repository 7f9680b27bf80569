"""The adapter for Stable-Baselines3 against its own way of running copies of an environment."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.agents.vec_env import MlfsVecEnv
from mlfs_gym.cluster.arrays import Array
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv
from mlfs_gym.envs.vector import VectorJobSchedulingEnv
from mlfs_gym.errors import SettingsError

OPTIONS: dict[str, Any] = {"jobs": 10}


def native(copies: int, reward_scale: float = 1.0, **options: Any) -> MlfsVecEnv:
    return MlfsVecEnv(VectorJobSchedulingEnv(copies, autoreset_mode="SameStep", **options), reward_scale)


def random_valid(masks: Array, rng: np.random.Generator) -> Array:
    return np.where(masks, rng.random(masks.shape), -1.0).argmax(axis=1)


@pytest.mark.parametrize("options", [OPTIONS, {"jobs": 30, "max_episode_steps": 20}])
def test_all_that_a_step_returns_is_what_stable_baselines_makes_of_single_environments(options: dict[str, Any]) -> None:
    one: Any = native(3, reward_scale=10.0, **options)
    other: Any = DummyVecEnv([lambda: Monitor(JobSchedulingEnv(**options))] * 3)
    for envs in (one, other):
        envs.seed(4)
    left, right = one.reset(), other.reset()
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(150):
        for name in right:
            assert left[name].tobytes() == right[name].tobytes()
        masks = get_action_masks(one)
        assert (masks == np.stack([env.unwrapped.action_masks() for env in other.envs])).all()
        actions = random_valid(masks, rng)
        left, rewards, dones, infos = one.step(actions)
        right, expected, expected_dones, expected_infos = other.step(actions)
        assert rewards == pytest.approx(expected * 10.0, rel=1e-6)
        assert (rewards.dtype, left["jobs"].dtype) == (np.float32, np.float32)
        assert dones.tolist() == expected_dones.tolist()
        for info, told in zip(infos, expected_infos, strict=True):
            assert ("episode" in info) == ("episode" in told)
            if "episode" in told:
                ends += 1
                assert info["episode"]["l"] == told["episode"]["l"]
                assert info["episode"]["r"] == pytest.approx(told["episode"]["r"], abs=2e-6)
                assert info["TimeLimit.truncated"] == told["TimeLimit.truncated"]
                for name, values in told["terminal_observation"].items():
                    assert values.tobytes() == info["terminal_observation"][name].tobytes()
    assert ends > 3


def test_maskable_ppo_learns_on_it_and_only_takes_valid_actions() -> None:
    envs: Any = gym.make_vec(
        "mlfs_gym/JobScheduling-v0",
        num_envs=4,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        jobs=10,
    )
    learner = MlfsVecEnv(envs)
    assert is_masking_supported(learner)
    model = MaskablePPO("MultiInputPolicy", learner, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.learn(256)
    assert model.num_timesteps == 256
    assert envs.unwrapped._batch.results["invalid_actions"].sum() == 0


def test_wrappers_of_stable_baselines_work() -> None:
    envs = VecNormalize(native(2, **OPTIONS), norm_obs=False)
    envs.seed(0)
    envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(20):
        _, rewards, _, _ = envs.step(random_valid(np.stack(envs.env_method("action_masks")), rng))
    assert np.isfinite(rewards).all()


def test_a_pickled_copy_goes_on_in_the_same_way() -> None:
    one = native(2, **OPTIONS)
    one.seed(0)
    one.reset()
    rng = np.random.default_rng(0)
    for _ in range(10):
        one.step(random_valid(get_action_masks(one), rng))
    other = pickle.loads(pickle.dumps(one))
    for _ in range(40):
        actions = random_valid(get_action_masks(one), rng)
        left, right = one.step(actions), other.step(actions)
        assert left[1].tolist() == right[1].tolist()
        assert all(left[0][name].tobytes() == right[0][name].tobytes() for name in left[0])


def test_wrong_environments_are_named() -> None:
    with pytest.raises(SettingsError, match="autoreset_mode: found 'NextStep', expected 'SameStep'"):
        MlfsVecEnv(VectorJobSchedulingEnv(2))
    with pytest.raises(SettingsError, match="expected a vector environment of this package"):
        MlfsVecEnv(gym.make("CartPole-v1"))


def test_what_copies_share_cannot_be_set_for_one() -> None:
    with pytest.raises(NotImplementedError, match="copies share"):
        native(2).set_attr("copy", True, indices=[0])
