"""MaskablePPO that does not forget what cloning taught it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import explained_variance
from torch.nn import functional

from mlfs_gym.agents.cloning import Batches, imitation_loss
from mlfs_gym.agents.config import PPOConfig
from mlfs_gym.agents.policy import SchedulingPolicy

LAST_LEARNING_RATE = 0.1  # share of the first one


class ImitationPPO(MaskablePPO):
    """MaskablePPO (Schulman et al. 2017; Huang and Ontanon 2022 for the masks) from a cloned policy.

    Three things keep the policy from collapsing at the beginning: the critic was fitted on the expert's returns and
    then learns alone for a while on the policy's own (`value_warm_up`); a cross-entropy term on the expert's
    demonstrations fades out (`imitation`); actor and critic share no weight and are clipped each for itself, so that
    large value errors do not drown the policy's gradient. `MaskablePPO.load` reads what `save` writes.

    Args:
        policy: `SchedulingPolicy`.
        env: vector environment.
        config: hyperparameters.
        first_step: steps that went before, of demonstrations; the schedules begin there.
        **kwargs: of `MaskablePPO`.
    """

    policy: SchedulingPolicy
    demonstrations: Batches | None = None
    # So that `MaskablePPO.load` finds a class it knows.
    policy_aliases: ClassVar[dict[str, Any]] = {**MaskablePPO.policy_aliases, "SchedulingPolicy": SchedulingPolicy}

    def __init__(
        self,
        policy: Any,
        env: Any,
        config: PPOConfig | None = None,
        first_step: int = 0,
        **kwargs: Any,
    ) -> None:
        if config is None:  # when a saved model is loaded
            super().__init__(policy, env, **kwargs)
            return
        super().__init__(
            policy,
            env,
            learning_rate=config.learning_rate,
            n_steps=config.steps_per_env,
            batch_size=config.batch_size,
            n_epochs=config.epochs,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.entropy,
            target_kl=config.target_kl,
            max_grad_norm=config.max_gradient_norm,
            **kwargs,
        )
        self.config = config
        self.first_step = first_step
        self.num_timesteps = first_step

    @property
    def last_step(self) -> int:
        """Steps at the end of the training, in whole rollouts."""
        rollout = self.config.num_envs * self.config.steps_per_env
        return self.first_step + -(-self.config.steps // rollout) * rollout

    def use_demonstrations(self, demonstrations: Batches) -> None:
        """Where the imitation term draws from."""
        self.demonstrations = demonstrations

    def imitation_weight(self) -> float:
        """Weight of the imitation term now: falls linearly to 0 over `imitation_steps`."""
        if self.config.imitation_steps == 0:
            return 0.0
        return self.config.imitation * max(0.0, 1.0 - self._steps_done() / self.config.imitation_steps)

    def train(self) -> None:
        """Update the networks with the collected rollout."""
        self.policy.set_training_mode(True)
        self._set_learning_rate()
        critic_only = self._steps_done() <= self.config.value_warm_up
        imitation = 0.0 if critic_only or self.demonstrations is None else self.imitation_weight()
        sums: dict[str, list[float]] = {}
        for _ in range(self.n_epochs):
            for rollout in self.rollout_buffer.get(self.batch_size):
                losses = self._update(rollout, critic_only, imitation)
                for name, value in losses.items():
                    sums.setdefault(name, []).append(value)
                if losses["approx_kl"] > 1.5 * (self.target_kl or np.inf):
                    break
            else:
                self._n_updates += 1
                continue
            break
        self._log(sums, imitation)

    def _update(self, rollout: Any, critic_only: bool, imitation: float) -> dict[str, float]:
        """One gradient step. Returns the losses by name."""
        values, log_prob, entropy = self.policy.evaluate_actions(
            rollout.observations, rollout.actions.long().flatten(), action_masks=rollout.action_masks
        )
        value_loss = functional.mse_loss(values.flatten(), rollout.returns)
        policy_loss, clipped = self._clipped_surrogate(log_prob, rollout)
        with torch.no_grad():
            log_ratio = log_prob - rollout.old_log_prob
            approx_kl = float((log_ratio.expm1() - log_ratio).mean())
        losses = {
            "policy_gradient_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy_loss": -entropy.mean().item() if entropy is not None else 0.0,
            "approx_kl": approx_kl,
            "clip_fraction": clipped,
        }
        loss = self.vf_coef * value_loss
        if not critic_only:
            if self.target_kl is not None and approx_kl > 1.5 * self.target_kl:
                return losses  # too far from the policy that collected the rollout: no further step
            loss = loss + policy_loss
            if entropy is not None:
                loss = loss - self.ent_coef * entropy.mean()
            if imitation > 0.0 and self.demonstrations is not None:
                towards_expert = imitation_loss(self.policy, self.demonstrations.draw())
                losses["imitation_loss"] = towards_expert.item()
                loss = loss + imitation * towards_expert
        losses["loss"] = loss.item()
        self.policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.policy.actor_parameters(), self.max_grad_norm)
        torch.nn.utils.clip_grad_norm_(self.policy.critic_parameters(), self.max_grad_norm)
        self.policy.optimizer.step()
        return losses

    def _clipped_surrogate(self, log_prob: torch.Tensor, rollout: Any) -> tuple[torch.Tensor, float]:
        """PPO's policy loss, and the share of ratios that were clipped."""
        clip = self.config.clip_range
        advantages = (rollout.advantages - rollout.advantages.mean()) / (rollout.advantages.std() + 1e-8)
        ratio = (log_prob - rollout.old_log_prob).exp()
        surrogate = torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))
        return -surrogate.mean(), float(((ratio - 1).abs() > clip).float().mean())

    def _log(self, sums: dict[str, list[float]], imitation: float) -> None:
        for name, values in sums.items():
            self.logger.record(f"train/{name}", float(np.mean(values)))
        explained = explained_variance(self.rollout_buffer.values.flatten(), self.rollout_buffer.returns.flatten())
        self.logger.record("train/explained_variance", explained)
        self.logger.record("train/imitation_weight", imitation)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        # Now: kept for the next dump, a rollout's losses would stand at the step of the next one, beside its own.
        self.logger.dump(self.num_timesteps)

    def _steps_done(self) -> int:
        """Of fine-tuning alone."""
        return int(self.num_timesteps - self.first_step)

    def _set_learning_rate(self) -> None:
        """Falls linearly. By the run's own steps, so that a resumed run goes on where it was."""
        done = min(1.0, self._steps_done() / max(1, self.last_step - self.first_step))
        rate = self.config.learning_rate * (1.0 - (1.0 - LAST_LEARNING_RATE) * done)
        self.logger.record("train/learning_rate", rate)
        for group in self.policy.optimizer.param_groups:
            group["lr"] = rate

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "demonstrations"]
