"""The blended objective and its split into dense rewards (CoNEXT 2020, eqs 1 and 7; ToN 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.config import RewardWeights

TERMS: Final = ("jct", "deadline", "guarantee", "accuracy", "bandwidth")


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
        return cls(*_references(state))


@kernel
def _references(state: State) -> tuple[float, float]:
    run_time = 0.0
    traffic = 0.0
    for job in range(state.jobs.shape[0]):
        row = state.jobs[job]
        run_time += row.max_iterations * row.ideal_iteration_time
        per_iteration = 2.0 * row.gradient_bytes
        for edge in range(row.first_edge, row.first_edge + row.num_edges):
            per_iteration += state.edges[edge].bytes
        traffic += row.max_iterations * row.replicas * per_iteration
    return max(1.0, run_time / state.jobs.shape[0]), max(1.0, traffic)


def objective(found: Mapping[str, float], weights: RewardWeights, references: References) -> float:
    """The blended objective of a run so far.

    It is::

        - b1 * average JCT / JCT_ref + b2 * deadline ratio + b4 * accuracy guarantee ratio
        + b5 * average accuracy - b3 * bytes / B_ref

    (Eq. 1 with the reciprocals of JCT and traffic replaced by costs, so that it splits into a sum over time.)

    Args:
        found: the run's metrics, see `mlfs_gym.report.metrics.metrics`.
        weights: of the terms.
        references: of the workload.
    """
    return (
        -weights.jct * found["average_jct_s"] / references.jct_s
        + weights.deadline * found["deadline_ratio"]
        + weights.guarantee * found["accuracy_guarantee_ratio"]
        + weights.accuracy * found["average_accuracy"]
        - weights.bandwidth * found["bandwidth_tb"] * 1e12 / references.bytes
    )


ACCOUNT: Final = np.dtype(
    [
        # --- settings ---------------------------------------------------------------------------
        ("paper", np.int64),  # 1: eq. 7 as printed, 0: dense
        ("weights", np.float64, (len(TERMS),)),  # in the order of TERMS
        ("jct_s", np.float64),  # references
        ("bytes", np.float64),
        # --- as of the last payment -------------------------------------------------------------
        ("time", np.float64),  # s
        ("jct_integral", np.float64),
        ("deadlines_met", np.int64),
        ("requirements_met", np.int64),
        ("accuracy_sum", np.float64),
        ("bytes_sent", np.float64),
    ],
    align=True,
)


def new_account(state: State, weights: RewardWeights, paper: bool) -> Array:
    """Shape (1,), dtype `ACCOUNT`, for an episode in which nothing has happened yet.

    Args:
        state: its cluster at time 0.
        weights: of the terms.
        paper: True for the reward as printed.
    """
    account = np.zeros(1, ACCOUNT)
    given = (weights.jct, weights.deadline, weights.guarantee, weights.accuracy, weights.bandwidth)  # as in TERMS
    account[0] = (paper, given, *_references(state), 0.0, 0.0, 0, 0, 0.0, 0.0)
    return account


@kernel
def pay(state: State, account: Array, terms: Array) -> float:
    """What has happened since the last payment, as a reward.

    Args:
        state: the cluster, observed.
        account: shape (1,), dtype `ACCOUNT`; remembers what has been paid for.
        terms: shape (5,), receives the terms in the order of `TERMS`.

    Returns:
        Their sum.
    """
    clock = state.clock[0]
    before = account[0]
    if before.paper == 1:
        _paper_terms(state, account, terms)
    else:
        _dense_terms(state, account, terms)
    before.time = clock.time
    before.jct_integral = clock.jct_integral
    before.deadlines_met = clock.deadlines_met
    before.requirements_met = clock.requirements_met
    before.accuracy_sum = clock.accuracy_sum
    before.bytes_sent = clock.bytes_sent
    return terms[0] + terms[1] + terms[2] + terms[3] + terms[4]


@kernel
def _dense_terms(state: State, account: Array, terms: Array) -> None:
    """Terms whose undiscounted sum over an episode is the objective.

    Each is the growth of a running account in the clock: of the time that jobs have spent in the system, deadlines
    met, requirements met, accuracy, bytes.
    """
    clock = state.clock[0]
    before = account[0]
    jobs = state.jobs.shape[0]
    terms[0] = -before.weights[0] * (clock.jct_integral - before.jct_integral) / (jobs * before.jct_s)
    terms[1] = before.weights[1] * (clock.deadlines_met - before.deadlines_met) / jobs
    terms[2] = before.weights[2] * (clock.requirements_met - before.requirements_met) / jobs
    terms[3] = before.weights[3] * (clock.accuracy_sum - before.accuracy_sum) / jobs
    terms[4] = -before.weights[4] * (clock.bytes_sent - before.bytes_sent) / before.bytes


@kernel
def _paper_terms(state: State, account: Array, terms: Array) -> None:
    """Eq. 7 as printed: ``r = b1 g1 + b2 g2 + b3 g3 + b4 g4 + b5 g5``, over the jobs that ended in the step.

    g1 = 1 / mean JCT in hours, g2 = deadlines met, g3 = 1 / GB sent, g4 = requirements met, g5 = mean accuracy by
    the deadline. A step in which no job ended, or nothing was sent, has g1 = g5 = 0, or g3 = 0.
    """
    clock = state.clock[0]
    before = account[0]
    ended = 0
    jct = 0.0
    accuracy = 0.0
    for job in range(clock.next_arrival):
        row = state.jobs[job]
        if row.finish > before.time:
            ended += 1
            jct += row.finish - row.arrival
            accuracy += row.accuracy_by_deadline
    gigabytes = (clock.bytes_sent - before.bytes_sent) / 1e9
    terms[0] = before.weights[0] * ended / (jct / 3600.0) if jct > 0.0 else 0.0
    terms[1] = before.weights[1] * (clock.deadlines_met - before.deadlines_met)
    terms[2] = before.weights[2] * (clock.requirements_met - before.requirements_met)
    terms[3] = before.weights[3] * accuracy / ended if ended > 0 else 0.0
    terms[4] = before.weights[4] / gigabytes if gigabytes > 0.0 else 0.0
