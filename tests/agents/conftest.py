"""A small trained run that several tests look at, and a task to learn in."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mlfs_gym.agents.config import TrainConfig, train_config
from mlfs_gym.agents.task import Task, TaskConfig
from mlfs_gym.agents.train import TrainResult, train


def small_config(**changes: object) -> TrainConfig:
    """A run of some seconds."""
    return train_config(
        "quick",
        **{
            "seed": 3,
            "task": {"jobs": 60},
            "cloning": {"episodes": 8, "epochs": 2},
            "ppo": {"steps": 3072, "num_envs": 4, "steps_per_env": 128, "batch_size": 128, "value_warm_up": 512},
            "evaluation": {"validation_seeds": 2, "every": 1024, "test_seeds": 3},
            "checkpoint_every": 512,
            "hidden": 16,
            **changes,
        },
    )


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def task() -> Task:
    return Task(TaskConfig(jobs=60))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainResult:
    folder: Path = tmp_path_factory.mktemp("runs") / "small"
    return train(small_config(), folder)
