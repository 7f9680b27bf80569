"""OptStop's learning-curve form for all jobs of a cluster."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import STOP_OPTIMAL, Array
from mlfs_gym.schedulers.opt_stop.decision import Reason
from mlfs_gym.schedulers.opt_stop.learning_curve import LearningCurveStopping


class PredictingStops:
    """One rule for each job that may end by OptStop; the threshold is its required accuracy.

    Args:
        jobs: shape (J,), dtype `JOB`.
    """

    def __init__(self, jobs: Array) -> None:
        self._rules = {
            int(job): LearningCurveStopping(
                int(jobs["max_iterations"][job]), float(jobs["required_accuracy"][job]), lower=0.0, upper=1.0
            )
            for job in range(len(jobs))
            if jobs["stop_option"][job] <= STOP_OPTIMAL <= jobs["stop_option_limit"][job]
        }

    def learn(self, learnt: Array, jobs: Array, accuracies: Array) -> None:
        """Take in reports, see `control.learn`, and mark the jobs that OptStop ends in ``learnt["opt_stop"]``."""
        for job, accuracy in zip(jobs.tolist(), accuracies.tolist(), strict=True):
            rule = self._rules.get(job)
            if rule is None:
                continue
            decision = rule.update(accuracy)
            learnt["opt_stop"][job] = decision.stop and decision.reason != Reason.LAST_ITERATION
