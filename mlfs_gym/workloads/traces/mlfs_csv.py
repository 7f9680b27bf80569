"""The neutral format as comma-separated values: the default of `mlfs-gym trace convert`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from mlfs_gym.workloads.traces.columns import read_table
from mlfs_gym.workloads.traces.neutral import COLUMNS, trace_of
from mlfs_gym.workloads.traces.rejects import OnError, Rejects
from mlfs_gym.workloads.traces.trace import Trace

NAME = "mlfs-csv"
REQUIRED = COLUMNS


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    return trace_of(path, NAME, read_table(path, text, REQUIRED, rejects), rejects)


def write(columns: dict[str, list[Any]], path: Path) -> None:
    """Write the columns of a trace; a float as its repr, which gives the same float back."""
    with path.open("w", encoding="utf-8", newline="") as file:
        # Ends of lines within a name are quoted because they are in the line terminator.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
