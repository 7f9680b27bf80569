"""The blended objective and its split into dense rewards (CoNEXT 2020, eqs 1 and 7; ToN 2022)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.config import RewardWeights
from mlfs_gym.report.metrics import metrics

TERMS = ("jct", "deadline", "guarantee", "accuracy", "bandwidth")


@dataclass(frozen=True)
class References:
    """What makes JCT and traffic of different workloads comparable; both come from the workload itself.

    Attributes:
        jct_s: mean ideal run time of the jobs.
        bytes: traffic of the jobs if every edge and every gradient exchange crossed servers.
    """

    jct_s: float
    bytes: float

    @classmethod
    def of(cls, state: State) -> References:
        """References of a workload."""
        jobs = state.jobs
        run_time = jobs["max_iterations"] * jobs["ideal_iteration_time"]
        edge_bytes = np.zeros(len(jobs))
        owner = np.repeat(np.arange(len(jobs)), jobs["num_edges"])
        np.add.at(edge_bytes, owner, state.edges["bytes"])
        per_iteration = jobs["replicas"] * (edge_bytes + 2.0 * jobs["gradient_bytes"])
        return cls(max(1.0, float(run_time.mean())), max(1.0, float((jobs["max_iterations"] * per_iteration).sum())))


def objective(state: State, weights: RewardWeights, references: References) -> float:
    """The blended objective of a run so far.

    It is::

        - b1 * average JCT / JCT_ref + b2 * deadline ratio + b4 * accuracy guarantee ratio
        + b5 * average accuracy - b3 * bytes / B_ref

    (Eq. 1 with the reciprocals of JCT and traffic replaced by costs, so that it splits into a sum over time.)
    """
    found = metrics(state)
    return (
        -weights.jct * found["average_jct_s"] / references.jct_s
        + weights.deadline * found["deadline_ratio"]
        + weights.guarantee * found["accuracy_guarantee_ratio"]
        + weights.accuracy * found["average_accuracy"]
        - weights.bandwidth * found["bandwidth_tb"] * 1e12 / references.bytes
    )


class Reward(ABC):
    """Turns what has happened since the last call into reward terms."""

    def __init__(self, state: State, weights: RewardWeights) -> None:
        self.references = References.of(state)
        self._weights = weights
        self._before = _accounts(state)

    @abstractmethod
    def step(self, state: State) -> dict[str, float]:
        """Terms of the reward since the last call, by name (`TERMS`)."""

    def accounts(self) -> Array:
        """What has been counted so far, for `restore`."""
        return self._before.copy()

    def restore(self, accounts: Array) -> None:
        """Go back to what `accounts` returned."""
        self._before = accounts.copy()


class DenseReward(Reward):
    """Rewards whose undiscounted sum over an episode is the objective.

    Each term is the growth of a running account in the clock: of the time that jobs have spent in the
    system, deadlines met, requirements met, accuracy, bytes.
    """

    def step(self, state: State) -> dict[str, float]:
        """Terms of the reward since the last call, by name (`TERMS`)."""
        now = _accounts(state)
        jct, deadlines, requirements, accuracy, sent, _ = (now - self._before).tolist()
        self._before = now
        jobs, weights = len(state.jobs), self._weights
        return {
            "jct": -weights.jct * jct / (jobs * self.references.jct_s),
            "deadline": weights.deadline * deadlines / jobs,
            "guarantee": weights.guarantee * requirements / jobs,
            "accuracy": weights.accuracy * accuracy / jobs,
            "bandwidth": -weights.bandwidth * sent / self.references.bytes,
        }


class PaperReward(Reward):
    """Eq. 7 as printed: ``r = b1 g1 + b2 g2 + b3 g3 + b4 g4 + b5 g5``, over the jobs that ended in the step.

    g1 = 1 / mean JCT in hours, g2 = deadlines met, g3 = 1 / GB sent, g4 = requirements met, g5 = mean accuracy by
    the deadline. A step in which no job ended, or nothing was sent, has g1 = g5 = 0, or g3 = 0.
    """

    def step(self, state: State) -> dict[str, float]:
        """Terms of the reward since the last call, by name (`TERMS`)."""
        now = _accounts(state)
        _, deadlines, requirements, _, sent, _ = (now - self._before).tolist()
        ended = state.jobs[state.jobs["finish"] > self._before[-1]]
        self._before = now
        weights = self._weights
        mean_jct_hours = float((ended["finish"] - ended["arrival"]).mean()) / 3600.0 if len(ended) else 0.0
        return {
            "jct": weights.jct / mean_jct_hours if mean_jct_hours > 0.0 else 0.0,
            "deadline": weights.deadline * deadlines,
            "guarantee": weights.guarantee * requirements,
            "accuracy": weights.accuracy * float(ended["accuracy_by_deadline"].mean()) if len(ended) else 0.0,
            "bandwidth": weights.bandwidth / (sent / 1e9) if sent > 0.0 else 0.0,
        }


def _accounts(state: State) -> Array:
    """Running accounts: job-seconds, deadlines met, requirements met, accuracy, bytes; and the time."""
    clock = state.clock[0]
    return np.array(
        [
            clock["jct_integral"],
            clock["deadlines_met"],
            clock["requirements_met"],
            clock["accuracy_sum"],
            clock["bytes_sent"],
            clock["time"],
        ],
        dtype=np.float64,
    )
