"""Cloning learns what the expert did."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from mlfs_gym.agents.cloning import Batches, clone, imitation_loss, split
from mlfs_gym.agents.config import CloningConfig
from mlfs_gym.agents.demonstrations import Demonstrations, collect_demonstrations
from mlfs_gym.agents.evaluation import EvaluationSet
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.agents.task import Task, held_out_seeds

CONFIG = CloningConfig(epochs=8, batch_size=64, learning_rate=2e-3)


@pytest.fixture(scope="module")
def demonstrations(task: Task) -> Demonstrations:
    return collect_demonstrations(task, list(range(40)))


def new_policy(task: Task) -> SchedulingPolicy:
    torch.manual_seed(0)
    env = task.make("training")
    return SchedulingPolicy(env.observation_space, env.action_space, lambda _: 1e-3, hidden=32)


def test_split_keeps_episodes_together(demonstrations: Demonstrations) -> None:
    training, held_out = split(demonstrations)
    assert len(training) + len(held_out) == len(demonstrations)
    assert {*demonstrations.episodes[held_out]} == {36, 37, 38, 39}
    assert not {*demonstrations.episodes[training]} & {*demonstrations.episodes[held_out]}


def test_an_epoch_has_each_decision_at_most_once(demonstrations: Demonstrations) -> None:
    # The return tells which decision it is.
    numbered = np.arange(len(demonstrations), dtype=float)
    which = np.arange(1000)
    batches = Batches(demonstrations, numbered, which, 64, np.random.default_rng(0), torch.device("cpu"))
    seen = np.concatenate([batch.returns.numpy() for batch in batches.epoch()]).astype(int)
    assert len(seen) == len({*seen}) == len(batches) * 64 == 960
    assert {*seen} <= {*which}


def test_policy_and_critic_learn_and_generalise(task: Task, demonstrations: Demonstrations) -> None:
    policy = new_policy(task)
    returns = demonstrations.returns(0.995) * 50.0
    reports = list(clone(policy, demonstrations, returns, CONFIG, np.random.default_rng(0)))
    training, held_out = split(demonstrations)
    chance = float((1.0 / demonstrations.masks[held_out].sum(axis=1)).mean())
    assert reports[-1].held_out_accuracy > chance + 0.2
    assert reports[-1].held_out_loss < reports[0].held_out_loss
    assert reports[-1].explained_variance > 0.3
    assert reports[-1].learning_rate == pytest.approx(0.1 * CONFIG.learning_rate)
    assert len(training) > 0

    # In closed loop it is better than before, on seeds that nobody has learned from.
    episodes = EvaluationSet(task, "validation", held_out_seeds("validation", 8))
    after = episodes.play_policy("after", policy)["return"].to_numpy()
    before = episodes.play_policy("before", new_policy(task))["return"].to_numpy()
    gain = after - before
    assert gain.mean() > 0.03
    assert stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue < 0.01


def test_same_seed_same_weights(task: Task, demonstrations: Demonstrations) -> None:
    config = CloningConfig(epochs=1, batch_size=256)
    policies = [new_policy(task) for _ in range(2)]
    returns = demonstrations.returns(1.0)
    for policy in policies:
        list(clone(policy, demonstrations, returns, config, np.random.default_rng(7)))
    first, second = (policy.state_dict() for policy in policies)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_imitation_loss_counts_valid_actions_only(task: Task, demonstrations: Demonstrations) -> None:
    policy = new_policy(task)
    for head in (policy.mlp_extractor.scorer.place.score[-1], policy.mlp_extractor.scorer.move.score[-1]):
        torch.nn.init.zeros_(head.weight)
        torch.nn.init.zeros_(head.bias)
    torch.nn.init.zeros_(policy.mlp_extractor.scorer.end.weight)
    torch.nn.init.zeros_(policy.mlp_extractor.scorer.end.bias)
    which = np.arange(200)
    batches = Batches(
        demonstrations, np.zeros(len(demonstrations)), which, 200, np.random.default_rng(0), policy.device
    )
    # Equal logits: the loss is the mean log of the number of valid actions.
    expected = float(np.log(demonstrations.masks[which].sum(axis=1)).mean())
    assert float(imitation_loss(policy, batches.take(which)).detach()) == pytest.approx(expected, rel=1e-5)
