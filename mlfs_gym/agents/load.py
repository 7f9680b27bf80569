"""Trained policies from files."""

from __future__ import annotations

import zipfile
from pathlib import Path

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.agents.run_folder import RunFolder
from mlfs_gym.agents.task import Task
from mlfs_gym.errors import SettingsError


def load_policy(path: Path, task: Task) -> MaskableActorCriticPolicy:
    """A policy for a task, from the folder of a run (its best model) or from a file that `MaskablePPO.save` wrote.

    A `SchedulingPolicy` plays windows and clusters of other sizes than it was trained on.

    Raises:
        SettingsError: there is no such policy, or it cannot play this task.
    """
    file = _file_of(path)
    try:
        policy = MaskablePPO.load(file, device="cpu").policy
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError) as error:
        raise SettingsError(f"policy {file}: found no model of MaskablePPO ({error})") from None
    env = task.make("test")
    if policy.observation_space == env.observation_space and policy.action_space == env.action_space:
        return policy
    if not isinstance(policy, SchedulingPolicy):
        raise SettingsError(
            f"policy {file}: found spaces {policy.observation_space.shape} and {policy.action_space}, "
            f"expected those of the environment; only a SchedulingPolicy plays windows of another size"
        )
    fitted = SchedulingPolicy(env.observation_space, env.action_space, lambda _: 0.0, hidden=policy.hidden)
    try:
        fitted.load_state_dict(policy.state_dict())
    except RuntimeError:
        raise SettingsError(
            f"policy {file}: found a policy that was trained with other actions or features, expected one of "
            f"this environment; is preemption={task.config.preemption} right?"
        ) from None
    return fitted


def _file_of(path: Path) -> Path:
    if path.is_file():
        return path
    if path.is_dir():
        run = RunFolder(path)
        for model in (run.best_model, run.cloned_model):
            if model.is_file():
                return model
        raise SettingsError(f"policy {path}: found no best_model.zip, expected the folder of a training run")
    raise SettingsError(f"policy: found no {path}, expected the folder of a run or a model file (.zip)")
