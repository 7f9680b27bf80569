"""The neutral format as Parquet, which needs pyarrow, the extra ``parquet``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads.traces.columns import Table, listed
from mlfs_gym.workloads.traces.neutral import COLUMNS, trace_of
from mlfs_gym.workloads.traces.rejects import OnError, Rejects
from mlfs_gym.workloads.traces.text import read_bytes
from mlfs_gym.workloads.traces.trace import Trace

NAME = "mlfs-parquet"
SUFFIX = ".parquet"
_MAGIC = b"PAR1"


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet files do."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False  # the reader of text says what is wrong with it


def require_pyarrow() -> None:
    """Say how to install pyarrow where it is missing.

    Raises:
        SettingsError: it is.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise SettingsError(
            "Parquet: found no pyarrow, expected the extra: pip install 'mlfs-gym[parquet]' (or use CSV)"
        ) from None


def read(path: Path, on_error: OnError) -> Trace:
    """Read such a file; its rows are counted from 1.

    Raises:
        TraceError: it is no such file; as `on_error` says, a row that cannot be used.
        SettingsError: pyarrow is not installed.
    """
    require_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    data = read_bytes(path)
    try:
        found = parquet.read_table(pa.BufferReader(data))
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise TraceError(path, None, None, f"a file that cannot be read ({reason})", "a Parquet file") from None
    for name in COLUMNS:
        if name not in found.column_names:
            raise TraceError(path, None, name, f"the columns {listed(found.column_names)}", "a column of this name")
    # As text, so that both kinds of file pass the same checks; the repr of a float gives the same float back.
    columns = {name: [_cell(value) for value in found.column(name).to_pylist()] for name in COLUMNS}
    return trace_of(path, NAME, Table(np.arange(1, found.num_rows + 1), columns), Rejects(path, on_error))


def write(columns: dict[str, list[Any]], path: Path) -> None:
    """Write the columns of a trace.

    Raises:
        SettingsError: pyarrow is not installed.
    """
    require_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {
        "submit_time_s": pa.float64(),
        "run_time_s": pa.float64(),
        "num_gpus": pa.int64(),
        "gpu_share_milli": pa.int64(),
    }
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    parquet.write_table(pa.table(columns, schema=schema), path)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)
