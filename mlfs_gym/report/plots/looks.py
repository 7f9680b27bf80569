"""How each scheduler looks, in every plot the same: colour, marker and dash tell two of them apart without colour."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final

# Okabe and Ito's palette (Wong, Nature Methods 2011), its yellow darkened to be seen on white.
_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_YELLOW, _BLUE, _VERMILION, _PURPLE, _GREY = "#B5A300", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"

_SOLID, _DASHED, _DOTTED, _DASH_DOT = "-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5))
_THICK, _THIN = 2.2, 1.1


@dataclass(frozen=True)
class Look:
    """Of one scheduler.

    Attributes:
        colour: hexadecimal.
        marker: of matplotlib.
        dash: line style of matplotlib.
        width: points.
    """

    colour: str
    marker: str
    dash: Any = _SOLID
    width: float = _THIN

    def line(self) -> dict[str, Any]:
        """Arguments for matplotlib's `plot`."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.dash,
            "linewidth": self.width,
            "markersize": 5.5 if self.width == _THICK else 4.0,
            "markeredgecolor": "white",
            "markeredgewidth": 0.4,
            "zorder": 4 if self.width == _THICK else 3,
        }


LOOKS: Final[dict[str, Look]] = {
    # MLFS
    "mlf_h": Look(_BLUE, "o", _SOLID, _THICK),
    "mlf_h+mlf_c": Look(_VERMILION, "s", _SOLID, _THICK),
    "mlf_rl": Look(_PURPLE, "D", _SOLID, _THICK),
    "mlfs": Look(_BLACK, "*", _SOLID, _THICK),
    "rl": Look(_PURPLE, "d", _DASHED),
    # what the paper compares it with
    "graphene": Look(_SKY, "^"),
    "tiresias": Look(_GREEN, "v"),
    "gandiva": Look(_ORANGE, "P"),
    "fair": Look(_GREY, "X"),
    "slaq": Look(_YELLOW, "D"),
    "hypersched": Look(_BLACK, "h"),
    # others
    "fifo": Look(_GREY, "o", _DOTTED),
    "sjf": Look(_SKY, "s", _DOTTED),
    "srtf": Look(_BLUE, "^", _DOTTED),
    "srsf": Look(_PURPLE, "v", _DOTTED),
    "edf": Look(_ORANGE, "D", _DOTTED),
    "las": Look(_GREEN, "<", _DASHED),
    "gittins": Look(_GREEN, ">", _DASH_DOT),
    "themis": Look(_SKY, "p", _DASHED),
    "pollux": Look(_VERMILION, "s", _DASHED),
    "optimus": Look(_BLACK, "p", _DASH_DOT),
    # MLF-H without a part
    "mlf_h-urgency": Look(_BLUE, "1", _DOTTED),
    "mlf_h-deadline": Look(_BLUE, "2", _DASHED),
    "mlf_h-bandwidth": Look(_BLUE, "3", _DASH_DOT),
    "mlf_h-migration": Look(_BLUE, "4", _DOTTED),
}

_COLOURS_OF_OTHERS = (_VERMILION, _PURPLE, _BLACK, _BLUE, _GREEN, _ORANGE)
_MARKERS_OF_OTHERS = ("H", "8", "<", ">", "*", "X")


def look_of(scheduler: str) -> Look:
    """The look of a scheduler; of one that the table does not know, drawn from its name."""
    if scheduler in LOOKS:
        return LOOKS[scheduler]
    number = zlib.crc32(scheduler.encode())
    colour = _COLOURS_OF_OTHERS[number % len(_COLOURS_OF_OTHERS)]
    marker = _MARKERS_OF_OTHERS[number // len(_COLOURS_OF_OTHERS) % len(_MARKERS_OF_OTHERS)]
    return Look(colour, marker, _DASH_DOT)


_LABELS: Final = {
    "mlf_h": "MLF-H",
    "mlf_rl": "MLF-RL",
    "mlfs": "MLFS",
    "rl": "RL",
    "graphene": "Graphene",
    "tiresias": "Tiresias",
    "gandiva": "Gandiva",
    "fair": "Fair (Borg)",
    "slaq": "SLAQ",
    "hypersched": "HyperSched",
    "fifo": "FIFO",
    "sjf": "SJF",
    "srtf": "SRTF",
    "srsf": "SRSF",
    "edf": "EDF",
    "las": "LAS",
    "gittins": "Gittins",
    "themis": "Themis",
    "pollux": "Pollux",
    "optimus": "Optimus",
}


def label_of(scheduler: str) -> str:
    """The name as papers write it."""
    if scheduler.endswith("+mlf_c"):
        return f"{label_of(scheduler.removesuffix('+mlf_c'))} + MLF-C"
    if scheduler.startswith("mlf_h-"):
        return f"MLF-H without {scheduler.removeprefix('mlf_h-')}"
    return _LABELS.get(scheduler, scheduler.rsplit(":", maxsplit=1)[-1])
