"""Write a trace in the neutral format."""

from __future__ import annotations

import os
from pathlib import Path

from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads.traces import mlfs_csv, mlfs_parquet
from mlfs_gym.workloads.traces.neutral import columns_of
from mlfs_gym.workloads.traces.trace import Trace


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace in the neutral format; `read_trace` gives the same jobs back, to the last bit.

    What was skipped when the trace was read is not written. A file that is there already is replaced, all at once.

    Args:
        trace: of any format.
        path: written as Parquet if it ends in ``.parquet``, which needs the extra ``parquet``; as CSV otherwise.

    Raises:
        TraceError: a name that a text file cannot hold.
        SettingsError: there is no such folder; pyarrow is not installed.
    """
    file = Path(path)
    if file.is_dir() or not file.parent.is_dir():
        raise SettingsError(f"path: found {file}, expected a file in a folder that exists")
    write = mlfs_parquet.write if file.suffix == mlfs_parquet.SUFFIX else mlfs_csv.write
    columns = columns_of(trace)
    part = file.with_name(f"{file.name}.part{os.getpid()}")
    try:
        write(columns, part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
