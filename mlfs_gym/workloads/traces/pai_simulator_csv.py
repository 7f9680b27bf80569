"""The job table of the simulator that Alibaba published with PAI's trace, ``pai_job_duration_estimate_100K.csv``.

``job_id,user,num_inst,num_gpu,num_cpu,duration,submit_time,wait_time,...,gpu_type,...,vc,jobid,status``; seconds.
`num_gpu` is GPUs of one instance and may be a part of one; the job runs `num_inst` instances at once, one where the
cell is empty. That simulator calls a `duration` of 0 one second; here it is no run time. Jobs without GPU are left
out and counted.
Weng et al., NSDI 2022.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlfs_gym.workloads.traces.columns import (
    CPU_JOB,
    LARGEST_GPUS,
    gpu_counts,
    gpus_and_share,
    names,
    numbers,
    read_table,
    run_times,
    times,
)
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "pai-simulator-csv"
REQUIRED = ("job_id", "num_inst", "num_gpu", "duration", "submit_time")


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    # The simulator's own reader takes an empty number of GPUs as 0 and an empty number of instances as 1.
    cells = [cell.strip() or "0" for cell in table.columns["num_gpu"]]
    demand = numbers(checks, cells, "num_gpu", 0, LARGEST_GPUS, f"a number from 0 to {LARGEST_GPUS}")
    checks.leave_out(demand == 0, CPU_JOB)
    instances = gpu_counts(checks, [cell.strip() or "1" for cell in table.columns["num_inst"]], "num_inst")
    gpus, share = gpus_and_share(np.where(checks.keep, demand, 1.0))
    num_gpus = gpus * instances
    checks.require(num_gpus <= LARGEST_GPUS, "num_inst", num_gpus, f"at most {LARGEST_GPUS} GPUs in all instances")
    submitted = times(checks, table.columns["submit_time"], "submit_time")
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
        gpu_share=share,
        virtual_clusters=table.get("vc"),
        users=table.get("user"),
    )
