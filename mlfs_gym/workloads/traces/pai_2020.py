"""Alibaba PAI's log of 2020: ``pai_job_table.csv`` with ``pai_task_table.csv`` beside it; name either of them.

The files have no header line; a file of the same name that ends in ``.header`` has it, and without that file the
published columns are taken. Jobs: ``job_name,inst_id,user,status,start_time,end_time``; tasks, joined by `job_name`:
``job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type``. Seconds.

`plan_gpu` is per cent of a GPU for each of the `inst_num` instances; empty means none. A job has the GPUs of all its
tasks, as many as they need one by one, and asks for the same part of each: two instances of 50% are 2 GPUs of half
each. It arrives at its `start_time`, which is when it was submitted, and runs from the first start of a task to its
own `end_time`; a time of 0 means there was none. Jobs without GPU, and those that still ran or waited when the log
ended, are left out and counted; jobs that failed are taken. Rows are those of the job table unless the reason says
otherwise.
Weng et al., NSDI 2022.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import TraceError
from mlfs_gym.workloads.traces.columns import (
    CPU_JOB,
    LARGEST_GPUS,
    STILL_RUNNING,
    WHOLE_GPU,
    Table,
    gpu_counts,
    gpus_and_share,
    header_of,
    names,
    numbers,
    read_table,
    run_times_between,
    times,
)
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.text import read_text
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "pai-2020"
_JOBS: Final = "pai_job_table"
_TASKS: Final = "pai_task_table"
_HEADERS: Final = {
    _JOBS: "job_name,inst_id,user,status,start_time,end_time",
    _TASKS: "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type",
}
_REQUIRED: Final = {
    _JOBS: ("job_name", "start_time", "end_time"),
    _TASKS: ("job_name", "inst_num", "start_time", "plan_gpu"),
}


def is_table(path: Path) -> bool:
    """Whether a file is one of these tables, which only its name tells."""
    return _JOBS in path.name or _TASKS in path.name


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the table whose text this is, and the other one from its folder."""
    jobs_path, tasks_path = _pair(path)
    rejects, task_rejects = Rejects(jobs_path, on_error), Rejects(tasks_path, on_error)
    jobs = _table(jobs_path, text if path == jobs_path else read_text(jobs_path), _JOBS, rejects)
    tasks = _table(tasks_path, text if path == tasks_path else read_text(tasks_path), _TASKS, task_rejects)
    checks = RowChecks(rejects, jobs.rows)
    ids = names(checks, jobs.columns["job_name"], "job_name")
    checks.leave_out(np.array([status in ("Running", "Waiting") for status in jobs.get("status")], bool), STILL_RUNNING)
    found = _join(ids, tasks, task_rejects)
    checks.require(found.tasks > 0, "job_name", ids, f"a job with a row in {tasks_path.name}")
    checks.require(~found.spoilt, "job_name", ids, f"a job whose rows in {tasks_path.name} can all be used")
    checks.leave_out(found.gpus == 0, CPU_JOB)
    checks.require(found.gpus <= LARGEST_GPUS, "job_name", ids, f"at most {LARGEST_GPUS} GPUs in all tasks")
    submitted = _present_times(checks, jobs.columns["start_time"], "start_time")
    ended = _present_times(checks, jobs.columns["end_time"], "end_time")
    run_time = run_times_between(
        checks, found.started, ended, jobs.columns["end_time"], "end_time", f"the first start in {tasks_path.name}"
    )
    rejects.include(task_rejects, tasks_path.name)
    return in_order_of_arrival(
        path,
        NAME,
        checks,
        rejects,
        rows=jobs.rows,
        ids=ids,
        submitted=submitted,
        run_time=run_time,
        num_gpus=found.gpus,
        gpu_share=found.share,
        users=jobs.get("user"),
    )


def _pair(path: Path) -> tuple[Path, Path]:
    """Paths of the job table and of the task table, of which one is given."""
    for given, other in ((_JOBS, _TASKS), (_TASKS, _JOBS)):
        if given in path.name:
            beside = path.with_name(path.name.replace(given, other))
            if not beside.is_file():
                raise TraceError(path, None, None, f"no {beside.name} beside it", "both tables in one folder")
            return (path, beside) if given == _JOBS else (beside, path)
    raise TraceError(path, None, None, f"the name {path.name!r}", f"{_JOBS}.csv, with {_TASKS}.csv beside it")


def _table(path: Path, text: str, kind: str, rejects: Rejects) -> Table:
    if header_of(text)[:1] == ["job_name"]:  # a copy that somebody gave a header line
        return read_table(path, text, _REQUIRED[kind], rejects)
    beside = path.with_suffix(".header")
    names_of = next(csv.reader([read_text(beside) if beside.is_file() else _HEADERS[kind]]))
    header = [name.strip() for name in names_of]
    for name in _REQUIRED[kind]:
        if name not in header:
            raise TraceError(beside, 1, name, repr(",".join(header)[:200]), "a column of this name")
    return read_table(path, text, _REQUIRED[kind], rejects, header)


@dataclass(frozen=True, eq=False)
class _TasksOfJobs:
    """What the task table says of each job; every array has the shape (J,).

    Attributes:
        tasks: number of rows.
        spoilt: whether one of them is unusable.
        gpus: of all tasks, 0 for a CPU job.
        share: milli-GPU on each of them.
        started: s, the earliest start of a task, inf without any.
    """

    tasks: Array
    spoilt: Array
    gpus: Array
    share: Array
    started: Array


def _join(ids: list[str], tasks: Table, rejects: Rejects) -> _TasksOfJobs:
    number = {name: index for index, name in reversed(list(enumerate(ids)))}  # of two alike the first counts
    owner = np.array([number.get(name.strip(), -1) for name in tasks.columns["job_name"]], np.int64)
    checks = RowChecks(rejects, tasks.rows)
    checks.require(owner >= 0, "job_name", tasks.columns["job_name"], "a job of the job table")
    owned = checks.keep.copy()
    instances = gpu_counts(checks, tasks.columns["inst_num"], "inst_num")
    percent = [cell.strip() or "0" for cell in tasks.columns["plan_gpu"]]
    demand = numbers(checks, percent, "plan_gpu", 0, 100 * LARGEST_GPUS, "per cent of a GPU, 0 or more") / 100.0
    started = times(checks, [cell.strip() or "0" for cell in tasks.columns["start_time"]], "start_time")

    jobs, usable = len(ids), checks.keep
    spoilt = np.bincount(owner[owned & ~usable], minlength=jobs) > 0
    asking = usable & (demand > 0)
    each, share = gpus_and_share(np.where(asking, demand, 1.0))
    gpus = np.where(asking, each * instances, 0)
    total = np.bincount(owner[asking], gpus[asking], jobs).astype(np.int64)
    milli = np.bincount(owner[asking], (gpus * share)[asking], jobs)
    first = np.full(jobs, np.inf)
    begun = usable & (started > 0)
    np.minimum.at(first, owner[begun], started[begun])
    return _TasksOfJobs(
        tasks=np.bincount(owner[owned], minlength=jobs),
        spoilt=spoilt,
        gpus=total,
        share=np.clip(np.rint(milli / np.maximum(total, 1)), 1, WHOLE_GPU).astype(np.int64),
        started=first,
    )


def _present_times(checks: RowChecks, cells: list[str], field: str) -> Array:
    seconds = times(checks, [cell.strip() or "0" for cell in cells], field)
    checks.require(seconds > 0, field, cells, "a time above 0")
    return seconds
