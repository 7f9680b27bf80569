"""What a trace holds, in numbers and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.workloads.skips import SkipReport
from mlfs_gym.workloads.traces.columns import WHOLE_GPU
from mlfs_gym.workloads.traces.read import read_trace
from mlfs_gym.workloads.traces.rejects import OnError
from mlfs_gym.workloads.traces.trace import Trace

PERCENTILES = (10, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True)
class TraceDescription:
    """Numbers about a trace.

    Attributes:
        file: the trace.
        format: of the file.
        jobs: that can be used.
        span_seconds: from the first to the last arrival.
        gpu_hours: of all jobs.
        average_busy_gpus: GPU time over span, None without a span.
        jobs_by_gpus: number of jobs by GPU request.
        run_time_seconds: percentiles.
        inter_arrival_seconds: percentiles, empty for a single job.
        mean_run_time_seconds: of all jobs.
        shared_gpu_jobs: how many ask for less than whole GPUs.
        virtual_clusters: how many different ones, 0 where the trace does not say.
        users: likewise.
        skipped: rows that cannot be used, and why.
    """

    file: str
    format: str
    jobs: int
    span_seconds: float
    gpu_hours: float
    average_busy_gpus: float | None
    jobs_by_gpus: dict[int, int]
    run_time_seconds: dict[int, float]
    inter_arrival_seconds: dict[int, float]
    mean_run_time_seconds: float
    shared_gpu_jobs: int
    virtual_clusters: int
    users: int
    skipped: SkipReport

    def as_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        plain = asdict(self)
        plain["skipped"] = self.skipped.counts
        return plain

    def lines(self) -> list[str]:
        """For the terminal."""
        busy = "" if self.average_busy_gpus is None else f", {self.average_busy_gpus:,.1f} GPUs busy on average"
        by_gpus = ", ".join(f"{gpus}: {jobs} ({jobs / self.jobs:.1%})" for gpus, jobs in self.jobs_by_gpus.items())
        text = [
            f"file             {self.file}",
            f"format           {self.format}",
            f"jobs             {self.jobs}",
            f"span             {self.span_seconds / 86_400:,.2f} days",
            f"GPU-hours        {self.gpu_hours:,.1f}{busy}",
            f"jobs by GPUs     {by_gpus}",
            f"run time         {_percentiles(self.run_time_seconds)}, mean {self.mean_run_time_seconds:,.6g} s",
            f"inter-arrival    {_percentiles(self.inter_arrival_seconds)}",
        ]
        if self.shared_gpu_jobs:
            text.append(f"shared GPUs      {self.shared_gpu_jobs} jobs")
        if self.virtual_clusters:
            text.append(f"virtual clusters {self.virtual_clusters}")
        if self.users:
            text.append(f"users            {self.users}")
        text.append(f"skipped          {self.skipped.total}")
        text += [f"                 {line}" for line in self.skipped.lines()]
        return text

    def __str__(self) -> str:
        return "\n".join(self.lines())


def describe_trace(
    path: str | PathLike[str],
    on_error: OnError = "skip",
    format: str = "auto",  # noqa: A002
) -> TraceDescription:
    """Read a trace and describe it.

    Raises:
        TraceError: the file cannot be used at all, or, with ``on_error="raise"``, one of its rows.
    """
    return describe(read_trace(path, format, on_error))


def describe(trace: Trace) -> TraceDescription:
    """Describe a trace of at least one job."""
    span = float(trace.arrival[-1])
    requests, counts = np.unique(trace.num_gpus, return_counts=True)
    return TraceDescription(
        file=str(trace.file),
        format=trace.format,
        jobs=len(trace),
        span_seconds=span,
        gpu_hours=trace.gpu_seconds / 3600.0,
        average_busy_gpus=trace.gpu_seconds / span if span > 0 else None,
        jobs_by_gpus=dict(zip(requests.tolist(), counts.tolist(), strict=True)),
        run_time_seconds=_percentiles_of(trace.run_time),
        inter_arrival_seconds=_percentiles_of(np.diff(trace.arrival)),
        mean_run_time_seconds=float(trace.run_time.mean()),
        shared_gpu_jobs=int(((trace.gpu_share > 0) & (trace.gpu_share < WHOLE_GPU)).sum()),
        virtual_clusters=len(set(trace.virtual_clusters.tolist()) - {""}),
        users=len(set(trace.users.tolist()) - {""}),
        skipped=trace.skipped,
    )


def _percentiles_of(values: Array) -> dict[int, float]:
    if len(values) == 0:
        return {}
    return dict(zip(PERCENTILES, np.percentile(values, PERCENTILES).tolist(), strict=True))


def _percentiles(values: dict[int, float]) -> str:
    if not values:
        return "none"
    return ", ".join(f"p{percent} {value:,.6g} s" for percent, value in values.items())
