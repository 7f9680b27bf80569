"""From text to columns: comma-separated tables, numbers and times, each cell checked."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import TraceError
from mlfs_gym.workloads.traces.rejects import Rejects, RowChecks

LARGEST_RUN_TIME: Final = 1e8  # s, three years
LARGEST_TIME: Final = 1e11  # s, more than any clock shows
LARGEST_GPUS: Final = 100_000
TIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
TIME_EXPECTED: Final = "a time as 2017-10-01 23:59:59"
_YEAR_2100: Final = 4_102_444_800  # s after 1970


@dataclass(frozen=True, eq=False)
class Table:
    """A comma-separated file, still text.

    Attributes:
        rows: shape (N,), line number of each row; the header is line 1.
        columns: N cells by column name.
    """

    rows: Array
    columns: dict[str, list[str]]

    def get(self, name: str) -> list[str]:
        """A column, or empty cells where the file lacks it."""
        return self.columns.get(name) or [""] * len(self.rows)


def header_of(text: str) -> list[str]:
    """Names in the first line that is not blank, or none if that line is no table header."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        return [name.strip() for name in next(csv.reader([first], strict=True))]
    except (csv.Error, StopIteration):
        return []


def read_table(path: Path, text: str, required: Sequence[str], rejects: Rejects) -> Table:
    """Split a comma-separated file with a header line.

    Raises:
        TraceError: a required column is missing, a quote is not closed, a row has too many or too few cells.
    """
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    header: list[str] = []
    lines: list[int] = []
    cells: list[list[str]] = []
    try:
        for row in reader:
            if not row:
                continue
            if not header:
                header = _checked_header(path, reader.line_num, row, required)
            elif len(row) == len(header):
                lines.append(reader.line_num)
                cells.append(row)
            else:
                rejects.reject(reader.line_num, None, f"{len(row)} cells", f"{len(header)} cells as in the header")
    except csv.Error as error:
        raise TraceError(path, reader.line_num, None, str(error), "comma-separated values") from None
    columns = zip(*cells, strict=True) if cells else ([] for _ in header)
    return Table(np.array(lines, np.int64), {name: list(column) for name, column in zip(header, columns, strict=True)})


def listed(header: list[str]) -> str:
    """Column names for an error message: one line, not too long."""
    return repr(", ".join(header)[:200])


def _checked_header(path: Path, line: int, row: list[str], required: Sequence[str]) -> list[str]:
    header = [name.strip() for name in row]
    for name in required:
        if name not in header:
            raise TraceError(path, line, name, f"the columns {listed(header)}", "a column of this name")
    for name in header:
        if header.count(name) > 1:
            raise TraceError(path, line, name, "this column twice", "every column once")
    return header


def numbers(checks: RowChecks, cells: list[str], field: str, low: float, high: float, expected: str) -> Array:
    """A column as float; rows whose cell is no number from `low` to `high` are rejected."""
    values = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(np.float64)
    checks.require((values >= low) & (values <= high), field, cells, expected)
    return values


def run_times(checks: RowChecks, cells: list[str], field: str, unit: float = 1.0) -> Array:
    """Run times in seconds, above 0."""
    high = LARGEST_RUN_TIME / unit
    seconds = numbers(checks, cells, field, np.nextafter(0.0, 1.0), high, f"a number above 0, at most {high:g}") * unit
    # The clock of the simulator counts microseconds.
    checks.require(seconds >= 1e-3, field, cells, "at least a millisecond")
    return seconds


def gpu_counts(checks: RowChecks, cells: list[str], field: str) -> Array:
    """Whole numbers of GPUs, 1 or more."""
    expected = f"a whole number from 1 to {LARGEST_GPUS}"
    values = numbers(checks, cells, field, 1, LARGEST_GPUS, expected)
    checks.require(values == np.floor(values), field, cells, expected)
    return np.where(checks.keep, values, 1).astype(np.int64)


def names(checks: RowChecks, cells: list[str], field: str) -> list[str]:
    """Identifiers: not empty, no two alike."""
    ids = [cell.strip() for cell in cells]
    checks.require(np.array([bool(name) for name in ids], bool), field, cells, "an id")
    checks.require_unique(ids, field)
    return ids


def parse_times(cells: Sequence[object]) -> Array:
    """Times as seconds since 1970, nan for what is no time or no time at which computers kept logs."""
    text = pd.Series([cell if isinstance(cell, str) else None for cell in cells], dtype=object)
    parsed = pd.to_datetime(text, format=TIME_FORMAT, errors="coerce")
    seconds = parsed.to_numpy().astype("datetime64[s]").astype(np.int64).astype(np.float64)
    good = ~parsed.isna().to_numpy() & (seconds >= 0) & (seconds < _YEAR_2100)
    return np.where(good, seconds, np.nan)
