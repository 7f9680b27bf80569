"""Saved policies, and what is said of files that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest
from sb3_contrib import MaskablePPO

from mlfs_gym.agents.evaluation import EvaluationSet
from mlfs_gym.agents.load import load_policy
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.agents.task import Task, TaskConfig
from mlfs_gym.agents.train import TrainResult
from mlfs_gym.errors import SettingsError


def test_run_folder_means_its_best_model(trained: TrainResult, task: Task) -> None:
    from_folder, from_file = load_policy(trained.run.path, task), load_policy(trained.run.best_model, task)
    first, second = from_folder.state_dict(), from_file.state_dict()
    assert all((first[name] == second[name]).all() for name in first)


def test_plays_a_larger_cluster(trained: TrainResult) -> None:
    testbed = Task(TaskConfig(env="mlfs_gym/Testbed-v0", jobs=155))
    policy = load_policy(trained.run.path, testbed)
    assert isinstance(policy, SchedulingPolicy)
    rows = EvaluationSet(testbed, "test", [1]).play_policy("policy", policy)
    assert rows["finished"].tolist() == [155.0]


def test_plays_only_with_the_actions_it_knows(trained: TrainResult) -> None:
    with pytest.raises(SettingsError, match="trained with other actions or features"):
        load_policy(trained.run.path, Task(TaskConfig(preemption=True)))


def test_policy_of_somebody_else(task: Task, tmp_path: Path) -> None:
    env = task.make("training")
    MaskablePPO("MultiInputPolicy", env, n_steps=8, batch_size=8, policy_kwargs={"net_arch": [8]}).save(
        tmp_path / "m.zip"
    )
    policy = load_policy(tmp_path / "m.zip", task)
    assert EvaluationSet(task, "test", [1]).play_policy("theirs", policy)["finished"].tolist() == [60.0]
    with pytest.raises(SettingsError, match="only a SchedulingPolicy plays windows of another size"):
        load_policy(tmp_path / "m.zip", Task(TaskConfig(env="mlfs_gym/Testbed-v0")))


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 broken"])
def test_file_that_holds_no_model(task: Task, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(SettingsError, match=r"bad\.zip: found no model"):
        load_policy(tmp_path / "bad.zip", task)


def test_nothing_there(task: Task, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="expected the folder of a run or a model file"):
        load_policy(tmp_path / "nowhere", task)
    with pytest.raises(SettingsError, match=r"found no best_model\.zip"):
        load_policy(tmp_path, task)
