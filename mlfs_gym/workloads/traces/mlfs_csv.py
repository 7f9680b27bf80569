"""The neutral format as comma-separated values: the default of `mlfs-gym trace convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlfs_gym.workloads.traces.columns import read_table
from mlfs_gym.workloads.traces.neutral import COLUMNS, trace_of
from mlfs_gym.workloads.traces.rejects import OnError, Rejects
from mlfs_gym.workloads.traces.trace import Trace

NAME = "mlfs-csv"
REQUIRED = COLUMNS
_QUOTE = '"'
_SPECIAL = {",", _QUOTE, "\r", "\n"}


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    return trace_of(path, NAME, read_table(path, text, REQUIRED, rejects), rejects)


def write(columns: dict[str, list[Any]], path: Path) -> None:
    """Write the columns of a trace; a float as its repr, which gives the same float back."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(columns) + "\n")
        for row in zip(*columns.values(), strict=True):
            file.write(",".join(map(_cell, row)) + "\n")


def _cell(value: object) -> str:
    if not isinstance(value, str):
        return "" if value is None else repr(value)
    # Not csv.writer: releases of Python differ in whether they quote a carriage return.
    return f'"{value.replace(_QUOTE, 2 * _QUOTE)}"' if _SPECIAL & set(value) else value
