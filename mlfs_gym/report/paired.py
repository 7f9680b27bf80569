"""Differences between results on the same seeds, pair by pair.

Results vary more between workloads than between schedulers, so only differences on the same workloads say which
scheduler is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Difference(NamedTuple):
    """A mean of paired differences.

    Attributes:
        mean: of the differences.
        half_width: of its 95% interval, mean +- half_width; nan with fewer than two pairs.
    """

    mean: float
    half_width: float

    @property
    def is_significant(self) -> bool:
        """True if the 95% interval leaves out zero."""
        return abs(self.mean) > self.half_width


def paired_difference(values: Sequence[float], reference: Sequence[float]) -> Difference:
    """Mean of ``values - reference``, pair by pair, with its 95% interval (Student's t)."""
    if len(values) != len(reference):
        raise ValueError(f"found {len(values)} and {len(reference)} values, expected pairs")
    differences = np.asarray(values, float) - np.asarray(reference, float)
    differences = differences[~np.isnan(differences)]
    count = len(differences)
    if count == 0:
        return Difference(float("nan"), float("nan"))
    if count == 1:
        return Difference(float(differences[0]), float("nan"))
    from scipy import stats  # loads for a while: only where there is something to compare

    half_width = float(stats.t.ppf(0.975, count - 1) * stats.sem(differences))
    return Difference(float(differences.mean()), half_width)
