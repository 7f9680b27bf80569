"""What both forms of OptStop answer: go on or stop, in which phase, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Phase(IntEnum):
    """Where a job stands. The values are also those of the compiled form."""

    FAST_DROP = 0
    """The loss has not risen yet."""
    WATCHING = 1
    """The first 37% of the iterations after the first rise: remember the minimum."""
    CHOOSING = 2
    """The next loss below that minimum ends the job."""
    HELD = 3
    """The rule has stopped the job, the required accuracy still keeps it."""
    PREDICTING = 4
    """The learning-curve form, before it stops."""
    STOPPED = 5


class Reason(IntEnum):
    """Why a job stopped, or would have stopped without a required accuracy."""

    NONE = 0
    BELOW_MINIMUM = 1
    """The loss fell below the minimum of the watched iterations."""
    RISING_LOSS = 2
    """Overfitting: the loss rose more than 5 iterations in a row."""
    RISING_MINIMA = 3
    """Overfitting: the latest local minimum of the loss lies above the first, and the loss rises."""
    LAST_ITERATION = 4
    """I_max."""
    REACHED = 5
    """The threshold has been reached."""
    OUT_OF_REACH = 6
    """The predicted probability of reaching the threshold by I_max is below delta."""


@dataclass(frozen=True)
class Decision:
    """After one iteration.

    Args:
        stop: end the job now.
        phase: where the job stands.
        reason: why it stops. In phase HELD: why it would stop.
        iteration: iterations seen, from 1. Stays what it was when the job stopped.
        best_iteration: the one with the best value so far, for a job that can go back to its checkpoint; 0 if none.
        probability: of reaching the threshold by I_max; nan where none was predicted.
    """

    stop: bool
    phase: Phase
    reason: Reason
    iteration: int
    best_iteration: int
    probability: float = float("nan")
