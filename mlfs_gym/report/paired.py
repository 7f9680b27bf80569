"""Differences between results on the same seeds, pair by pair.

Results vary more between workloads than between schedulers, so only differences on the same workloads say which
scheduler is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# 97.5% quantiles of Student's t for 1 to 4 degrees of freedom. From 5 on, Cornish and Fisher's expansion is right
# to 0.2%.
_FEW = (12.7062, 4.3027, 3.1824, 2.7764)
_NORMAL = 1.959964


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
    spread = float(differences.std(ddof=1)) / count**0.5
    return Difference(float(differences.mean()), student_t_95(count - 1) * spread)


def student_t_95(freedom: int) -> float:
    """97.5% quantile of Student's t, which bounds a two-sided 95% interval."""
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z, n = _NORMAL, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
