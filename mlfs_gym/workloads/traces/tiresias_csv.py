"""The trace format of the Tiresias simulator: ``job_id,num_gpu,submit_time,iterations,model_name,duration,interval``.

Seconds; Muri's traces (Zhao et al., SIGCOMM 2022) add `resource_time_0` and others, and count in milliseconds.
Tiresias: Gu et al., NSDI 2019.
"""

from __future__ import annotations

from pathlib import Path

from mlfs_gym.workloads.traces.columns import families, gpu_counts, names, read_table, run_times, times
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "tiresias-csv"
REQUIRED = ("job_id", "num_gpu", "submit_time", "duration")
_IN_MILLISECONDS = "resource_time_0"


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    unit = 1e-3 if _IN_MILLISECONDS in table.columns else 1.0
    submitted = times(checks, table.columns["submit_time"], "submit_time", unit)
    run_time = run_times(checks, table.columns["duration"], "duration", unit)
    num_gpus = gpu_counts(checks, table.columns["num_gpu"], "num_gpu")
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
        family=families(table.get("model_name")),
    )
