"""What happens between two rollouts of PPO: progress, validation, the best model, checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from mlfs_gym.agents.checkpoint import Checkpoint
from mlfs_gym.agents.config import TrainConfig
from mlfs_gym.agents.ppo import ImitationPPO
from mlfs_gym.agents.run_folder import RunFolder
from mlfs_gym.agents.validation import Validation
from mlfs_gym.agents.watch import Watch


@dataclass
class Best:
    """The best validation so far.

    Attributes:
        mean_return: over the validation seeds.
        step: when.
    """

    mean_return: float = -math.inf
    step: int = 0

    def consider(self, mean_return: float, step: int, model: ImitationPPO, run: RunFolder) -> bool:
        """Keep the model if it is better than all before. True if so."""
        if mean_return <= self.mean_return:
            return False
        self.mean_return, self.step = mean_return, step
        save_model(model, run.best_model)
        return True


class BetweenRollouts(BaseCallback):
    """Validates, keeps the best model and writes checkpoints, each at its own interval.

    Everything is done at the beginning of a rollout, when the networks have been updated with the one before: there
    a checkpoint holds a whole number of iterations.
    """

    def __init__(
        self,
        config: TrainConfig,
        run: RunFolder,
        validation: Validation,
        best: Best,
        imitation_rng: np.random.Generator,
        watch: Watch,
    ) -> None:
        super().__init__()
        self._config = config
        self._run = run
        self._validation = validation
        self._best = best
        self._imitation_rng = imitation_rng
        self._watch = watch
        self._note = ""
        self._begin = -1

    def _on_rollout_start(self) -> None:
        self._between(last=False)

    def _on_training_end(self) -> None:
        self._between(last=True)

    def _on_step(self) -> bool:
        return True

    def _between(self, last: bool) -> None:
        model = cast(ImitationPPO, self.model)
        step = model.num_timesteps
        done = step - model.first_step
        if self._begin == -1:
            self._begin = step  # of this process: what a checkpoint or cloning has left needs no new look
        elif self._is_due(done, self._config.evaluation.every) or last:
            mean_return = self._validation.judge(model.policy, step, "ppo")
            self._best.consider(mean_return, step, model, self._run)
            reference = self._validation.reference
            difference = mean_return - self._validation.baselines[reference]["return"]
            self._note = f"return {mean_return:+.3f}, {difference:+.3f} against {reference}"
        if step > self._begin and (self._is_due(done, self._config.checkpoint_every) or last):
            Checkpoint.of(model, self._imitation_rng, vars(self._best)).write(self._run.checkpoints, step)
        self._watch.progress(done, self._note)

    def _is_due(self, done: int, every: int) -> bool:
        """True if a multiple of `every` lies in the rollout that has just ended."""
        rollout = self._config.ppo.num_envs * self._config.ppo.steps_per_env
        return done // every > (done - rollout) // every


def save_model(model: ImitationPPO, path: Any) -> None:
    """Write a model completely or not at all."""
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as file:
        model.save(file)
    partial.replace(path)
