"""MLF-C around a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.mlf_c.control import control_load, end_round, learn, new_control
from mlfs_gym.schedulers.mlf_c.due import Due
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from mlfs_gym.schedulers.mlf_c.predicting import PredictingStops
from mlfs_gym.schedulers.mlf_h.decide import migrate
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.survey import SurveyOf

SUFFIX = "+mlf_c"
"""Added to a scheduler's name."""


class MLFC(Scheduler):
    """System load control around any scheduler (CoNEXT 2020, section 3.5; ToN 2022).

    Each job ends as its owner chose: after all iterations, by OptStop, or at the required accuracy. While tasks are
    queued or the cluster's overload degree exceeds hs, stop options are downgraded as far as owners permit, and jobs
    end whose remaining iterations would add little. The scheduler inside decides as it always does, in the rounds that
    it would have had anyway and in those where a stop made room; then tasks leave overloaded servers.

    Ours, where the paper is silent: "queued" is what the last round could not place, so that a job that has just
    arrived at an idle cluster is no overload; downgrades end with the overload; and see `MLFCParams`.

    Args:
        scheduler: decides about placement; its `name` gets `SUFFIX`.
        params: thresholds and switches; None for the defaults.
    """

    observes = True

    def __init__(self, scheduler: Scheduler, params: MLFCParams | Mapping[str, Any] | None = None) -> None:
        self.scheduler = scheduler
        self.params = MLFCParams.parse(params)
        self.name = f"{scheduler.name}{SUFFIX}"
        self.shares_gpus = scheduler.shares_gpus
        self._migration = MLFHParams().record()
        self._survey_of = SurveyOf(self._migration)

    def reset(self, cluster: Cluster) -> None:
        """Forget earlier runs, inside and outside."""
        self.scheduler.reset(cluster)
        self._survey_of = SurveyOf(self._migration)
        self.control = new_control(cluster.jobs, self.params)
        self.wake_every_seconds = self.scheduler.wake_every_seconds
        self._due = Due(self.scheduler)
        self._predicting = PredictingStops(cluster.jobs) if self.params.opt_stop == "learning_curve" else None

    def schedule(self, cluster: Cluster) -> None:
        """End jobs, let the scheduler decide if it is its turn, then migrate."""
        jobs, losses, accuracies = cluster.reports(self.control.learnt["iteration"])
        learn(self.control, jobs, losses, accuracies)
        if self._predicting is not None:
            self._predicting.learn(self.control.learnt, jobs, accuracies)
        stopped = control_load(cluster.state, self.control)
        if stopped > 0:
            cluster.apply()  # the scheduler inside sees the room, and not the jobs that have ended
        if self._due.now(cluster, stopped):
            self.scheduler.schedule(cluster)
            if self.params.migrate:
                migrate(cluster.state, self._migration, self._survey_of(cluster))
        next_look = end_round(cluster.state, self.control)
        self.wake_every_seconds = min(next_look, self._due.wake_every_seconds(cluster))
