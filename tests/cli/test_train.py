"""`mlfs-gym train`: from the command line to a run folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import assert_one_line_error, mlfs_gym, mlfs_gym_process
from tests.repository.paths import ROOT

SMALL = (
    "--jobs", "60", "--steps", "1024", "--set", "cloning.episodes=6", "--set", "cloning.epochs=1",
    "--set", "ppo.num_envs=4", "--set", "ppo.steps_per_env=64", "--set", "ppo.batch_size=64", "--set", "hidden=8",
    "--set", "evaluation.validation_seeds=2", "--set", "evaluation.test_seeds=2", "--set", "checkpoint_every=256",
)  # fmt: skip
TIRESIAS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"


def test_train_leaves_a_run_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = mlfs_gym("train", *SMALL, "--seed", "5", "--set", 'evaluation.compare_with=["fifo"]')
    assert done.code == 0, done.err
    assert "Run     runs/quick" in done.out
    assert re.search(r"Curves  \S*tensorboard\S* --logdir runs", done.out)
    for name in ("fifo", "cloned", "trained", "vs fifo"):
        assert name in done.out
    assert "2 seeds" in done.out
    for stage in ("Demonstrations", "Cloning", "PPO", "Evaluation"):
        assert stage in done.err
    config = json.loads((tmp_path / "runs/quick/config.json").read_text())
    assert (config["seed"], config["ppo"]["steps"], config["task"]["jobs"], config["hidden"]) == (5, 1024, 60, 8)

    again = mlfs_gym("train", "--resume", "runs/quick")
    assert again.code == 0
    assert "is complete" in again.err
    table = done.out.split("\nRun ")[0]
    assert table.strip() == again.out.split("\nRun ")[0].strip()

    assert_one_line_error(mlfs_gym("train", *SMALL, "--name", "quick"), "runs/quick", "resume")


def test_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{n},{1 + n % 4},{300 * n},100,resnet50,{600 + 60 * (n % 17)},0" for n in range(120)]
    (tmp_path / "t.csv").write_text(TIRESIAS + "\n".join(rows) + "\n")
    done = mlfs_gym("train", *SMALL, "--trace", "t.csv", "--jobs", "20", "--name", "trace")
    assert done.code == 0, done.err
    assert "trained" in done.out
    config = json.loads((tmp_path / "runs/trace/config.json").read_text())
    assert config["task"]["trace"] == str(tmp_path / "t.csv")  # it can be resumed from anywhere


@pytest.mark.slow
def test_sigkill_and_resume(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mlfs_gym", "train", *SMALL, "--name", "killed", "--steps", "8192"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    folder = tmp_path / "runs/killed"
    try:
        limit = time.monotonic() + 300
        while not list(folder.glob("checkpoints/step_*.pkl")):
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (folder / "evaluation.csv").exists()
    done = mlfs_gym_process("train", "--resume", "runs/killed", cwd=tmp_path)
    assert done.code == 0, done.err
    went_on = re.search(r"Going on after ([\d,]+) steps", done.err)
    assert went_on
    assert 0 < int(went_on[1].replace(",", "")) <= 8192
    assert "trained" in done.out
    from sb3_contrib import MaskablePPO

    model = MaskablePPO.load(folder / "last_model.zip", device="cpu")
    assert model.num_timesteps - model.first_step == 8192


# Where the tests themselves run in the background, shells have made them deaf to SIGINT, and so their children.
HEARING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from mlfs_gym.cli import main; main()"
)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HEARING, "train", *SMALL, "--name", "stopped", "--steps", "100000"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "runs/stopped/cloned_model.zip").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    hint = err.splitlines()[-1].removeprefix("interrupted; go on with: ")
    program, resume = hint.split(" train ")
    assert resume == "--resume runs/stopped"
    assert shutil.which(program, path=f"{tmp_path}:{os.environ['PATH']}") or (tmp_path / program.split()[0]).exists()
    assert "Traceback" not in err


def test_help_teaches() -> None:
    text = mlfs_gym("train", "--help").out
    for word in ("--preset", "--resume", "--trace", "--seed", "--preemption", "tensorboard", "mlfs-gym train --resume"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["--preset", "slow"], ["preset", "'slow'", "quick, full"]),
        (["--resume", "nowhere"], ["nowhere", "expected the folder of a training run"]),
        (["--resume", "nowhere", "--seed", "3"], ["--seed", "--resume"]),
        (["--name", "a/b"], ["--name", "'a/b'", "--runs"]),
        (["--set", "ppo.gama=1"], ["'ppo.gama'", "unknown", "gamma"]),
        (["--set", "ppo.gamma"], ["ppo.gamma", "FIELD=VALUE"]),
        (["--set", "ppo=3"], ["'ppo'", "found 3"]),
        (["--set", "seed=1.5", "--steps", "0"], ["ppo.steps", "found 0"]),
        (["--seed", "-1"], ["'seed'", "found -1"]),
        (["--load", "nan"], ["'task.load'", "nan"]),
        (["--load", "0"], ["'task.load'", "found 0"]),
        (["--env", "CartPole-v1"], ["env", "CartPole-v1", "mlfs_gym/JobScheduling-v0"]),
        (["--trace", "nowhere.csv"], ["nowhere.csv", "no such file"]),
        (["--set", 'evaluation.compare_with=["best"]'], ["'best'", "mlf_h"]),
        (["--set", "evaluation.compare_with=best"], ["'best'", "mlf_h"]),
        (["--set", "device=foo"], ["'device'", "found 'foo'", "cpu"]),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line(
    arguments: list[str], mentions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line_error(mlfs_gym("train", *arguments), *mentions)
    assert not list(tmp_path.glob("runs/*"))
