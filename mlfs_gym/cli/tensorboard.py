"""How the user sees the curves."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def tensorboard_command(runs: Path) -> str:
    """What to type here to see the curves."""
    program = "tensorboard"
    if shutil.which(program) is None:  # not on the PATH: the one beside this Python
        beside = Path(sys.executable).parent / program
        program = (
            os.path.relpath(beside) if beside.exists() else f"{os.path.relpath(sys.executable)} -m tensorboard.main"
        )
    return f"{program} --logdir {runs}"
