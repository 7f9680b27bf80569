"""Progress of long work: bars where somebody watches, lines where a file does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mlfs_gym.agents.watch import Watch
from mlfs_gym.cli.console import notes
from mlfs_gym.cli.tensorboard import tensorboard_command

_SECONDS_BETWEEN_LINES = 15.0


class Bars(Watch):
    """One bar per stage, finished ones stay. Use it as a context."""

    def __init__(self, console: Console) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=console,
        )
        self._bar: Any = None

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, folder: Path) -> None:
        """Print where it is and how to see it."""
        _announce(self, folder)

    def stage(self, name: str, total: int) -> None:
        """A new bar."""
        self._bar = self._bars.add_task(name, total=total, note="")

    def progress(self, done: int, note: str = "") -> None:
        """Move the bar."""
        self._bars.update(self._bar, completed=done, note=note)

    def say(self, line: str) -> None:
        """Print above the bars."""
        self._bars.console.print(line, markup=False)


class Lines(Watch):
    """A line per stage, and some in between. Use it as a context."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._name, self._total, self._printed_at = "", 0, 0.0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def begin(self, folder: Path) -> None:
        """Print where it is and how to see it."""
        _announce(self, folder)

    def stage(self, name: str, total: int) -> None:
        """Print that it begins."""
        self._name, self._total = name, total
        self.say(f"{name} ({total:,}) ...")
        self._printed_at = time.monotonic()

    def progress(self, done: int, note: str = "") -> None:
        """Print, if the last line is a while ago."""
        if time.monotonic() - self._printed_at < _SECONDS_BETWEEN_LINES:
            return
        self._printed_at = time.monotonic()
        self.say(f"  {self._name}: {done:,} of {self._total:,}  {note}".rstrip())

    def say(self, line: str) -> None:
        """Print."""
        self._console.print(line, markup=False, soft_wrap=True)


def _announce(watch: Watch, folder: Path) -> None:
    watch.say(f"Run     {folder}")
    watch.say(f"Curves  {tensorboard_command(folder.parent)}")


def watch_for() -> Bars | Lines:
    """What suits standard error."""
    console = notes()
    return Bars(console) if console.is_terminal else Lines(console)
