"""Where commands write: results to standard output, progress and notes to standard error."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

# What goes to a file or a pipe is not bound to anybody's window; tables need not be squeezed.
_WIDTH_OF_FILES = 120


def output() -> Console:
    """For results. Wide enough for tables when it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in console._environ:
        console = Console(highlight=False, width=_WIDTH_OF_FILES)
    return console


def notes() -> Console:
    """For what is not a result."""
    return Console(stderr=True, highlight=False)


def progress() -> Progress:
    """Bars on standard error, only where somebody can watch them."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=notes(),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
