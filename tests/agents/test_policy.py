"""The network: order of rows, number of rows, masks, what actor and critic see, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.envs.features import as_rows
from mlfs_gym.envs.layout import Layout

LOADED = {"load": 3.0, "jobs": 120, "end_round": "when_blocked"}


def make(**options: Any) -> gym.Env:
    return gym.make("mlfs_gym/JobScheduling-v0", **{**LOADED, **options})


def policy_for(env: gym.Env, hidden: int = 16) -> SchedulingPolicy:
    torch.manual_seed(0)
    return SchedulingPolicy(env.observation_space, env.action_space, lambda _: 1e-3, hidden=hidden)


def crowded(env: gym.Env, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Observation and mask of the first moment with several jobs in the window and several choices."""
    observation, info = env.reset(seed=seed)
    while as_rows(observation)["jobs"][:, 0].sum() < 6 or info["action_mask"].sum() < 6:
        observation, _, terminated, truncated, info = env.step(env.unwrapped.expert_action())
        assert not (terminated or truncated)
    return observation, info["action_mask"].astype(bool)


def tensors(observation: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: torch.as_tensor(values).unsqueeze(0) for name, values in observation.items()}


def logits_and_value(policy: SchedulingPolicy, observation: dict[str, Any]) -> tuple[np.ndarray, float]:
    with torch.no_grad():
        distribution = policy.get_distribution(tensors(observation))
        value = policy.predict_values(tensors(observation))
    return distribution.distribution.logits[0].numpy(), float(value)


@pytest.mark.parametrize("preemption", [False, True])
def test_indifferent_to_the_order_of_slots_and_candidates(preemption: bool) -> None:
    env = make(preemption=preemption)
    policy = policy_for(env)
    observation, _ = crowded(env)
    layout: Layout = env.unwrapped.layout
    rng = np.random.default_rng(1)
    slots, candidates = rng.permutation(layout.slots), rng.permutation(layout.candidates)
    shuffled = dict(observation)
    rows = as_rows(observation)
    shuffled["jobs"] = rows["jobs"][slots].ravel()
    shuffled["pairs"] = rows["pairs"][slots][:, candidates].ravel()
    logits, value = logits_and_value(policy, observation)
    shuffled_logits, shuffled_value = logits_and_value(policy, shuffled)
    shape = (layout.slots, layout.candidates)
    place = logits[: layout.first_move].reshape(shape)[slots][:, candidates]
    assert np.allclose(shuffled_logits[: layout.first_move].reshape(shape), place, atol=1e-5)
    assert np.allclose(shuffled_logits[layout.first_move :], logits[layout.first_move :], atol=1e-5)
    assert shuffled_value == pytest.approx(value, abs=1e-5)
    assert np.ptp(place[rows["jobs"][slots][:, 0] == 1]) > 1e-4  # else the test could not fail


def test_same_weights_play_a_window_and_a_cluster_of_another_size() -> None:
    small = make()
    large = make(cluster={"servers": 9, "gpus_per_server": 8}, window={"slots": 24, "candidates": 7, "moves": 2})
    one, other = policy_for(small), policy_for(large)
    other.load_state_dict(one.state_dict())
    observation, mask = crowded(large)
    action, _ = other.predict(observation, deterministic=True, action_masks=mask)
    assert mask[int(action)]
    assert logits_and_value(other, observation)[0].shape == (large.action_space.n,)


def test_masked_actions_are_never_chosen() -> None:
    env = make()
    policy = policy_for(env)
    observation, mask = crowded(env)
    batch = {name: np.repeat(values[None], 512, axis=0) for name, values in observation.items()}
    actions, _ = policy.predict(batch, action_masks=np.repeat(mask[None], 512, axis=0))
    assert mask[actions].all()
    assert len(np.unique(actions)) > 1


def test_actor_does_not_see_progress_and_critic_does() -> None:
    env = make()
    policy = policy_for(env)
    observation, _ = crowded(env)
    later = {**observation, "progress": observation["progress"] + 0.3}
    logits, value = logits_and_value(policy, observation)
    later_logits, later_value = logits_and_value(policy, later)
    assert np.array_equal(logits, later_logits)
    assert value != later_value


def test_actor_and_critic_share_nothing_and_leave_nothing_out() -> None:
    policy = policy_for(make(preemption=True))
    actor = {id(parameter) for parameter in policy.actor_parameters()}
    critic = {id(parameter) for parameter in policy.critic_parameters()}
    assert not actor & critic
    assert actor | critic == {id(parameter) for parameter in policy.parameters()}


def test_stable_baselines_saves_and_loads_it(tmp_path: Path) -> None:
    env = make()
    model = MaskablePPO(SchedulingPolicy, env, n_steps=16, batch_size=16, policy_kwargs={"hidden": 16}, seed=0)
    model.learn(32)
    model.save(tmp_path / "model.zip")
    loaded = MaskablePPO.load(tmp_path / "model.zip")
    observation, mask = crowded(env)
    assert loaded.policy.hidden == 16
    for deterministic_model in (model, loaded):
        deterministic_model.policy.set_training_mode(False)
    first, second = (logits_and_value(m.policy, observation) for m in (model, loaded))
    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]
    assert mask[int(loaded.predict(observation, action_masks=mask)[0])]
