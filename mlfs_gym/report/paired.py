"""Differences between results on the same seeds, pair by pair.

Results vary more between workloads than between schedulers, so only differences on the same workloads say which
scheduler is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

ENOUGH_PAIRS: Final = 5
"""Two seeds that happen to agree have a narrow interval: with fewer pairs no difference is called significant."""


class Difference(NamedTuple):
    """A mean of paired differences.

    Attributes:
        mean: of the differences.
        half_width: of its 95% interval, mean +- half_width; nan with fewer than two pairs.
        pairs: how many; None where that is not known.
    """

    mean: float
    half_width: float
    pairs: int | None = None

    @property
    def is_significant(self) -> bool:
        """True if the 95% interval leaves out zero, and comes from pairs enough to be believed."""
        enough = self.pairs is None or self.pairs >= ENOUGH_PAIRS
        return enough and abs(self.mean) > self.half_width

    def relative_to(self, base: float) -> Difference:
        """The difference as a part of something; nan if that is not above 0."""
        if not base > 0.0:
            return Difference(float("nan"), float("nan"), self.pairs)
        return Difference(self.mean / base, self.half_width / base, self.pairs)


def paired_difference(values: Sequence[float], reference: Sequence[float]) -> Difference:
    """Mean of ``values - reference``, pair by pair, with its 95% interval (Student's t)."""
    if len(values) != len(reference):
        raise ValueError(f"found {len(values)} and {len(reference)} values, expected pairs")
    differences = np.asarray(values, float) - np.asarray(reference, float)
    differences = differences[~np.isnan(differences)]
    count = len(differences)
    if count == 0:
        return Difference(float("nan"), float("nan"), 0)
    if count == 1:
        return Difference(float(differences[0]), float("nan"), 1)
    from scipy import stats  # loads for a while: only where there is something to compare

    half_width = float(stats.t.ppf(0.975, count - 1) * stats.sem(differences))
    return Difference(float(differences.mean()), half_width, count)
