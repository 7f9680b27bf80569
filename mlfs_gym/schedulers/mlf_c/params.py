"""Parameters of MLF-C."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import Settings


class MLFCParams(Settings):
    """When the cluster counts as overloaded, and what is then stopped (CoNEXT 2020, section 3.5; ToN 2022).

    Published are `overload_degree` and the order of the downgrades. `safe` is ours: to the letter, OptStop may stop a
    job before the accuracy that its owner asked for. So is the measure of `least_gain`; the paper removes what adds
    little and prints no number.
    """

    overload_degree: float = Field(
        default=0.9, ge=0, le=100, description="hs: above this overload degree the cluster is overloaded"
    )
    safe: bool = Field(default=True, description="never stop a job that has not reached its required accuracy")
    downgrade: bool = Field(default=True, description="in overload, stop as early as the owner permits")
    least_gain: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="in overload, a job that may be downgraded stops when its remaining iterations, at the pace of the "
        "last ones, would add less than this part of the loss reduction so far; 0: never",
    )
    migrate: bool = Field(default=True, description="move tasks out of overloaded servers as MLF-H does")
    opt_stop: Literal["optimal_stopping", "learning_curve"] = Field(
        default="optimal_stopping",
        description="form of OptStop; learning_curve fits curves in Python, about 3 ms for each iteration of a job",
    )
    check_seconds: float = Field(
        default=60.0, gt=0, le=1e7, description="time between two looks at jobs that may be stopped"
    )

    def record(self) -> Array:
        """Shape (1,), dtype `PARAMS`, for kernels."""
        row = np.zeros(1, PARAMS)
        for name in PARAMS.names or ():
            if name != "predict":
                row[name] = getattr(self, name)
        row["predict"] = self.opt_stop == "learning_curve"
        return row


PARAMS: Final = np.dtype(
    [
        ("overload_degree", np.float64),
        ("safe", np.int32),
        ("downgrade", np.int32),
        ("least_gain", np.float64),
        ("predict", np.int32),  # 1: OptStop in its learning-curve form, decided outside of kernels
        ("check_seconds", np.float64),
    ],
    align=True,
)
