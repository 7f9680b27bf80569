"""Does a measured effect agree with a published one?"""

from __future__ import annotations

from typing import Final

from mlfs_gym.report.compare.summary import percent
from mlfs_gym.report.paired import Difference

TOLERANCE: Final = 0.05  # the paper prints no intervals

AGREES, SAME_DIRECTION, NO_DIFFERENCE, OPPOSITE = "✓", "~", "o", "✗"
LEGEND: Final = (
    f"{AGREES} our 95% interval touches the paper's range, widened by {100 * TOLERANCE:.0f} points either way, as the "
    f"paper prints no intervals; {SAME_DIRECTION} the same direction, another size; {NO_DIFFERENCE} the interval "
    f"contains 0; {OPPOSITE} the opposite direction."
)


def verdict(ours: Difference, low: float, high: float) -> str:
    """A sign from the legend.

    Args:
        ours: relative difference with its interval.
        low: lowest published relative difference, as -0.34.
        high: highest; of the same sign.
    """
    half = 0.0 if ours.half_width != ours.half_width else ours.half_width
    if ours.mean + half >= low - TOLERANCE and ours.mean - half <= high + TOLERANCE and ours.mean * low > 0:
        return AGREES
    if not ours.is_significant:
        return NO_DIFFERENCE
    return SAME_DIRECTION if ours.mean * low > 0 else OPPOSITE


def order_verdict(ours: Difference) -> str:
    """Of a difference that the paper has below 0, at whatever size."""
    if not ours.is_significant:
        return NO_DIFFERENCE
    return AGREES if ours.mean < 0 else OPPOSITE


def cell(ours: Difference, sign: str) -> str:
    """As in "-31.9 ± 4.2% ✓"."""
    return f"{percent(ours)} {sign}".rstrip()
