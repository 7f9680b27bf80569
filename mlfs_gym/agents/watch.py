"""Who looks on while a training runs."""

from __future__ import annotations

from pathlib import Path


class Watch:
    """Told what goes on; this one does not care. The command line draws progress bars."""

    def begin(self, folder: Path) -> None:
        """The folder of the run is there, and soon curves in it."""

    def stage(self, name: str, total: int) -> None:
        """A part of the work begins.

        Args:
            name: for people.
            total: units of work in it.
        """

    def progress(self, done: int, note: str = "") -> None:
        """So many units of the stage are done, and what is worth saying about it."""

    def say(self, line: str) -> None:
        """Something worth a line that stays."""
