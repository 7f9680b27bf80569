"""A run is trained by one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mlfs_gym.agents.config import train_config
from mlfs_gym.agents.run_folder import RunFolder
from mlfs_gym.errors import SettingsError
from tests.repository.paths import ROOT

TRAINER = """
import sys, time
from pathlib import Path
from mlfs_gym.agents.config import train_config
from mlfs_gym.agents.run_folder import RunFolder
run = RunFolder.create(Path(sys.argv[1]), train_config())
print("begun", flush=True)
time.sleep(600)
"""


def test_a_run_in_training_cannot_be_resumed_until_its_process_ends(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", TRAINER, str(folder)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(SettingsError, match=rf"run folder: {folder} is being trained by process {process.pid};"):
            RunFolder.open(folder)
        (folder / "evaluation.csv").touch()
        assert RunFolder.open(folder).is_complete  # to be looked at by anybody
        (folder / "evaluation.csv").unlink()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    RunFolder.open(folder)


def test_the_process_that_trains_a_run_may_open_it_again(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", train_config())
    again = RunFolder.open(tmp_path / "run")
    opened_elsewhere = "from pathlib import Path; from mlfs_gym.agents.run_folder import RunFolder; "
    opened_elsewhere += f"RunFolder.open(Path({str(run.path)!r}))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    refused = subprocess.run(
        [sys.executable, "-c", opened_elsewhere], env=environment, capture_output=True, check=False
    )
    assert f"is being trained by process {os.getpid()}".encode() in refused.stderr
    del run, again  # nobody here trains it any more
    subprocess.run([sys.executable, "-c", opened_elsewhere], env=environment, check=True)
