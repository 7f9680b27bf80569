"""The full Philly log, ``cluster_job_log``: a JSON list of jobs with their attempts.

``{status, vc, jobid, attempts: [{start_time, end_time, detail: [{ip, gpus: [...]}]}], submitted_time, user}``; times
as 2017-10-01 23:59:59 or the string "None". Run time is the sum over attempts, GPUs are those of the first one.
Jeon et al., USENIX ATC 2019.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import TraceError
from mlfs_gym.workloads.traces.columns import (
    LARGEST_GPUS,
    LARGEST_RUN_TIME,
    TIME_EXPECTED,
    parse_times,
)
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks, quoted
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "philly-json"


@dataclass
class _Entries:
    """The log as columns: one entry per job, and one per attempt with the number of its job."""

    rows: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    submitted: list[Any] = field(default_factory=list)
    num_gpus: list[int] = field(default_factory=list)
    virtual_clusters: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    attempt_of: list[int] = field(default_factory=list)
    started: list[Any] = field(default_factory=list)
    ended: list[Any] = field(default_factory=list)


def read(path: Path, text: str, on_error: OnError) -> Trace:
    """Read the text of such a file; row numbers count the entries of the list from 1."""
    rejects = Rejects(path, on_error)
    entries = _collect(_parse(path, text), rejects)
    rows = np.array(entries.rows, np.int64)
    checks = RowChecks(rejects, rows)
    submitted = parse_times(entries.submitted)
    checks.require(np.isfinite(submitted), "submitted_time", entries.submitted, TIME_EXPECTED)
    run_time = _run_times(entries, checks)
    num_gpus = np.array(entries.num_gpus, np.int64)
    checks.require(
        (num_gpus >= 1) & (num_gpus <= LARGEST_GPUS), "gpus", entries.num_gpus, f"from 1 to {LARGEST_GPUS} GPUs"
    )
    checks.require_unique(entries.ids, "jobid")
    return in_order_of_arrival(
        path,
        NAME,
        checks,
        rejects,
        rows=rows,
        ids=entries.ids,
        submitted=submitted,
        run_time=run_time,
        num_gpus=num_gpus,
        virtual_clusters=entries.virtual_clusters,
        users=entries.users,
    )


def _parse(path: Path, text: str) -> list[Any]:
    try:
        log = json.loads(text)
    except json.JSONDecodeError as error:
        raise TraceError(path, error.lineno, None, f"broken JSON ({error.msg})", "a JSON list of jobs") from None
    except (RecursionError, ValueError) as error:  # lists in lists without end, numbers of thousands of digits
        raise TraceError(path, None, None, f"JSON that cannot be read ({error})", "a JSON list of jobs") from None
    if not isinstance(log, list):
        raise TraceError(path, None, None, f"a JSON {type(log).__name__}", "a JSON list of jobs")
    return log


def _collect(log: list[Any], rejects: Rejects) -> _Entries:
    entries = _Entries()
    for row, job in enumerate(log, start=1):
        complaint = _complaint(job)
        if complaint is not None:
            rejects.reject(row, *complaint)
            continue
        number = len(entries.rows)
        entries.rows.append(row)
        entries.ids.append(str(job["jobid"]).strip())
        entries.submitted.append(job["submitted_time"])
        entries.num_gpus.append(sum(len(part["gpus"]) for part in job["attempts"][0]["detail"]))
        entries.virtual_clusters.append(str(job.get("vc", "")))
        entries.users.append(str(job.get("user", "")))
        for attempt in job["attempts"]:
            entries.attempt_of.append(number)
            entries.started.append(attempt["start_time"])
            entries.ended.append(attempt["end_time"])
    return entries


def _complaint(job: Any) -> tuple[str | None, str, str] | None:
    """Field, what was found and what is expected, if the entry does not have the shape of a job."""
    if not isinstance(job, dict):
        return None, quoted(job), "an object with jobid, submitted_time and attempts"
    for key in ("jobid", "submitted_time", "attempts"):
        if key not in job:
            return key, "no such key", "a value"
    if not isinstance(job["jobid"], str) or not job["jobid"].strip():
        return "jobid", quoted(job["jobid"]), "a name"
    attempts = job["attempts"]
    if not isinstance(attempts, list) or not attempts:
        return "attempts", quoted(attempts), "a list of at least one attempt"
    for attempt in attempts:
        if not isinstance(attempt, dict) or "start_time" not in attempt or "end_time" not in attempt:
            return "attempts", quoted(attempt), "attempts with start_time and end_time"
    detail = attempts[0].get("detail")
    if not isinstance(detail, list):
        return "detail", quoted(detail), "a list of servers"
    for part in detail:
        if not isinstance(part, dict) or not isinstance(part.get("gpus"), list):
            return "detail", quoted(part), "servers with a list of gpus"
    return None


def _run_times(entries: _Entries, checks: RowChecks) -> Array:
    """Sum over attempts; a job is rejected when one of them has no start, no end, or an end before its start."""
    owner = np.array(entries.attempt_of, np.int64)
    started, ended = parse_times(entries.started), parse_times(entries.ended)
    for name, times, cells in (
        ("start_time", started, entries.started),
        ("end_time", ended, entries.ended),
    ):
        _require_attempts(checks, np.isfinite(times), owner, name, cells, TIME_EXPECTED)
    with np.errstate(invalid="ignore"):
        _require_attempts(checks, ~(ended < started), owner, "end_time", entries.ended, "a time not before start_time")
    jobs = len(entries.rows)
    run_time = np.bincount(owner, np.nan_to_num(ended - started), jobs) if jobs else np.zeros(0)
    good = (run_time > 0) & (run_time <= LARGEST_RUN_TIME)
    checks.require(good, "attempts", [f"{seconds:g} s" for seconds in run_time], "a run time above 0 s, at most 1e8 s")
    return run_time


def _require_attempts(checks: RowChecks, good: Array, owner: Array, name: str, cells: list[Any], expected: str) -> None:
    """Reject the jobs of the attempts that are not good, quoting the first such attempt of each."""
    jobs_good = np.ones(len(checks.keep), bool)
    found: list[Any] = [None] * len(checks.keep)
    for attempt in np.flatnonzero(~good)[::-1].tolist():
        jobs_good[owner[attempt]] = False
        found[owner[attempt]] = cells[attempt]
    checks.require(jobs_good, name, found, expected)
