"""MLF-H as a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.mlf_h.decide import mlf_h_round
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.survey import SurveyOf


class MLFH(Scheduler):
    """The machine-learning-feature-based heuristic (CoNEXT 2020, section 3.3; ToN 2022). Never preempts.

    Args:
        params: weights and thresholds; None for the defaults, `MLFHParams.paper()` for the letter.
    """

    name = "mlf_h"
    shares_gpus = True

    def __init__(self, params: MLFHParams | Mapping[str, Any] | None = None) -> None:
        self.params = MLFHParams.parse(params)
        self._record = self.params.record()
        self._survey_of = SurveyOf(self._record)

    def reset(self, cluster: Cluster) -> None:
        """Forget the cluster of an earlier run."""
        del cluster
        self._survey_of = SurveyOf(self._record)

    def schedule(self, cluster: Cluster) -> None:
        """Place by priority, then migrate out of overloaded servers."""
        mlf_h_round(cluster.state, self._record, self._survey_of(cluster))
