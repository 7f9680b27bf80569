"""Does a measured effect agree with a published one?"""

from __future__ import annotations

import math
from typing import Final

from mlfs_gym.report.compare.summary import percent
from mlfs_gym.report.paired import Difference

TOLERANCE: Final = 0.25  # of the published effect: the paper prints no intervals

AGREES, SAME_DIRECTION, NO_DIFFERENCE, OPPOSITE, UNDEFINED = "✓", "~", "o", "✗", ""
LEGEND: Final = (
    f"{AGREES} our mean lies in the paper's range, widened by a quarter as the paper prints no intervals, and its 95% "
    f"interval leaves out 0; {SAME_DIRECTION} right direction, other size; {NO_DIFFERENCE} the interval contains 0; "
    f"{OPPOSITE} the opposite direction."
)


def verdict(ours: Difference, low: float, high: float) -> str:
    """A sign from the legend; "" where there is no difference to speak of, as without a single event.

    Args:
        ours: relative difference with its interval.
        low: lowest published relative difference, as -0.34.
        high: highest; of the same sign.
    """
    if math.isnan(ours.mean):
        return UNDEFINED
    if not ours.is_significant:
        return NO_DIFFERENCE
    least, most = sorted((abs(low), abs(high)))
    if ours.mean * low < 0:
        return OPPOSITE
    # The mean, not its interval: the wider that is, the more it would agree with.
    is_in_range = (1 - TOLERANCE) * least <= abs(ours.mean) <= (1 + TOLERANCE) * most
    return AGREES if is_in_range else SAME_DIRECTION


def order_verdict(ours: Difference) -> str:
    """Of a difference that the paper has below 0, at whatever size."""
    if not ours.is_significant:
        return NO_DIFFERENCE
    return AGREES if ours.mean < 0 else OPPOSITE


def cell(ours: Difference, sign: str) -> str:
    """As in "-31.9 ± 4.2% ✓"."""
    return f"{percent(ours)} {sign}".rstrip()
