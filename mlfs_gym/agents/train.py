"""The whole pipeline: demonstrations, cloning, PPO, evaluation. Interrupted at any moment, it can be resumed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from stable_baselines3.common.logger import Logger

from mlfs_gym.agents.callback import Best, BetweenRollouts, save_model
from mlfs_gym.agents.checkpoint import last_checkpoint
from mlfs_gym.agents.cloning import Batches, clone, split
from mlfs_gym.agents.config import TrainConfig
from mlfs_gym.agents.demonstrations import Demonstrations, collect_demonstrations
from mlfs_gym.agents.evaluation import EvaluationSet, means
from mlfs_gym.agents.load import load_policy
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.agents.ppo import ImitationPPO
from mlfs_gym.agents.run_folder import RunFolder, write_whole
from mlfs_gym.agents.task import Task, held_out_seeds, training_seeds
from mlfs_gym.agents.tracking import open_logger, record_hyperparameters
from mlfs_gym.agents.validation import Validation
from mlfs_gym.agents.vec_env import MlfsVecEnv
from mlfs_gym.agents.watch import Watch
from mlfs_gym.schedulers.registry import make_scheduler

CLONED, TRAINED = "cloned", "trained"
RECENT = 100  # episodes in the means of rollout/, as Stable-Baselines3 has it


@dataclass(frozen=True)
class TrainResult:
    """What a run came to.

    Attributes:
        run: its folder.
        results: final evaluation, one row per contestant and test seed; see `EvaluationSet`.
        steps: decisions that the learner took, demonstrations included.
    """

    run: RunFolder
    results: pd.DataFrame
    steps: int


def train(config: TrainConfig, folder: Path, watch: Watch | None = None) -> TrainResult:
    """Train a policy in a new run folder.

    Raises:
        SettingsError: the folder is not empty, or a setting is wrong.
        TraceError: the trace cannot be read.
    """
    task = Task(config.task)
    # Wrong settings are found before there is a folder.
    task.make("training")
    for name in config.evaluation.compare_with:
        make_scheduler(name)
    run = RunFolder.create(folder, config)
    return _Training(run, config, task, watch or Watch()).go()


def resume(folder: Path, watch: Watch | None = None) -> TrainResult:
    """Go on with an interrupted run; one that is complete only returns its results.

    The result is the same, to the bit, as if it had not been interrupted.

    Raises:
        SettingsError: there is no run in that folder.
    """
    run = RunFolder.open(folder)
    config = run.read_config()
    if run.is_complete:
        return TrainResult(run, pd.read_csv(run.evaluation), int(pd.read_csv(run.validation)["step"].max()))
    return _Training(run, config, Task(config.task), watch or Watch()).go()


class _Training:
    """One run, from wherever its folder stands to the end."""

    def __init__(self, run: RunFolder, config: TrainConfig, task: Task, watch: Watch) -> None:
        torch.set_num_threads(1)  # several threads make networks of this size slower
        self.run, self.config, self.task, self.watch = run, config, task, watch
        demonstration, cloning, imitation, ppo = np.random.SeedSequence(config.seed).spawn(4)
        self.demonstration_rng = np.random.default_rng(demonstration)
        self.cloning_rng = np.random.default_rng(cloning)
        self.imitation_rng = np.random.default_rng(imitation)
        self.ppo_seed = training_seeds(np.random.default_rng(ppo), 1)[0]
        self.best = Best()

    def go(self) -> TrainResult:
        self.watch.begin(self.run.path)
        logger = open_logger(self.run.path)
        try:
            return self._go(logger)
        finally:
            logger.close()

    def _go(self, logger: Logger) -> TrainResult:
        evaluation = self.config.evaluation
        seeds = held_out_seeds("validation", evaluation.validation_seeds)
        episodes = EvaluationSet(self.task, "validation", seeds)
        demonstrations = self._demonstrations(logger)
        validation = Validation(episodes, evaluation.compare_with, self.run, logger)
        model = self._model_after_cloning(demonstrations, validation, logger)
        self._fine_tune(model, demonstrations, validation, logger)
        results = self._evaluate()
        self._log_outcome(results, model.num_timesteps, logger)
        write_whole(self.run.evaluation, results.to_csv(index=False).encode())  # last: now the run is complete
        return TrainResult(self.run, results, model.num_timesteps)

    # --- the stages ------------------------------------------------------------------------------------
    def _demonstrations(self, logger: Logger) -> Demonstrations:
        """What the expert did, from the folder if it is there."""
        seeds = training_seeds(self.demonstration_rng, self.config.cloning.episodes)
        if self.run.demonstrations.is_file():
            return Demonstrations.load(self.run.demonstrations)
        self.watch.stage("Demonstrations of MLF-H", len(seeds))
        returns: list[float] = []
        lengths: list[int] = []

        def on_episode(number: int, episode_return: float, length: int) -> None:
            returns.append(episode_return)
            lengths.append(length)
            logger.record("rollout/ep_rew_mean", float(np.mean(returns[-RECENT:])))
            logger.record("rollout/ep_len_mean", float(np.mean(lengths[-RECENT:])))
            logger.dump(sum(lengths))
            self.watch.progress(number)

        found = collect_demonstrations(self.task, seeds, on_episode)
        found.save(self.run.demonstrations)
        return found

    def _model_after_cloning(
        self, demonstrations: Demonstrations, validation: Validation, logger: Logger
    ) -> ImitationPPO:
        """The model of the last checkpoint, or a new one that has learned from the demonstrations."""
        checkpoint = last_checkpoint(self.run.checkpoints)
        if checkpoint is not None:
            model = checkpoint.restore(self.imitation_rng, self.config.device)
            self.best = Best(**checkpoint.notes)
            validation.go_on_from(model.num_timesteps)
            self.watch.say(f"Going on after {model.num_timesteps - model.first_step:,} steps of PPO.")
            return model
        model = self._new_model(first_step=len(demonstrations))
        self._clone(model, demonstrations, validation, logger)
        save_model(model, self.run.cloned_model)
        return model

    def _clone(
        self, model: ImitationPPO, demonstrations: Demonstrations, validation: Validation, logger: Logger
    ) -> None:
        epochs = self.config.cloning.epochs
        self.watch.stage("Cloning", epochs)
        untrained = validation.judge(model.policy, 0, "untrained")
        expert = validation.baselines[validation.reference]["return"]
        self.watch.progress(0, f"untrained {untrained - expert:+.3f} against {validation.reference}")
        reports = clone(
            model.policy, demonstrations, self._returns(demonstrations), self.config.cloning, self.cloning_rng
        )
        for epoch, report in enumerate(reports, 1):
            # The horizontal axis counts decisions that were seen: those of the expert first.
            step = len(demonstrations) * epoch // epochs
            logger.record("train/cloning_loss", report.loss)
            logger.record("train/cloning_accuracy", report.accuracy)
            logger.record("train/cloning_held_out_loss", report.held_out_loss)
            logger.record("train/cloning_held_out_accuracy", report.held_out_accuracy)
            logger.record("train/value_loss", report.value_loss)
            logger.record("train/explained_variance", report.explained_variance)
            logger.record("train/learning_rate", report.learning_rate)
            mean_return = validation.judge(model.policy, step, "cloning")
            self.watch.progress(epoch, f"return {mean_return:+.3f}, {mean_return - expert:+.3f} against MLF-H")
        self.best.consider(mean_return, step, model, self.run)

    def _fine_tune(
        self, model: ImitationPPO, demonstrations: Demonstrations, validation: Validation, logger: Logger
    ) -> None:
        self.watch.stage("PPO", model.last_step - model.first_step)
        training, _ = split(demonstrations)
        returns = self._returns(demonstrations)
        batch_size = self.config.cloning.batch_size
        model.use_demonstrations(
            Batches(demonstrations, returns, training, batch_size, self.imitation_rng, model.policy.device)
        )
        model.set_logger(logger)
        remaining = model.last_step - model.num_timesteps
        if remaining > 0:
            callback = BetweenRollouts(self.config, self.run, validation, self.best, self.imitation_rng, self.watch)
            model.learn(remaining, callback, reset_num_timesteps=False)
        save_model(model, self.run.last_model)

    def _evaluate(self) -> pd.DataFrame:
        """Schedulers, the cloned and the best policy on test seeds."""
        evaluation = self.config.evaluation
        episodes = EvaluationSet(self.task, "test", held_out_seeds("test", evaluation.test_seeds))
        contestants = [*evaluation.compare_with, CLONED, TRAINED]
        self.watch.stage("Evaluation", len(contestants) * evaluation.test_seeds)
        found: list[pd.DataFrame] = []

        def on_episode(name: str, number: int) -> None:
            self.watch.progress(len(found) * evaluation.test_seeds + number, name)

        for name in evaluation.compare_with:
            found.append(episodes.play_scheduler(name, make_scheduler(name), on_episode))
        for name, path in ((CLONED, self.run.cloned_model), (TRAINED, self.run.best_model)):
            found.append(episodes.play_policy(name, load_policy(path, self.task), on_episode=on_episode))
        return pd.concat(found, ignore_index=True)

    def _log_outcome(self, results: pd.DataFrame, step: int, logger: Logger) -> None:
        by_name = {name: means(rows) for name, rows in results.groupby("name", sort=False)}
        reference = self.config.evaluation.compare_with[0]
        outcome = {
            "test/return": by_name[TRAINED]["return"],
            f"test/return_minus_{reference}": by_name[TRAINED]["return"] - by_name[reference]["return"],
        }
        for name, value in outcome.items():
            logger.record(name, value)
        record_hyperparameters(logger, self.config, outcome)
        logger.dump(step)

    # --- parts -----------------------------------------------------------------------------------------
    def _new_model(self, first_step: int) -> ImitationPPO:
        ppo = self.config.ppo
        envs = MlfsVecEnv(self.task.make_vector("training", ppo.num_envs), ppo.reward_scale)
        return ImitationPPO(
            SchedulingPolicy,
            envs,
            config=self.config.ppo,
            first_step=first_step,
            policy_kwargs={"hidden": self.config.hidden},
            seed=self.ppo_seed,
            device=self.config.device,
        )

    def _returns(self, demonstrations: Demonstrations) -> np.ndarray:
        """What the critic learns from the demonstrations."""
        return demonstrations.returns(self.config.ppo.gamma) * self.config.ppo.reward_scale
