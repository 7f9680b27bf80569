"""Validation during training: always the same held-out episodes, next to what schedulers do on them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from stable_baselines3.common.logger import Logger

from mlfs_gym.agents.evaluation import EvaluationSet, Predicts, means
from mlfs_gym.agents.run_folder import RunFolder, write_whole
from mlfs_gym.agents.tracking import record_validation
from mlfs_gym.schedulers.registry import make_scheduler

POLICY = "policy"
BASELINES_STEP = 0


class Validation:
    """Judges a policy again and again on the same episodes, and keeps every result.

    Args:
        episodes: to play.
        baselines: names of schedulers to play them too; differences refer to the first.
        run: where ``validation.csv`` is written: one row per step, stage, name and seed.
        logger: receives the curves.
    """

    def __init__(self, episodes: EvaluationSet, baselines: Sequence[str], run: RunFolder, logger: Logger) -> None:
        self._episodes = episodes
        self._run = run
        self._logger = logger
        self.reference = baselines[0]
        played = [episodes.play_scheduler(name, make_scheduler(name)) for name in baselines]
        self.baselines = {name: means(rows) for name, rows in zip(baselines, played, strict=True)}
        self._results = [_labelled(rows, BASELINES_STEP, "baseline") for rows in played]

    def go_on_from(self, step: int) -> None:
        """Take over what an interrupted run had found up to a step."""
        if self._run.validation.is_file():
            earlier = pd.read_csv(self._run.validation)
            self._results.append(earlier[(earlier["step"] <= step) & (earlier["stage"] != "baseline")])

    def judge(self, policy: Predicts, step: int, stage: str) -> float:
        """Play all episodes, log and keep the results.

        Returns:
            The mean return.
        """
        rows = self._episodes.play_policy(POLICY, policy)
        self._results.append(_labelled(rows, step, stage))
        write_whole(self._run.validation, pd.concat(self._results).to_csv(index=False).encode())
        found = means(rows)
        record_validation(self._logger, found, self.reference, self.baselines)
        self._logger.dump(step)
        return found["return"]


def _labelled(rows: pd.DataFrame, step: int, stage: str) -> pd.DataFrame:
    labelled = rows.copy()
    labelled.insert(0, "step", step)
    labelled.insert(1, "stage", stage)
    return labelled
