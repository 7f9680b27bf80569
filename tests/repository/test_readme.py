"""Each Python example of the README runs on its own, from an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.paths import ROOT

EXAMPLES = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def test_readme_has_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("code", [pytest.param(code, id=f"example{number}") for number, code in enumerate(EXAMPLES, 1)])
def test_readme_example_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
