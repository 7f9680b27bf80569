"""The neutral format, documented in docs/traces.md: what every other format is converted to, exactly.

``job_id,submit_time_s,run_time_s,num_gpus,gpu_share_milli,model_family,virtual_cluster,user,format``; times count from
the first job, a cell is empty where the trace does not say, and `format` is ``mlfs-1`` in every row. There it is as
CSV (`mlfs_csv`) and, the same columns, as Parquet (`mlfs_parquet`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import TraceError
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from mlfs_gym.workloads.traces.columns import (
    UNKNOWN_SHARE,
    WHOLE_GPU,
    Table,
    gpu_counts,
    names,
    numbers,
    run_times,
    times,
)
from mlfs_gym.workloads.traces.rejects import Rejects, RowChecks, quoted
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

VERSION: Final = "mlfs-1"
COLUMNS: Final = (
    "job_id",
    "submit_time_s",
    "run_time_s",
    "num_gpus",
    "gpu_share_milli",
    "model_family",
    "virtual_cluster",
    "user",
    "format",
)


def trace_of(path: Path, format_name: str, table: Table, rejects: Rejects) -> Trace:
    """The jobs of a table that has all `COLUMNS`, each cell checked."""
    checks = RowChecks(rejects, table.rows)
    versions = table.columns["format"]
    checks.require(np.array([cell == VERSION for cell in versions], bool), "format", versions, VERSION)
    submitted = times(checks, table.columns["submit_time_s"], "submit_time_s")
    run_time = run_times(checks, table.columns["run_time_s"], "run_time_s")
    num_gpus = gpu_counts(checks, table.columns["num_gpus"], "num_gpus")
    share = _shares(checks, table.columns["gpu_share_milli"])
    family = _families(checks, table.columns["model_family"])
    ids = names(checks, table.columns["job_id"], "job_id")
    return in_order_of_arrival(
        path,
        format_name,
        checks,
        rejects,
        rows=table.rows,
        ids=ids,
        submitted=submitted,
        run_time=run_time,
        num_gpus=num_gpus,
        family=family,
        gpu_share=share,
        virtual_clusters=table.columns["virtual_cluster"],
        users=table.columns["user"],
    )


def _shares(checks: RowChecks, cells: list[str]) -> Array:
    told = np.array([bool(cell) for cell in cells], bool)
    expected = f"a whole number of milli-GPU from 1 to {WHOLE_GPU}, or an empty cell"
    milli = numbers(checks, [cell or str(WHOLE_GPU) for cell in cells], "gpu_share_milli", 1, WHOLE_GPU, expected)
    checks.require(milli == np.floor(milli), "gpu_share_milli", cells, expected)
    return np.where(told & checks.keep, milli, UNKNOWN_SHARE).astype(np.int64)


def _families(checks: RowChecks, cells: list[str]) -> Array:
    numbered = {"": -1, **{name: number for number, name in enumerate(FAMILY_NAMES)}}
    known = np.array([cell in numbered for cell in cells], bool)
    checks.require(known, "model_family", cells, f"one of {', '.join(FAMILY_NAMES)}, or an empty cell")
    return np.array([numbered.get(cell, -1) for cell in cells], np.int64)


def columns_of(trace: Trace) -> dict[str, list[Any]]:
    """The columns of a trace by name; None where it does not say.

    Raises:
        TraceError: a name that a text file cannot hold.
    """
    texts = {"job_id": trace.ids, "virtual_cluster": trace.virtual_clusters, "user": trace.users}
    for name, values in texts.items():
        for row, value in zip(trace.rows.tolist(), values.tolist(), strict=True):
            if not _can_be_written(value):
                raise TraceError(trace.file, row, name, quoted(value), "text that a file in UTF-8 can hold")
    return {
        "job_id": trace.ids.tolist(),
        "submit_time_s": trace.arrival.tolist(),
        "run_time_s": trace.run_time.tolist(),
        "num_gpus": trace.num_gpus.tolist(),
        "gpu_share_milli": [None if milli == UNKNOWN_SHARE else milli for milli in trace.gpu_share.tolist()],
        "model_family": [None if family < 0 else FAMILY_NAMES[family] for family in trace.family.tolist()],
        "virtual_cluster": trace.virtual_clusters.tolist(),
        "user": trace.users.tolist(),
        "format": [VERSION] * len(trace),
    }


def _can_be_written(text: str) -> bool:
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON may have it
        return False
