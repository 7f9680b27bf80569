"""The reduced Philly trace: ``timestamp,duration,num_gpus,gpu_time,cluster``.

Seconds; `duration` is the sum over attempts, `cluster` the virtual cluster. There are no job ids: jobs are named
after their line. As distributed with ElasticFlow (Gu et al., ASPLOS 2023).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlfs_gym.workloads.traces.columns import TIME_EXPECTED, gpu_counts, parse_times, read_table, run_times
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "philly-csv"
REQUIRED = ("timestamp", "duration", "num_gpus")


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    stamps = table.columns["timestamp"]
    submitted = parse_times(stamps)
    checks.require(np.isfinite(submitted), "timestamp", stamps, TIME_EXPECTED)
    run_time = run_times(checks, table.columns["duration"], "duration")
    num_gpus = gpu_counts(checks, table.columns["num_gpus"], "num_gpus")
    return in_order_of_arrival(
        path,
        NAME,
        checks,
        rejects,
        rows=table.rows,
        ids=[f"line-{row}" for row in table.rows.tolist()],
        submitted=submitted,
        run_time=run_time,
        num_gpus=num_gpus,
        virtual_clusters=table.get("cluster"),
    )
