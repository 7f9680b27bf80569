"""What each part of MLFS is worth: the whole beside the whole without that part (CoNEXT 2020, section 4; ToN 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

# MLF-H without a part, by name.
MLF_H_WITHOUT: Final[Mapping[str, Mapping[str, Any]]] = {
    "mlf_h-urgency": {"use_urgency": False},
    "mlf_h-deadline": {"gamma_deadline": 0.0},
    "mlf_h-bandwidth": {"bandwidth_weight": 0.0},
    "mlf_h-migration": {"migrate": False},
}


@dataclass(frozen=True)
class Ablation:
    """A part of MLFS.

    Attributes:
        part: its name.
        whole: name of a scheduler.
        without: name of the same scheduler without the part.
        metrics: on which the paper reports its worth.
    """

    part: str
    whole: str
    without: str
    metrics: tuple[str, ...]


ABLATIONS: Final = (
    Ablation("urgency", "mlf_h", "mlf_h-urgency", ("urgent_deadline_ratio",)),
    Ablation("deadline term", "mlf_h", "mlf_h-deadline", ("deadline_ratio",)),
    Ablation("bandwidth term", "mlf_h", "mlf_h-bandwidth", ("average_jct_s", "bandwidth_tb")),
    Ablation("migration", "mlf_h", "mlf_h-migration", ("overloads", "bandwidth_tb", "average_jct_s")),
    Ablation("MLF-C", "mlf_h+mlf_c", "mlf_h", ("accuracy_guarantee_ratio", "average_jct_s")),
)


def ablated_names() -> list[str]:
    """Every scheduler that the ablations need."""
    names = [name for ablation in ABLATIONS for name in (ablation.whole, ablation.without)]
    return list(dict.fromkeys(names))
