"""Logs of the Acme clusters of Shanghai AI Laboratory, ``trace_seren.csv`` and ``trace_kalos.csv``.

Seren: ``job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time``;
Kalos has ``mem_per_pod_GB,shared_mem_per_pod,fail_time,stop_time`` besides. Times carry their offset from UTC
(Seren +08:00, Kalos +00:00), as 2023-03-01 23:59:59+08:00. The run time is `end_time` minus `start_time`, because
`duration` counts the wait in the queue as well in Kalos. Jobs without GPU, and those that still ran when the log
ended, are left out and counted. Jobs of every other state are taken. The `type` of a job is not read.
Hu et al., NSDI 2024.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlfs_gym.workloads.traces.columns import (
    STILL_RUNNING,
    gpu_counts,
    names,
    read_table,
    run_times_between,
    zoned_times,
)
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "acme-csv"
REQUIRED = ("job_id", "gpu_num", "type", "submit_time", "start_time", "end_time")


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    num_gpus = gpu_counts(checks, table.columns["gpu_num"], "gpu_num", cpu_jobs=True)
    checks.leave_out(np.array([state == "RUNNING" for state in table.get("state")], bool), STILL_RUNNING)
    submitted, started, ended = (
        zoned_times(checks, table.columns[field], field) for field in ("submit_time", "start_time", "end_time")
    )
    run_time = run_times_between(checks, started, ended, table.columns["end_time"], "end_time", "start_time")
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
        users=table.get("user"),
    )
