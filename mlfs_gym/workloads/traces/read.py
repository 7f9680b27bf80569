"""Read a trace of any known format."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Final

from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads.traces import philly_csv, philly_json, tiresias_csv
from mlfs_gym.workloads.traces.columns import header_of, listed
from mlfs_gym.workloads.traces.rejects import OnError, check_on_error
from mlfs_gym.workloads.traces.text import read_text
from mlfs_gym.workloads.traces.trace import Trace

_READERS: Final[dict[str, Callable[[Path, str, OnError], Trace]]] = {
    philly_json.NAME: philly_json.read,
    philly_csv.NAME: philly_csv.read,
    tiresias_csv.NAME: tiresias_csv.read,
}
_TABLES: Final = {philly_csv.NAME: philly_csv.REQUIRED, tiresias_csv.NAME: tiresias_csv.REQUIRED}

FORMATS: Final = tuple(_READERS)
"""Names of the formats."""


def read_trace(path: str | PathLike[str], format: str = "auto", on_error: OnError = "raise") -> Trace:  # noqa: A002
    """Read a trace.

    Args:
        path: the file.
        format: one of `FORMATS`, or ``auto`` to tell it by the content.
        on_error: ``raise``: the first unusable row is an error; ``skip``: unusable rows are counted in
            ``trace.skipped``. A file that is no such table or list at all is an error either way.

    Raises:
        TraceError: one line that names file, row, field, what was found and what is expected.
        SettingsError: an unknown format or `on_error`.
    """
    check_on_error(on_error)
    if format != "auto" and format not in _READERS:
        raise SettingsError(f"format: found {format!r}, expected 'auto' or one of {', '.join(FORMATS)}")
    file = Path(path)
    text = read_text(file)
    trace = _READERS[_detected(file, text) if format == "auto" else format](file, text, on_error)
    if len(trace) == 0:
        counted = f"no usable job ({'; '.join(trace.skipped.lines())})" if trace.skipped.total else "no job"
        raise TraceError(file, None, None, counted, "at least one job")
    return trace


def _detected(path: Path, text: str) -> str:
    """Name of the format, told by the first character or the column names."""
    if text.lstrip()[0] in "[{":
        return philly_json.NAME
    header = header_of(text)
    shared = {name: len(set(columns) & set(header)) for name, columns in _TABLES.items()}
    best = max(shared, key=lambda name: shared[name] / len(_TABLES[name]))
    if shared[best] < 2:  # nothing alike: naming one missing column would mislead
        known = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in _TABLES.items())
        raise TraceError(
            path,
            1,
            None,
            f"the columns {listed(header)}",
            f"a JSON list ({philly_json.NAME}) or the columns of one of ({known})",
        )
    return best
