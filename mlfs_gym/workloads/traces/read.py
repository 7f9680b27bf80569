"""Read a trace of any known format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Final

from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads.traces import (
    acme_csv,
    helios_csv,
    itp_csv,
    mlfs_csv,
    mlfs_parquet,
    openb_csv,
    pai_2020,
    pai_simulator_csv,
    philly_csv,
    philly_json,
    pollux_csv,
    tiresias_csv,
)
from mlfs_gym.workloads.traces.columns import header_of, listed
from mlfs_gym.workloads.traces.rejects import OnError, check_on_error
from mlfs_gym.workloads.traces.text import read_text
from mlfs_gym.workloads.traces.trace import Trace

_Reader = Callable[[Path, str, OnError], Trace]

_READERS: Final[dict[str, _Reader]] = {
    philly_json.NAME: philly_json.read,
    philly_csv.NAME: philly_csv.read,
    tiresias_csv.NAME: tiresias_csv.read,
    helios_csv.NAME: helios_csv.read,
    acme_csv.NAME: acme_csv.read,
    pai_2020.NAME: pai_2020.read,
    pai_simulator_csv.NAME: pai_simulator_csv.read,
    openb_csv.NAME: openb_csv.read,
    itp_csv.NAME: itp_csv.read,
    pollux_csv.NAME: pollux_csv.read,
    mlfs_csv.NAME: mlfs_csv.read,
}
_TABLES: Final[dict[str, tuple[str, ...]]] = {
    philly_csv.NAME: philly_csv.REQUIRED,
    tiresias_csv.NAME: tiresias_csv.REQUIRED,
    helios_csv.NAME: helios_csv.REQUIRED,
    acme_csv.NAME: acme_csv.REQUIRED,
    pai_simulator_csv.NAME: pai_simulator_csv.REQUIRED,
    openb_csv.NAME: openb_csv.REQUIRED,
    itp_csv.NAME: itp_csv.REQUIRED,
    pollux_csv.NAME: pollux_csv.REQUIRED,
    mlfs_csv.NAME: mlfs_csv.REQUIRED,
}

FORMATS: Final = (*_READERS, mlfs_parquet.NAME)
"""Names of the formats."""


def read_trace(
    path: str | PathLike[str],
    format: str = "auto",  # noqa: A002
    on_error: OnError = "raise",
    gpu_hours: Mapping[str, float] | None = None,
) -> Trace:
    """Read a trace.

    Args:
        path: the file.
        format: one of `FORMATS`, or ``auto`` to tell it by the content.
        on_error: ``raise``: the first unusable row is an error; ``skip``: unusable rows are counted in
            ``trace.skipped``. A file that is no such table or list at all is an error either way. Jobs that are no
            mistake but cannot be scheduled, as those without GPU, are left out and counted either way.
        gpu_hours: GPU-hours of a job by application, for the workloads of Pollux, which hold no run times; see
            `mlfs_gym.workloads.traces.pollux_csv`.

    Raises:
        TraceError: one line that names file, row, field, what was found and what is expected.
        SettingsError: an unknown format or `on_error`; `gpu_hours` for another format.
    """
    check_on_error(on_error)
    if format not in ("auto", *FORMATS):
        raise SettingsError(f"format: found {format!r}, expected 'auto' or one of {', '.join(FORMATS)}")
    file = Path(path)
    trace = _read(file, format, on_error, gpu_hours)
    if len(trace) == 0:
        counted = f"no usable job ({'; '.join(trace.skipped.lines())})" if trace.skipped.total else "no job"
        raise TraceError(file, None, None, counted, "at least one job")
    return trace


def _read(file: Path, format_name: str, on_error: OnError, gpu_hours: Mapping[str, float] | None) -> Trace:
    parquet = format_name == mlfs_parquet.NAME or (format_name == "auto" and mlfs_parquet.is_parquet(file))
    text = "" if parquet else read_text(file)
    name = mlfs_parquet.NAME if parquet else _detected(file, text) if format_name == "auto" else format_name
    if gpu_hours is not None and name != pollux_csv.NAME:
        raise SettingsError(f"gpu_hours: found it for a trace in {name}, expected {pollux_csv.NAME}")
    if parquet:
        return mlfs_parquet.read(file, on_error)
    if name == pollux_csv.NAME:
        return pollux_csv.read(file, text, on_error, gpu_hours)
    return _READERS[name](file, text, on_error)


def _detected(path: Path, text: str) -> str:
    """Name of the format, told by the first character, the column names or, where it has none, the file name."""
    if text.lstrip()[0] in "[{":
        return philly_json.NAME
    header = header_of(text)
    shared = {name: len(set(columns) & set(header)) for name, columns in _TABLES.items()}
    # The largest part of the columns; of two that are there in full, the one that needs more of them.
    best = max(shared, key=lambda name: (shared[name] / len(_TABLES[name]), shared[name]))
    if shared[best] < len(_TABLES[best]) and pai_2020.is_table(path):
        return pai_2020.NAME
    if shared[best] < 2:  # nothing alike: naming one missing column would mislead
        expected = f"a Philly log (JSON) or a table of one of {', '.join(_TABLES)} (their columns: docs/traces.md)"
        raise TraceError(path, 1, None, f"the columns {listed(header)}", expected)
    return best
