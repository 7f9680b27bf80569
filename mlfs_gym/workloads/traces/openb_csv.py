"""Pods of Alibaba's GPU cluster of 2023, ``openb_pod_list_*.csv``, which may share GPUs.

``name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time``;
seconds, milli-CPU, MiB, milli-GPU. A pod arrives when it is created and runs from `scheduled_time` to
`deletion_time`. A pod of one GPU may ask for a part of it, `gpu_milli`; pods of several ask for whole ones. Pods
without GPU, and pending ones, which never ran, are left out and counted. Lists without times (the ``multigpu`` ones)
hold no run time and are an error. CPU, memory, `gpu_spec` and `qos` are not read.
Weng et al., USENIX ATC 2023.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import TraceError
from mlfs_gym.workloads.traces.columns import (
    WHOLE_GPU,
    gpu_counts,
    header_of,
    names,
    numbers,
    read_table,
    run_times_between,
    times,
)
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "openb-csv"
_TIMES = ("creation_time", "scheduled_time", "deletion_time")
REQUIRED = ("name", "num_gpu", "gpu_milli", *_TIMES)
NEVER_RAN = "pending pod: it never ran"


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file."""
    if not set(_TIMES) & set(header_of(text)):
        raise TraceError(path, 1, _TIMES[0], "a list of pods without times", "a list as openb_pod_list_default.csv")
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    num_gpus = gpu_counts(checks, table.columns["num_gpu"], "num_gpu", cpu_jobs=True)
    unscheduled = np.array([not cell.strip() for cell in table.columns["scheduled_time"]], bool)
    pending = np.array([phase == "Pending" for phase in table.get("pod_phase")], bool)
    checks.leave_out(pending & unscheduled, NEVER_RAN)
    created, scheduled, deleted = (times(checks, table.columns[field], field) for field in _TIMES)
    run_time = run_times_between(
        checks, scheduled, deleted, table.columns["deletion_time"], "deletion_time", "scheduled_time"
    )
    share = _shares(checks, table.columns["gpu_milli"], num_gpus)
    ids = names(checks, table.columns["name"], "name")
    return in_order_of_arrival(
        path,
        NAME,
        checks,
        rejects,
        rows=table.rows,
        ids=ids,
        submitted=created,
        run_time=run_time,
        num_gpus=num_gpus,
        gpu_share=share,
    )


def _shares(checks: RowChecks, cells: list[str], num_gpus: Array) -> Array:
    expected = f"a whole number of milli-GPU from 1 to {WHOLE_GPU}"
    milli = numbers(checks, cells, "gpu_milli", 1, WHOLE_GPU, expected)
    checks.require(milli == np.floor(milli), "gpu_milli", cells, expected)
    whole = (num_gpus == 1) | (milli == WHOLE_GPU)
    checks.require(whole, "gpu_milli", cells, f"{WHOLE_GPU} where num_gpu is above 1")
    return np.where(checks.keep, milli, WHOLE_GPU).astype(np.int64)
