"""The blended objective and its split into dense rewards (CoNEXT 2020, eqs 1 and 7; ToN 2022)."""

from __future__ import annotations

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
    """The blended objective of a run so far:

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


class DenseReward:
    """Rewards whose undiscounted sum over an episode is the objective.

    Each term is the growth of a running account in the clock: of the time that jobs have spent in the
    system, deadlines met, requirements met, accuracy, bytes.
    """

    def __init__(self, state: State, weights: RewardWeights) -> None:
        self.references = References.of(state)
        jobs = max(1, len(state.jobs))
        self._scale = np.array(
            [
                -weights.jct / (jobs * self.references.jct_s),
                weights.deadline / jobs,
                weights.guarantee / jobs,
                weights.accuracy / jobs,
                -weights.bandwidth / self.references.bytes,
            ]
        )
        self._before = _accounts(state)

    def step(self, state: State) -> dict[str, float]:
        """Terms of the reward since the last call, by name (`TERMS`)."""
        now = _accounts(state)
        terms = (now - self._before) * self._scale
        self._before = now
        return dict(zip(TERMS, terms.tolist(), strict=True))


def _accounts(state: State) -> Array:
    clock = state.clock[0]
    return np.array(
        [
            clock["jct_integral"],
            clock["deadlines_met"],
            clock["requirements_met"],
            clock["accuracy_sum"],
            clock["bytes_sent"],
        ],
        dtype=np.float64,
    )


class PaperReward:
    """Eq. 7 as printed: ``r = b1 g1 + b2 g2 + b3 g3 + b4 g4 + b5 g5``, over the jobs that ended in the step.

    g1 = 1 / mean JCT in hours, g2 = deadlines met, g3 = 1 / GB sent, g4 = requirements met, g5 = mean accuracy by
    the deadline. A step in which no job ended, or nothing was sent, has g1 = g5 = 0, or g3 = 0.
    """

    def __init__(self, state: State, weights: RewardWeights) -> None:
        self.references = References.of(state)
        self._weights = weights
        self._before = _accounts(state)
        self._time = -np.inf

    def step(self, state: State) -> dict[str, float]:
        """Terms of the reward since the last call, by name (`TERMS`)."""
        now = _accounts(state)
        _, deadlines, requirements, _, sent = now - self._before
        finish = state.jobs["finish"]
        ended = state.jobs[finish > self._time] if np.isfinite(self._time) else state.jobs[~np.isnan(finish)]
        self._before, self._time = now, float(state.clock["time"][0])
        mean_jct = float((ended["finish"] - ended["arrival"]).mean()) / 3600.0 if len(ended) else 0.0
        weights = self._weights
        return {
            "jct": weights.jct / mean_jct if mean_jct > 0.0 else 0.0,
            "deadline": weights.deadline * float(deadlines),
            "guarantee": weights.guarantee * float(requirements),
            "accuracy": weights.accuracy * float(ended["accuracy_by_deadline"].mean()) if len(ended) else 0.0,
            "bandwidth": weights.bandwidth / (float(sent) / 1e9) if sent > 0.0 else 0.0,
        }
