"""Compare a trained policy with schedulers on held-out seeds. Copy it and change what you like.

python scripts/evaluate.py runs/quick
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from rich.console import Console

from mlfs_gym.agents.evaluation import EvaluationSet, samples
from mlfs_gym.agents.load import load_policy
from mlfs_gym.agents.run_folder import RunFolder
from mlfs_gym.agents.task import Task, held_out_seeds
from mlfs_gym.report.tables import comparison_table
from mlfs_gym.schedulers import make_scheduler


def main(run: str = "runs/quick") -> None:
    task = Task(RunFolder.open(Path(run)).read_config().task)
    episodes = EvaluationSet(task, "test", held_out_seeds("test", 20))
    results = [episodes.play_scheduler(name, make_scheduler(name)) for name in ("mlf_h", "fifo", "srtf")]
    results.append(episodes.play_policy(run, load_policy(Path(run), task)))
    Console().print(comparison_table(samples(pd.concat(results)), reference="mlf_h"))


if __name__ == "__main__":
    main(*sys.argv[1:])
