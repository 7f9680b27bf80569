"""Train a policy with the library's own pipeline. Copy it and change what you like.

python scripts/train.py runs/mine
"""

from __future__ import annotations

import sys
from pathlib import Path

from mlfs_gym.agents.config import train_config
from mlfs_gym.agents.train import train


def main(folder: str = "runs/mine") -> None:
    config = train_config("quick", seed=1, task={"load": 1.3}, ppo={"steps": 65_536})
    result = train(config, Path(folder))
    print(result.results.groupby("name", sort=False)[["return", "average_jct_s"]].mean())


if __name__ == "__main__":
    main(*sys.argv[1:])
