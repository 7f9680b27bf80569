"""Sizes of the window that an agent sees, and the numbering of its actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mlfs_gym.config import Settings

Kind = Literal["place", "move", "preempt", "end"]


class WindowConfig(Settings):
    """How much of the cluster fits into an observation; everything beyond is padded or left out."""

    slots: int = Field(default=16, ge=1, le=1024, description="K: waiting jobs that are shown and may be placed")
    candidates: int = Field(default=5, ge=1, le=1024, description="C: servers offered for each of them")
    moves: int = Field(default=4, ge=1, le=64, description="M: tasks on overloaded servers that may be moved")
    running: int = Field(default=16, ge=1, le=1024, description="Q: running jobs that may be preempted")


@dataclass(frozen=True)
class Action:
    """A decoded action.

    Attributes:
        kind: place, move, preempt or end.
        index: slot, move candidate or position in the running window; 0 for end.
        candidate: index into the candidate servers; 0 for preempt and end.
    """

    kind: Kind
    index: int
    candidate: int


@dataclass(frozen=True)
class Layout:
    """Numbering of the discrete actions: place (K * C) | move (M * C) | preempt (Q, if allowed) | end.

    Attributes:
        slots: K.
        candidates: C.
        moves: M.
        running: Q, 0 without preemption.
    """

    slots: int
    candidates: int
    moves: int
    running: int

    @classmethod
    def of(cls, window: WindowConfig, preemption: bool) -> Layout:
        """The layout for window sizes."""
        return cls(window.slots, window.candidates, window.moves, window.running if preemption else 0)

    @property
    def first_move(self) -> int:
        """Number of the first move action."""
        return self.slots * self.candidates

    @property
    def first_preempt(self) -> int:
        """Number of the first preempt action."""
        return self.first_move + self.moves * self.candidates

    @property
    def end(self) -> int:
        """Number of the action that ends the round, the last one."""
        return self.first_preempt + self.running

    @property
    def size(self) -> int:
        """Number of actions."""
        return self.end + 1

    def decode(self, action: int) -> Action:
        """What an action number means."""
        if not 0 <= action < self.size:
            raise ValueError(f"action: found {action}, expected 0 to {self.size - 1}")
        if action < self.first_move:
            return Action("place", *divmod(action, self.candidates))
        if action < self.first_preempt:
            return Action("move", *divmod(action - self.first_move, self.candidates))
        if action < self.end:
            return Action("preempt", action - self.first_preempt, 0)
        return Action("end", 0, 0)

    def place(self, slot: int, candidate: int) -> int:
        """Number of the action that places the job of a slot with its first task on a candidate server."""
        return slot * self.candidates + candidate

    def move(self, index: int, candidate: int) -> int:
        """Number of the action that moves a task to a candidate server."""
        return self.first_move + index * self.candidates + candidate

    def preempt(self, index: int) -> int:
        """Number of the action that preempts a job of the running window."""
        return self.first_preempt + index
