"""The pipeline as a whole: what a run leaves behind, and that it survives being killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sb3_contrib import MaskablePPO
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mlfs_gym.agents.checkpoint import last_checkpoint
from mlfs_gym.agents.config import train_config
from mlfs_gym.agents.run_folder import RunFolder, free_folder
from mlfs_gym.agents.train import TrainResult, resume, train
from mlfs_gym.agents.watch import Watch
from mlfs_gym.errors import SettingsError
from tests.agents.conftest import small_config
from tests.repository.paths import ROOT


class Stops(Watch):
    """Stops a training in the middle, as Ctrl-C would."""

    def __init__(self, stage: str, done: int) -> None:
        self._stage, self._done, self._now = stage, done, ""

    def stage(self, name: str, total: int) -> None:
        self._now = name

    def progress(self, done: int, note: str = "") -> None:
        if self._now == self._stage and done >= self._done:
            raise KeyboardInterrupt


def assert_same_outcome(one: RunFolder, other: RunFolder) -> None:
    assert one.evaluation.read_bytes() == other.evaluation.read_bytes()
    assert one.validation.read_bytes() == other.validation.read_bytes()
    models = [MaskablePPO.load(run.last_model, device="cpu") for run in (one, other)]
    assert models[0].num_timesteps == models[1].num_timesteps
    first, second = (model.policy.state_dict() for model in models)
    assert all((first[name] == second[name]).all() for name in first)


def test_folder_tells_what_was_run(trained: TrainResult) -> None:
    run = trained.run
    assert run.read_config() == small_config()
    versions = json.loads(run.versions.read_text())
    assert {"python", "torch", "gymnasium", "stable-baselines3", "git_commit"} <= set(versions)
    assert run.command.read_text().strip()
    for file in (run.best_model, run.cloned_model, run.last_model, run.demonstrations):
        assert file.stat().st_size > 0


def test_every_contestant_plays_every_test_seed(trained: TrainResult) -> None:
    results = pd.read_csv(trained.run.evaluation)
    assert results["name"].unique().tolist() == ["mlf_h", "fifo", "srtf", "cloned", "trained"]
    seeds = results.groupby("name")["seed"].apply(list)
    assert all(found == seeds["mlf_h"] for found in seeds)
    assert len(seeds["mlf_h"]) == 3
    validation = set(pd.read_csv(trained.run.validation)["seed"])
    assert not validation & set(results["seed"])


def test_curves_are_there_from_cloning_on(trained: TrainResult) -> None:
    events = EventAccumulator(str(trained.run.path), size_guidance={"scalars": 0})
    events.Reload()
    curves = {tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    model = MaskablePPO.load(trained.run.last_model, device="cpu")
    first, last = model.first_step, model.num_timesteps
    for tag in ("rollout/ep_rew_mean", "eval/return", "eval/return_minus_mlf_h", "cluster/average_jct_minutes",
                "cluster/deadline_ratio_vs_mlf_h", "train/value_loss"):  # fmt: skip
        assert min(curves[tag]) < first, tag
        assert max(curves[tag]) == last, tag
    assert max(curves["train/cloning_loss"]) == first
    assert min(curves["train/policy_gradient_loss"]) > first
    assert last == first + 3072
    for metric in ("makespan_hours", "average_waiting_minutes", "average_accuracy", "bandwidth_tb"):
        assert f"cluster/{metric}" in curves
    assert "test/return" in curves
    assert [step for step in curves["eval/return"] if step > first] == [first + 1024, first + 2048, first + 3072]


def test_finished_run_is_only_shown_again(trained: TrainResult) -> None:
    again = resume(trained.run.path)
    assert again.steps == trained.steps
    pd.testing.assert_frame_equal(again.results, pd.read_csv(trained.run.evaluation))


@pytest.mark.parametrize(
    ("stage", "done"), [("Demonstrations of MLF-H", 4), ("Cloning", 1), ("PPO", 1536), ("Evaluation", 4)]
)
def test_interrupted_at_any_stage_it_ends_the_same(trained: TrainResult, tmp_path: Path, stage: str, done: int) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(small_config(), folder, Stops(stage, done))
    assert_same_outcome(resume(folder).run, trained.run)


def test_damaged_checkpoint_falls_back_to_the_one_before(trained: TrainResult, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(small_config(), folder, Stops("PPO", 1536))
    newest = max((folder / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:1000])
    assert last_checkpoint(folder / "checkpoints") is not None
    assert_same_outcome(resume(folder).run, trained.run)


@pytest.mark.slow
def test_killed_process_resumes_and_ends_with_the_same_steps(trained: TrainResult, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    code = (
        "from pathlib import Path; from mlfs_gym.agents.train import train;"
        "from tests.agents.conftest import small_config;"
        f"train(small_config(), Path({str(folder)!r}))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        limit = time.monotonic() + 300
        while len(list(folder.glob("checkpoints/step_*.pkl"))) < 2:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < limit
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (folder / "evaluation.csv").exists()
    result = resume(folder)
    assert result.steps == trained.steps
    assert_same_outcome(result.run, trained.run)


def test_other_seed_other_weights(trained: TrainResult, tmp_path: Path) -> None:
    other = train(small_config(seed=4, ppo={"steps": 512, "num_envs": 4, "steps_per_env": 128}), tmp_path / "run")
    assert not np.array_equal(
        other.results.query("name == 'cloned'")["return"], trained.results.query("name == 'cloned'")["return"]
    )


def test_folder_in_use(trained: TrainResult) -> None:
    with pytest.raises(SettingsError, match="not empty; resume that run or choose another name"):
        train(small_config(), trained.run.path)


def test_wrong_setting_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="scheduler: found 'best'"):
        train(small_config(evaluation={"compare_with": ["best"]}), tmp_path / "run")
    with pytest.raises(SettingsError, match="env: found"):
        train(small_config(task={"env": "x"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"without config\.json, expected the folder of a training run"):
        resume(tmp_path)


def test_free_folder(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        folder = free_folder(tmp_path, "quick")
        folder.mkdir()
        names.append(folder.name)
    assert names == ["quick", "quick_2", "quick_3"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ppo": {"gama": 0.9}}, "field 'ppo.gama' is unknown"),
        ({"ppo": {"gamma": 1.5}}, r"field 'ppo.gamma': found 1.5"),
        ({"seed": -1}, "field 'seed': found -1"),
        ({"cloning": {"episodes": "many"}}, "field 'cloning.episodes': found 'many'"),
        ({"task": {"load": float("nan")}}, "field 'task.load': found nan"),
        ({"evaluation": {"compare_with": []}}, "field 'evaluation.compare_with'"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        train_config("quick", **changes)


def test_unknown_preset() -> None:
    with pytest.raises(SettingsError, match="preset: found 'fast', expected one of quick, full"):
        train_config("fast")
