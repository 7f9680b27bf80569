"""Parameters of MLF-H."""

from __future__ import annotations

from typing import Final

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import Settings


class MLFHParams(Settings):
    """Weights and thresholds of MLF-H (CoNEXT 2020, section 3.3; ToN 2022).

    The defaults keep the published weights and differ from the letter in what a study of the published rules
    found necessary: priority per GPU (else large jobs win in overload and everybody waits), a floor under the
    time to the deadline (eq. 5 changes sign when the deadline passes), hosting up to full capacity (on the testbed with
    1240 jobs and shared GPUs, 0.9 costs 1% of JCT in waiting), and migration only above full capacity, with a
    cooldown, and when it pays within one period of the demand's fluctuation (else tasks ping-pong, and jobs end up
    spread over servers for a moment's gain). `paper` gives the letter.
    """

    alpha: float = Field(default=0.3, ge=0, le=1, description="weight of the ML part in eq. 6")
    gamma: float = Field(default=0.8, ge=0, le=1, description="weight of the children in eqs 3 and 5")
    gamma_deadline: float = Field(default=0.3, ge=0, description="gd in eq. 4")
    gamma_remaining: float = Field(default=0.3, ge=0, description="gr in eq. 4")
    gamma_waiting: float = Field(default=0.35, ge=0, description="gw in eq. 4")
    use_urgency: bool = Field(default=True, description="False: ablation, every job has urgency 1 in eq. 2")
    per_gpu: bool = Field(default=True, description="divide the priority by the job's GPUs")
    deadline_floor_hours: float = Field(
        default=0.5, ge=0, description="least time to the deadline in eq. 4; 0: the letter"
    )
    overload_threshold: float = Field(
        default=1.0, gt=0, le=10, description="hr (paper: 0.9): hosting may not push a utilisation above it"
    )
    bandwidth_weight: float = Field(
        default=1.0, ge=0, description="weight of communication in the distances; 0: ablation"
    )
    migrate: bool = Field(default=True, description="move tasks out of overloaded servers")
    migrate_above: float = Field(default=1.0, gt=0, le=10, description="utilisation above which a server sheds tasks")
    lowest_priority_fraction: float = Field(
        default=0.1, gt=0, le=1, description="ps: share of tasks on overloaded GPUs that may move"
    )
    migration_cooldown_seconds: float = Field(default=1800.0, ge=0, description="a moved task stays at least this long")
    cost_benefit: bool = Field(default=True, description="move only if the speed gained outweighs the stall")
    benefit_horizon_seconds: float = Field(default=600.0, gt=0, description="how long a gain is counted at most")
    move_candidates: int = Field(
        default=4, ge=1, le=64, description="tasks considered for each move, the nearest to ideal"
    )

    @classmethod
    def paper(cls) -> MLFHParams:
        """The published formulas and thresholds to the letter."""
        return cls(
            per_gpu=False,
            deadline_floor_hours=0.0,
            overload_threshold=0.9,
            migrate_above=0.9,
            migration_cooldown_seconds=0.0,
            cost_benefit=False,
        )

    def record(self) -> Array:
        """Shape (1,), dtype `PARAMS`, for kernels."""
        row = np.zeros(1, PARAMS)
        for name in PARAMS.names or ():
            row[name] = getattr(self, name)
        return row


PARAMS: Final = np.dtype(
    [
        ("alpha", np.float64),
        ("gamma", np.float64),
        ("gamma_deadline", np.float64),
        ("gamma_remaining", np.float64),
        ("gamma_waiting", np.float64),
        ("use_urgency", np.int32),
        ("per_gpu", np.int32),
        ("deadline_floor_hours", np.float64),
        ("overload_threshold", np.float64),
        ("bandwidth_weight", np.float64),
        ("migrate", np.int32),
        ("migrate_above", np.float64),
        ("lowest_priority_fraction", np.float64),
        ("migration_cooldown_seconds", np.float64),
        ("cost_benefit", np.int32),
        ("benefit_horizon_seconds", np.float64),
        ("move_candidates", np.int64),
    ],
    align=True,
)
