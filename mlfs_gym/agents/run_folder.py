"""A run is a folder: what was asked for, with what, and what came of it."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mlfs_gym.agents.config import TrainConfig
from mlfs_gym.agents.run_lock import RunLock
from mlfs_gym.errors import SettingsError

_PACKAGES = ("mlfs-gym", "gymnasium", "numba", "numpy", "pandas", "sb3-contrib", "stable-baselines3", "torch")


class RunFolder:
    """Names of the files of a run. TensorBoard's event files lie beside them.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: RunLock | None = None
        self.config = path / "config.json"
        self.command = path / "command.txt"
        self.versions = path / "versions.json"
        self.demonstrations = path / "demonstrations.npz"
        self.cloned_model = path / "cloned_model.zip"
        self.best_model = path / "best_model.zip"
        self.last_model = path / "last_model.zip"
        self.validation = path / "validation.csv"
        self.evaluation = path / "evaluation.csv"
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, path: Path, config: TrainConfig) -> RunFolder:
        """Begin a run. No other process can train in the folder as long as this object lives.

        Raises:
            SettingsError: the folder holds something.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise SettingsError(f"run folder: found {path}, which is not empty; resume that run or choose another name")
        run = cls(path)
        run.checkpoints.mkdir(parents=True)
        run._lock = RunLock.of(path)
        run.command.write_text(shlex.join(sys.argv) + "\n", encoding="utf-8")
        run.versions.write_text(json.dumps(_versions(), indent=2) + "\n", encoding="utf-8")
        write_whole(run.config, (config.model_dump_json(indent=2) + "\n").encode())  # last: now it is a run
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that was begun. If it is not complete, no other process can train it as long as this object lives.

        Raises:
            SettingsError: there is none in that folder, or another process is training it.
        """
        run = cls(path)
        if not run.config.is_file():
            raise SettingsError(f"run folder: found {path} without config.json, expected the folder of a training run")
        if not run.is_complete:
            run._lock = RunLock.of(path)
        return run

    def read_config(self) -> TrainConfig:
        """The settings of the run.

        Raises:
            SettingsError: the file is damaged.
        """
        try:
            values = json.loads(self.config.read_text(encoding="utf-8"))
        except ValueError as error:
            raise SettingsError(f"{self.config}: found {error}, expected JSON") from None
        return TrainConfig.parse(values)

    @property
    def is_complete(self) -> bool:
        """True if the run has been evaluated."""
        return self.evaluation.is_file()


def free_folder(parent: Path, name: str) -> Path:
    """`parent/name`, or with a number behind if that is taken."""
    path, number = parent / name, 1
    while path.exists():
        number += 1
        path = parent / f"{name}_{number}"
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, whenever the process or the machine stops."""
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    found["git_commit"] = _git_commit()
    return found


def _git_commit() -> str | None:
    """Commit of the source that runs; None for an installed package."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
