"""How the user sees the curves."""

from __future__ import annotations

from pathlib import Path

from mlfs_gym.cli.programs import program_here


def tensorboard_command(runs: Path) -> str:
    """What to type here to see the curves."""
    return f"{program_here('tensorboard', 'tensorboard.main')} --logdir {runs}"
