"""Run the command line, in this process or as a user does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from mlfs_gym.cli import app
from tests.repository.paths import ROOT

COMPILING = "mlfs-gym: compiling"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def error_lines(self) -> list[str]:
        """Without the note about the first compilation, which may come at any time."""
        return [line for line in self.err.splitlines() if not line.startswith(COMPILING)]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def mlfs_gym(*arguments: str | Path, width: int = 100) -> Outcome:
    runner = CliRunner(env={"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"})
    done = runner.invoke(app, [str(argument) for argument in arguments], prog_name="mlfs-gym")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Outcome(done.exit_code, plain(done.stdout), plain(done.stderr))


def mlfs_gym_process(*arguments: str | Path, cwd: Path = ROOT) -> Outcome:
    return finished(start_mlfs_gym(*arguments, cwd=cwd))


def start_mlfs_gym(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.Popen[str]:
    # Where the tests run in the background of a shell they ignore Ctrl-C, and so would every process they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "mlfs_gym", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def finished(process: subprocess.Popen[str]) -> Outcome:
    try:
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    return Outcome(process.returncode, out, err)


def assert_one_line_error(outcome: Outcome, *mentions: str) -> None:
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert len(outcome.error_lines) == 1, outcome.err
    (line,) = outcome.error_lines
    assert line.startswith("error: ")
    missing = [mention for mention in mentions if mention not in line]
    assert missing == [], line
