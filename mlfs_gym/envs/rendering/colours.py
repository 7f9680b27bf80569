"""Colours of rendered frames.

The job colours were chosen so that any two differ clearly for normal sight and for protanopia, deuteranopia and
tritanopia (Machado, Oliveira and Fernandes 2009): the smallest distance between two of the fourteen is larger than
between the seven of Okabe and Ito. Red is left to alarms.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mlfs_gym.cluster.arrays import Array

Colour = tuple[int, int, int]


def _rgb(text: str) -> Colour:
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


BACKGROUND: Final = _rgb("0f141a")
PANEL: Final = _rgb("171e26")
EMPTY: Final = _rgb("232c37")  # a GPU without a task, the rest of a bar
LINE: Final = _rgb("36424f")
TEXT: Final = _rgb("e8eef4")
MUTED: Final = _rgb("93a1b0")
INK: Final = _rgb("10151b")  # text on a job's colour
ALARM: Final = _rgb("ff5a52")
ACCENT: Final = _rgb("6cb6ff")
QUIET: Final = _rgb("5c6b7a")

JOB_COLOURS: Final[tuple[Colour, ...]] = (
    _rgb("88bbff"),
    _rgb("cc5500"),
    _rgb("ffdd33"),
    _rgb("7766dd"),
    _rgb("00ffee"),
    _rgb("dd8800"),
    _rgb("aa88bb"),
    _rgb("99ee99"),
    _rgb("00ddcc"),
    _rgb("ddbb00"),
    _rgb("9966aa"),
    _rgb("9988ff"),
    _rgb("55bb88"),
    _rgb("449977"),
)

# Codes of pixels in `history.History`: nothing, a job's colour, what a job holds of a GPU but does not use, an alarm,
# the space between rows, levels of load.
NUM_COLOURS: Final = len(JOB_COLOURS)
NOTHING: Final = 0
FIRST_BRIGHT: Final = 1
FIRST_DIM: Final = FIRST_BRIGHT + NUM_COLOURS
OVERLOAD: Final = FIRST_DIM + NUM_COLOURS
GAP: Final = OVERLOAD + 1
FIRST_LEVEL: Final = GAP + 1
LEVELS: Final = 16


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """A colour between two: `share` of the first."""
    red, green, blue = (round(a * share + b * (1 - share)) for a, b in zip(one, other, strict=True))
    return red, green, blue


def job_colour(job: int) -> Colour:
    """The colour of a job: always the same, and different for any fourteen consecutive jobs."""
    return JOB_COLOURS[job % NUM_COLOURS]


def urgency_colour(urgency: float) -> Colour:
    """From blue-grey (0) over amber to the alarm colour (10)."""
    amber = _rgb("f2b134")
    if urgency <= 5.0:
        return mix(amber, QUIET, max(0.0, urgency) / 5.0)
    return mix(ALARM, amber, min(1.0, (urgency - 5.0) / 5.0))


def bright_code(jobs: Array) -> Array:
    """Pixel codes of jobs."""
    return (jobs % NUM_COLOURS + FIRST_BRIGHT).astype(np.uint8)


def dim_code(jobs: Array) -> Array:
    """Pixel codes of what jobs hold but do not use."""
    return (jobs % NUM_COLOURS + FIRST_DIM).astype(np.uint8)


def level_code(shares: Array) -> Array:
    """Pixel codes of how far rows are used, from dark to bright. What is hardly used differs from what is not."""
    levels = np.ceil(np.clip(shares, 0.0, 1.0) * LEVELS).astype(np.uint8)
    return np.where(levels > 0, levels + np.uint8(FIRST_LEVEL - 1), np.uint8(NOTHING))


def code_table() -> NDArray[np.uint8]:
    """RGB of each pixel code, shape (number of codes, 3)."""
    dim = [mix(colour, EMPTY, 0.35) for colour in JOB_COLOURS]
    half = LEVELS // 2
    pale = _rgb("eaf6ff")
    levels = [mix(ACCENT, EMPTY, (level + 1) / half) for level in range(half)]
    levels += [mix(pale, ACCENT, (level + 1) / half) for level in range(half)]
    return np.array([EMPTY, *JOB_COLOURS, *dim, ALARM, PANEL, *levels], np.uint8)
