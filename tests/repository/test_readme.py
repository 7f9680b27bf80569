"""Each Python example of the README runs on its own, from an empty folder, and so does the scheduler in one file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.repository.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_readme_has_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("code", [pytest.param(code, id=f"example{number}") for number, code in enumerate(EXAMPLES, 1)])
def test_readme_example_runs(code: str, tmp_path: Path) -> None:
    done = run_python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_readme_scheduler_in_one_file_is_compared(tmp_path: Path) -> None:
    (tmp_path / "my_scheduler.py").write_text(marked("file: my_scheduler.py", "python"), encoding="utf-8")
    program, *arguments = marked("command: compare", "sh").split()
    assert program == ".venv/bin/mlfs-gym"
    done = run_python("-m", "mlfs_gym", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = pd.read_csv(tmp_path / "comparisons" / "testbed" / "runs.csv")
    mine = runs[runs["scheduler"] == "my_scheduler:LeastServedFirst"]
    assert len(mine) == 2 * 3  # settings of GPUs, seeds
    assert mine["average_jct_s"].gt(0).all()


def marked(mark: str, language: str) -> str:
    pattern = rf"^<!-- {re.escape(mark)} -->\n```{language}\n(.*?)^```$"
    (text,) = re.findall(pattern, README, re.MULTILINE | re.DOTALL)
    return str(text)


def run_python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
