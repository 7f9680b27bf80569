"""From text to columns: comma-separated tables, numbers and times, each cell checked."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import TraceError
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from mlfs_gym.workloads.traces.rejects import Rejects, RowChecks

LARGEST_RUN_TIME: Final = 1e8  # s, three years
LARGEST_TIME: Final = 1e11  # s, more than any clock shows
LARGEST_GPUS: Final = 100_000
TIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
TIME_EXPECTED: Final = "a time as 2017-10-01 23:59:59"
ZONED_TIME_EXPECTED: Final = "a time as 2023-03-01 23:59:59+08:00, with an offset in all rows or in none"
CPU_JOB: Final = "CPU job: no GPU"
STILL_RUNNING: Final = "still running or waiting when the trace ends"
WHOLE_GPU: Final = 1000  # milli-GPU
UNKNOWN_SHARE: Final = -1
_SHORTEST_RUN_TIME: Final = 1e-3  # s; the clock of the simulator counts microseconds
_YEAR_2100: Final = 4_102_444_800  # s after 1970
_ZONED: Final = re.compile(r"(?P<time>.*[0-9])(?P<sign>[+-])(?P<hours>[01][0-9]):?(?P<minutes>[0-5][0-9])")


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


def read_table(
    path: Path, text: str, required: Sequence[str], rejects: Rejects, header: Sequence[str] | None = None
) -> Table:
    """Split a comma-separated file.

    Args:
        path: the file, for errors.
        text: what it holds.
        required: columns that must be there.
        rejects: takes rows with too many or too few cells.
        header: names of the columns of a file without a header line.

    Raises:
        TraceError: a required column is missing, or a quote is not closed.
    """
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    columns: list[str] = list(header or [])
    lines: list[int] = []
    cells: list[list[str]] = []
    try:
        for row in reader:
            if not row:
                continue
            if not columns:
                columns = _checked_header(path, reader.line_num, row, required)
            elif len(row) == len(columns):
                lines.append(reader.line_num)
                cells.append(row)
            else:
                expected = f"{len(columns)} cells as in the header"
                rejects.reject(reader.line_num, None, f"{len(row)} cells", expected)
    except csv.Error as error:
        raise TraceError(path, reader.line_num, None, str(error), "comma-separated values") from None
    split = zip(*cells, strict=True) if cells else ([] for _ in columns)
    return Table(np.array(lines, np.int64), {name: list(column) for name, column in zip(columns, split, strict=True)})


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
    checks.require(seconds >= _SHORTEST_RUN_TIME, field, cells, "at least a millisecond")
    return seconds


def run_times_between(
    checks: RowChecks, started: Array, ended: Array, end_cells: list[str], end: str, start: str
) -> Array:
    """Run times in seconds, above 0, from start to end; errors quote the cells of the end."""
    with np.errstate(invalid="ignore"):
        seconds = ended - started
        checks.require(seconds >= _SHORTEST_RUN_TIME, end, end_cells, f"a time after {start}")
        checks.require(seconds <= LARGEST_RUN_TIME, end, end_cells, f"at most {LARGEST_RUN_TIME:g} s after {start}")
    return seconds


def times(checks: RowChecks, cells: list[str], field: str, unit: float = 1.0) -> Array:
    """Times in seconds, counted from anywhere: 0 or more."""
    high = LARGEST_TIME / unit
    return numbers(checks, cells, field, 0.0, high, f"a time from 0 to {high:g}") * unit


def gpu_counts(checks: RowChecks, cells: list[str], field: str, cpu_jobs: bool = False) -> Array:
    """Whole numbers of GPUs, 1 or more.

    Args:
        checks: of the rows.
        cells: the column.
        field: its name.
        cpu_jobs: jobs without GPU are a part of such files: they are left out and counted, not rejected.
    """
    low = 0 if cpu_jobs else 1
    expected = f"a whole number from {low} to {LARGEST_GPUS}"
    values = numbers(checks, cells, field, low, LARGEST_GPUS, expected)
    checks.require(values == np.floor(values), field, cells, expected)
    checks.leave_out(values == 0, CPU_JOB)
    return np.where(checks.keep, values, 1).astype(np.int64)


def gpus_and_share(demand: Array) -> tuple[Array, Array]:
    """Fewest GPUs that hold a demand, and the milli-GPU of it on each of them.

    Args:
        demand: GPUs, above 0; 0.5 is half of one, 1.5 are three quarters of each of two.
    """
    gpus = np.maximum(1, np.ceil(demand)).astype(np.int64)
    share = np.clip(np.rint(WHOLE_GPU * demand / gpus), 1, WHOLE_GPU).astype(np.int64)
    return gpus, share


def names(checks: RowChecks, cells: list[str], field: str) -> list[str]:
    """Identifiers: not empty, no two alike."""
    ids = [cell.strip() for cell in cells]
    checks.require(np.array([bool(name) for name in ids], bool), field, cells, "an id")
    checks.require_unique(ids, field)
    return ids


def families(models: list[str]) -> Array:
    """Families of the model names that contain the name of one, as resnet50; -1 for the others."""
    known = {
        model: next((number for number, name in enumerate(FAMILY_NAMES) if name.lower() in model.lower()), -1)
        for model in set(models)
    }
    return np.array([known[model] for model in models], np.int64)


def zoned_times(checks: RowChecks, cells: list[str], field: str) -> Array:
    """Times as seconds since 1970; an offset from UTC behind them is taken into account.

    One that stands in some rows only leaves open what the other rows mean: those are rejected.
    """
    parts = [_ZONED.fullmatch(cell.strip()) for cell in cells]
    offsets = np.array([_offset(part) if part else np.nan for part in parts])
    local = parse_times([part["time"] if part else cell.strip() for part, cell in zip(parts, cells, strict=True)])
    seconds = local - np.nan_to_num(offsets)
    naive = np.isnan(offsets)
    unclear = naive & bool((checks.keep & ~naive).any())
    checks.require(np.isfinite(seconds) & ~unclear, field, cells, ZONED_TIME_EXPECTED)
    return seconds


def _offset(part: re.Match[str]) -> float:
    seconds = 3600.0 * int(part["hours"]) + 60.0 * int(part["minutes"])
    return -seconds if part["sign"] == "-" else seconds


def parse_times(cells: Sequence[object]) -> Array:
    """Times as seconds since 1970, nan for what is no time or no time at which computers kept logs."""
    text = pd.Series([cell if isinstance(cell, str) else None for cell in cells], dtype=object)
    parsed = pd.to_datetime(text, format=TIME_FORMAT, errors="coerce")
    seconds = parsed.to_numpy().astype("datetime64[s]").astype(np.int64).astype(np.float64)
    good = ~parsed.isna().to_numpy() & (seconds >= 0) & (seconds < _YEAR_2100)
    return np.where(good, seconds, np.nan)
