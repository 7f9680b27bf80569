"""Linter, formatter, type checker and import contracts, so that one command checks everything."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.repository.paths import ROOT

SCRIPTS = Path(sysconfig.get_path("scripts"))


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check"], id="ruff-check"),
        pytest.param(["ruff", "format", "--check"], id="ruff-format"),
        pytest.param(["mypy"], id="mypy"),
        pytest.param(["lint-imports", "--no-cache"], id="import-contracts"),
    ],
)
def test_checker_has_no_complaint(command: list[str]) -> None:
    done = subprocess.run([SCRIPTS / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
