"""Jobs of Microsoft's ITP clusters: ``job_id,submission_time,duration,num_gpu``, seconds.

Files with a model and a deadline (``job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,
duration``) are read likewise; of their further columns only `model_name` is used.
As distributed with ElasticFlow (Gu et al., ASPLOS 2023).
"""

from __future__ import annotations

from pathlib import Path

from mlfs_gym.workloads.traces.columns import families, gpu_counts, names, read_table, run_times, times
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "itp-csv"
REQUIRED = ("job_id", "submission_time", "duration", "num_gpu")


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    submitted = times(checks, table.columns["submission_time"], "submission_time")
    run_time = run_times(checks, table.columns["duration"], "duration")
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
