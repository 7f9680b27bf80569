"""The native vector environment against single ones: to the bit, in every mode, with Gymnasium's wrappers."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.cluster.arrays import Array
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv
from mlfs_gym.envs.vector import VectorJobSchedulingEnv
from mlfs_gym.envs.wrappers import SkipForcedActions
from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads import make_workload
from tests.envs.equality import assert_same

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {"jobs": 12},
    "shared, preemption": {"jobs": 12, "sharing": True, "preemption": True},
    "load control": {"jobs": 12, "load_control": True, "end_round": "when_blocked"},
    "paper's reward": {"jobs": 12, "reward": "paper"},
    "truncated": {"jobs": 30, "max_episode_steps": 25},
}


def native(num_envs: int, **options: Any) -> VectorJobSchedulingEnv:
    return VectorJobSchedulingEnv(num_envs, **options)


def random_valid(masks: Array, rng: np.random.Generator) -> Array:
    draws = rng.random(masks.shape)
    draws[masks == 0] = -1.0
    return draws.argmax(axis=1)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_all_that_a_step_returns_is_what_gymnasium_makes_of_single_environments(
    mode: AutoresetMode, options: dict[str, Any]
) -> None:
    one = native(3, autoreset_mode=mode, **options)
    other: Any = SyncVectorEnv([lambda: JobSchedulingEnv(**options)] * 3, autoreset_mode=mode)
    left, right = one.reset(seed=5), other.reset(seed=5)
    assert_same(left, right)
    rng = np.random.default_rng(0)
    ends = 0
    for step in range(160):
        actions = random_valid(right[-1]["action_mask"], rng)
        if step % 20 == 7:
            actions[1] = 10**6  # invalid
        left, right = one.step(actions), other.step(actions)
        assert_same(left, right)
        ends += int((right[2] | right[3]).sum())
    assert ends >= 3
    assert one.metadata["autoreset_mode"] == mode
    assert one.single_observation_space == other.single_observation_space
    assert one.observation_space == other.observation_space
    assert one.action_space == other.action_space


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hundred_thousand_steps_are_equal_to_the_bit(threads: int) -> None:
    copies, steps = 40, 2500
    many = native(copies, autoreset_mode="SameStep", copy=False, threads=threads)
    single = [JobSchedulingEnv() for _ in range(copies if threads == 1 else 2)]
    many.reset(seed=0)
    infos = [env.reset(seed=seed)[1] for seed, env in enumerate(single)]
    rng = np.random.default_rng(1)
    for _ in range(steps):
        actions = random_valid(many.action_masks(), rng)
        observations, rewards, terminations, _, found = many.step(actions)
        for copy, env in enumerate(single):
            observation, reward, terminated, _, infos[copy] = env.step(int(actions[copy]))
            assert reward == rewards[copy]
            assert terminated == terminations[copy]
            if terminated:
                observation, infos[copy] = env.reset()
            assert (infos[copy]["action_mask"] == found["action_mask"][copy]).all()
            assert infos[copy]["time"] == found["time"][copy]
            for name, values in observation.items():
                assert values.tobytes() == observations[name][copy].tobytes()
    many.close()


def test_make_vec_finds_it_and_takes_the_arguments_of_the_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gym.make_vec(
            "mlfs_gym/JobScheduling-v0", num_envs=2, vectorization_mode="vector_entry_point", load=1.2, preemption=True
        )
    assert isinstance(envs.unwrapped, VectorJobSchedulingEnv)
    observations, infos = envs.reset(seed=[1, 2])
    assert observations in envs.observation_space
    assert infos["action_mask"].shape == (2, envs.single_action_space.n)
    single = gym.make("mlfs_gym/JobScheduling-v0", load=1.2, preemption=True)
    observation, _ = single.reset(seed=2)
    assert_same(observation, {name: values[1] for name, values in observations.items()})


def test_gymnasiums_vector_wrappers_work() -> None:
    envs: Any = VectorJobSchedulingEnv(3, jobs=10)
    envs = wrappers.RecordEpisodeStatistics(wrappers.NormalizeReward(envs))
    envs = wrappers.FlattenObservation(envs)
    envs = wrappers.NormalizeObservation(envs)
    observations, infos = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(200):
        observations, _, terminations, truncations, infos = envs.step(random_valid(infos["action_mask"], rng))
        assert observations.shape == (3, sum(space.shape[0] for space in JobSchedulingEnv().observation_space.values()))
        if (terminations | truncations).any():
            lengths += infos["episode"]["l"][terminations | truncations].tolist()
    assert lengths


def test_skipping_forced_actions_asks_where_the_wrapper_asks() -> None:
    options: dict[str, Any] = {"jobs": 15, "end_round": "when_blocked"}
    many = native(4, autoreset_mode="SameStep", skip_forced=True, **options)
    single = [SkipForcedActions(JobSchedulingEnv(**options)) for _ in range(4)]
    observations, infos = many.reset(seed=3)
    starts = [env.reset(seed=3 + copy) for copy, env in enumerate(single)]
    rng = np.random.default_rng(2)
    ends = 0
    for _ in range(150):
        actions = random_valid(infos["action_mask"], rng)
        observations, rewards, terminations, truncations, infos = many.step(actions)
        for copy, env in enumerate(single):
            observation, reward, terminated, truncated, info = env.step(int(actions[copy]))
            assert reward == pytest.approx(rewards[copy], rel=1e-9, abs=1e-12)
            assert (terminated, truncated) == (terminations[copy], truncations[copy])
            if terminated or truncated:
                ends += 1
                observation, info = env.reset()
            assert_same(observation, {name: values[copy] for name, values in observations.items()})
            assert (info["action_mask"] == infos["action_mask"][copy]).all()
    assert ends > 3
    assert len(starts) == 4


def test_an_episode_without_a_choice_begins_at_its_first_decision() -> None:
    workload = make_workload("small", seed=0, jobs=1)
    many = native(
        2, skip_forced=True, workload=workload, end_round="when_blocked", window={"slots": 1, "candidates": 1}
    )
    _, infos = many.reset(seed=0)
    assert infos["jobs_done"].tolist() == [0, 0]
    _, _, terminations, _, infos = many.step(infos["action_mask"].argmax(axis=1))
    assert terminations.all()
    assert infos["metrics"]["finished"].tolist() == [1.0, 1.0]


def test_some_copies_can_be_reset_and_others_go_on() -> None:
    many = native(3, jobs=10, autoreset_mode="Disabled")
    _, infos = many.reset(seed=0)
    rng = np.random.default_rng(0)
    ended = np.zeros(3, bool)
    while not ended.any():
        _, _, terminations, truncations, infos = many.step(random_valid(infos["action_mask"], rng))
        ended = terminations | truncations
    with pytest.raises(gym.error.ResetNeeded, match="reset copies"):
        many.step(np.zeros(3, int))
    before = many.clusters
    _, infos = many.reset(options={"reset_mask": ended})
    assert infos["_action_mask"].tolist() == ended.tolist()
    for copy in range(3):
        assert (many.clusters[copy] is before[copy]) == (not ended[copy])
    many.step(many.action_masks().argmax(axis=1))


def test_a_pickled_copy_goes_on_in_the_same_way() -> None:
    one = native(3, jobs=20)
    _, infos = one.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        *_, infos = one.step(random_valid(infos["action_mask"], rng))
    other = pickle.loads(pickle.dumps(one))
    for _ in range(60):
        actions = random_valid(infos["action_mask"], rng)
        left, right = one.step(actions), other.step(actions)
        assert_same(left, right)
        infos = left[-1]


def test_a_copy_can_be_set_back() -> None:
    many = native(2, jobs=20, preemption=True)
    _, infos = many.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(15):
        *_, infos = many.step(random_valid(infos["action_mask"], rng))
    saved = many.clone_state(1)
    actions = [random_valid(many.action_masks(), np.random.default_rng(1))]
    first = [many.step(actions[0])]
    for _ in range(10):
        actions.append(random_valid(many.action_masks(), rng))
        first.append(many.step(actions[-1]))
    many.restore_state(1, saved)
    for action, (observations, rewards, _, _, _) in zip(actions, first, strict=True):
        again, paid, *_ = many.step(action)
        assert paid[1] == rewards[1]
        for name, values in again.items():
            assert values[1].tobytes() == observations[name][1].tobytes()


def test_the_experts_play_as_in_single_environments() -> None:
    many = native(3, jobs=15, autoreset_mode="SameStep")
    single = [JobSchedulingEnv(jobs=15) for _ in range(3)]
    many.reset(seed=4)
    for copy, env in enumerate(single):
        env.reset(seed=4 + copy)
    for _ in range(30):
        actions = many.expert_actions()
        assert actions.tolist() == [env.expert_action() for env in single]
        assert many.action_masks()[range(3), actions].all()
        many.step(actions)
        for env, action in zip(single, actions.tolist(), strict=True):
            if env.step(action)[2]:
                env.reset()


def test_frames_of_all_copies() -> None:
    many = native(2, jobs=10, render_mode="rgb_array")
    many.reset(seed=0)
    many.step(many.expert_actions())
    frames = many.render()
    assert frames is not None
    assert len(frames) == 2
    assert all(frame.ndim == 3 and frame.dtype == np.uint8 for frame in frames)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_envs": 0}, "num_envs: found 0"),
        ({"threads": 0}, "threads: found 0"),
        ({"render_mode": "human"}, "render_mode: found 'human'"),
        ({"load": -1.0}, "load"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        VectorJobSchedulingEnv(**{"num_envs": 2, **options}).reset(seed=0)


def test_wrong_seeds_and_masks_are_named() -> None:
    many = native(2, jobs=10)
    with pytest.raises(SettingsError, match="seed: found 3 seeds, expected one for each of 2"):
        many.reset(seed=[1, 2, 3])
    with pytest.raises(SettingsError, match="reset_mask"):
        many.reset(options={"reset_mask": [True, False]})
