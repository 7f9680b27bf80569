"""What to type to run a program of this environment, which need not be activated."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def program_here(name: str, module: str) -> str:
    """The name where it is on the PATH, else its path from here, else Python with its module."""
    if shutil.which(name) is not None:
        return name
    beside = Path(sys.executable).parent / name
    return os.path.relpath(beside) if beside.exists() else f"{os.path.relpath(sys.executable)} -m {module}"
