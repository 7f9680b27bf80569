"""What is printed to be typed can be typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlfs_gym.cli.programs import program_here


def test_a_program_is_named_as_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert program_here("mlfs-gym", "mlfs_gym") == ".venv/bin/python -m mlfs_gym"
    (programs / "mlfs-gym").touch(0o755)
    assert program_here("mlfs-gym", "mlfs_gym") == ".venv/bin/mlfs-gym"  # not activated
    monkeypatch.setenv("PATH", str(programs))
    assert program_here("mlfs-gym", "mlfs_gym") == "mlfs-gym"
