"""Curves: each value once, also after a run was killed and went on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from stable_baselines3.common.logger import Logger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mlfs_gym.agents.ppo import ImitationPPO
from mlfs_gym.agents.run_folder import RunFolder
from mlfs_gym.agents.tracking import open_logger


def log(logger: Logger, tag: str, steps: range) -> None:
    for step in steps:
        logger.record(tag, float(step))
        logger.dump(step)


def steps_of(folder: Path, tag: str) -> list[int]:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [event.step for event in events.Scalars(tag)]


def test_a_resumed_run_logs_nothing_twice(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.checkpoints.mkdir()
    run.demonstrations.touch()
    logger = open_logger(tmp_path)
    log(logger, "rollout/ep_rew_mean", range(100, 1000, 100))
    logger.close()
    (run.checkpoints / "step_000000000300.pkl").touch()
    (run.checkpoints / "step_000000000500.pkl").touch()  # the last, before it was killed at 900
    logger = open_logger(tmp_path)
    log(logger, "rollout/ep_rew_mean", range(600, 1200, 100))
    logger.close()
    assert steps_of(tmp_path, "rollout/ep_rew_mean") == list(range(100, 1200, 100))


def test_killed_among_its_demonstrations_it_begins_again(tmp_path: Path) -> None:
    RunFolder(tmp_path).checkpoints.mkdir()
    for last in (500, 900):
        logger = open_logger(tmp_path)
        log(logger, "rollout/ep_rew_mean", range(100, last, 100))
        logger.close()
    assert steps_of(tmp_path, "rollout/ep_rew_mean") == list(range(100, 900, 100))


def test_losses_stand_at_the_step_of_their_rollout(tmp_path: Path) -> None:
    """Left for the next dump, they would stand at the step of the rollout after, beside that one's own."""
    logger = open_logger(tmp_path)
    buffer = SimpleNamespace(values=np.zeros(2), returns=np.ones(2))
    for step in (512, 1024):
        logger.record("rollout/ep_rew_mean", 1.0)
        logger.dump(step)
        model = SimpleNamespace(logger=logger, rollout_buffer=buffer, num_timesteps=step, _n_updates=1)
        ImitationPPO._log(model, {"value_loss": [0.5]}, 0.1)  # type: ignore[arg-type]
        logger.record("eval/return", 1.0)
        logger.dump(step)
    logger.close()
    for tag in ("train/value_loss", "train/imitation_weight", "rollout/ep_rew_mean", "eval/return"):
        assert steps_of(tmp_path, tag) == [512, 1024], tag
