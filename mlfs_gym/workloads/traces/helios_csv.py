"""Logs of SenseTime's Helios clusters, ``cluster_log.csv`` of Earth, Saturn, Uranus and Venus.

``job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue``; times as
2020-09-01 23:59:59, `duration` in seconds. More than half of the jobs have no GPU: they are left out and counted.
Jobs of every state are taken: those that failed or were cancelled used their GPUs as well.
Hu et al., SC 2021.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlfs_gym.workloads.traces.columns import TIME_EXPECTED, gpu_counts, names, parse_times, read_table, run_times
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "helios-csv"
REQUIRED = ("job_id", "vc", "gpu_num", "submit_time", "duration")


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    num_gpus = gpu_counts(checks, table.columns["gpu_num"], "gpu_num", cpu_jobs=True)
    stamps = table.columns["submit_time"]
    submitted = parse_times(stamps)
    checks.require(np.isfinite(submitted), "submit_time", stamps, TIME_EXPECTED)
    run_time = run_times(checks, table.columns["duration"], "duration")
    ids = names(checks, table.columns["job_id"], "job_id")
    return in_order_of_arrival(
        path,
        NAME,
        checks,
        rejects,
        rows=table.rows,
        ids=ids,
        submitted=submitted,
        run_time=run_time,
        num_gpus=num_gpus,
        virtual_clusters=table.columns["vc"],
        users=table.get("user"),
    )
