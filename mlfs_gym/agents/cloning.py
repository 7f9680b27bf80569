"""Behaviour cloning: the policy learns to do what the expert did, the critic what the expert got for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from torch.nn import functional

from mlfs_gym.agents.config import CloningConfig
from mlfs_gym.agents.demonstrations import Demonstrations
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.cluster.arrays import Array

HELD_OUT_SHARE = 0.1  # of the episodes, to see whether cloning generalises
VALUE_WEIGHT = 0.5
MAX_GRADIENT_NORM = 0.5


@dataclass(frozen=True)
class Batch:
    """Decisions of the expert as tensors.

    Attributes:
        observations: parts of shape (B, ...).
        masks: shape (B, A).
        actions: shape (B,).
        returns: shape (B,), scaled, discounted.
    """

    observations: dict[str, torch.Tensor]
    masks: torch.Tensor
    actions: torch.Tensor
    returns: torch.Tensor


class Batches:
    """Demonstrations cut into random batches.

    Args:
        demonstrations: of the expert.
        returns: shape (N,), what the critic learns.
        which: shape (n,), indices of the decisions to draw from.
        batch_size: decisions per batch.
        rng: draws the order.
        device: of the tensors.
    """

    def __init__(
        self,
        demonstrations: Demonstrations,
        returns: Array,
        which: Array,
        batch_size: int,
        rng: np.random.Generator,
        device: torch.device,
    ) -> None:
        self._all = demonstrations
        self._returns = returns
        self._which = which
        self._batch_size = batch_size
        self._rng = rng
        self._device = device

    def __len__(self) -> int:
        return max(1, len(self._which) // self._batch_size)

    def epoch(self) -> Iterator[Batch]:
        """Each decision once, in random order; what does not fill a batch is left for the next epoch."""
        order = self._rng.permutation(self._which)
        for number in range(len(self)):
            yield self.take(order[number * self._batch_size : (number + 1) * self._batch_size])

    def draw(self) -> Batch:
        """One random batch."""
        return self.take(self._rng.choice(self._which, min(self._batch_size, len(self._which)), replace=False))

    def take(self, which: Array) -> Batch:
        """The decisions with these indices."""

        def tensor(values: Array, kind: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(values[which], dtype=kind, device=self._device)

        return Batch(
            {name: tensor(values, torch.float32) for name, values in self._all.observations.items()},
            tensor(self._all.masks, torch.bool),
            tensor(self._all.actions, torch.int64),
            tensor(self._returns, torch.float32),
        )


@dataclass(frozen=True)
class CloningReport:
    """What one epoch of cloning came to.

    Attributes:
        loss: cross-entropy on the training episodes.
        accuracy: share of decisions in which the likeliest action is the expert's.
        held_out_loss: the same on episodes that are not trained on.
        held_out_accuracy: likewise.
        value_loss: mean squared error of the critic.
        explained_variance: of the expert's returns by the critic, on held-out episodes.
        learning_rate: at the end.
    """

    loss: float
    accuracy: float
    held_out_loss: float
    held_out_accuracy: float
    value_loss: float
    explained_variance: float
    learning_rate: float


def split(demonstrations: Demonstrations) -> tuple[Array, Array]:
    """Indices of the decisions to train on, and of those of held-out episodes (the last ones)."""
    episodes = int(demonstrations.episodes[-1]) + 1
    first_held_out = episodes - max(1, int(HELD_OUT_SHARE * episodes))
    held_out = demonstrations.episodes >= first_held_out
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def clone(
    policy: SchedulingPolicy,
    demonstrations: Demonstrations,
    returns: Array,
    config: CloningConfig,
    rng: np.random.Generator,
) -> Iterator[CloningReport]:
    """Train a policy on demonstrations, one epoch per item.

    Args:
        policy: changed in place.
        demonstrations: of the expert.
        returns: shape (N,), for the critic, in the units of the learner.
        config: how.
        rng: draws the batches.
    """
    training, held_out = split(demonstrations)
    batches = Batches(demonstrations, returns, training, config.batch_size, rng, policy.device)
    judged = Batches(demonstrations, returns, held_out, config.batch_size, rng, policy.device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5)
    total = config.epochs * len(batches)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _cosine_to_a_tenth(step / total))
    for _ in range(config.epochs):
        policy.set_training_mode(True)
        losses = []
        for batch in batches.epoch():
            cross_entropy, right, value_loss = _judge(policy, batch)
            optimizer.zero_grad()
            loss = cross_entropy + VALUE_WEIGHT * value_loss
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(policy.actor_parameters(), MAX_GRADIENT_NORM)
            torch.nn.utils.clip_grad_norm_(policy.critic_parameters(), MAX_GRADIENT_NORM)
            optimizer.step()
            schedule.step()
            losses.append((cross_entropy.item(), right.item(), value_loss.item()))
        policy.set_training_mode(False)
        mean_loss, accuracy, mean_value_loss = np.mean(losses, axis=0).tolist()
        held_out_loss, held_out_accuracy, explained = _judge_all(policy, judged.take(held_out))
        yield CloningReport(
            mean_loss,
            accuracy,
            held_out_loss,
            held_out_accuracy,
            mean_value_loss,
            explained,
            float(schedule.get_last_lr()[0]),
        )


def imitation_loss(policy: SchedulingPolicy, batch: Batch) -> torch.Tensor:
    """Cross-entropy between the masked policy and the expert's decisions."""
    return -_distribution(policy, batch).log_prob(batch.actions).mean()


def _distribution(policy: SchedulingPolicy, batch: Batch) -> MaskableDistribution:
    # Masks may be tensors, whatever the annotation says.
    return policy.get_distribution(batch.observations, batch.masks)  # type: ignore[arg-type]


def _judge(policy: SchedulingPolicy, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Cross-entropy, accuracy and squared error of the values."""
    distribution = _distribution(policy, batch)
    cross_entropy = -distribution.log_prob(batch.actions).mean()
    right = (distribution.get_actions(deterministic=True) == batch.actions).float().mean()
    value_loss = functional.mse_loss(policy.predict_values(batch.observations).flatten(), batch.returns)
    return cross_entropy, right, value_loss


@torch.no_grad()
def _judge_all(policy: SchedulingPolicy, batch: Batch) -> tuple[float, float, float]:
    cross_entropy, right, value_loss = _judge(policy, batch)
    variance = float(batch.returns.var(correction=0))
    explained = 1.0 - value_loss.item() / variance if variance > 0.0 else float("nan")
    return cross_entropy.item(), right.item(), explained


def _cosine_to_a_tenth(done: float) -> float:
    return 0.1 + 0.9 * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))
