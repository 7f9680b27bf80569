"""A trace: when jobs came, how long they ran, how many GPUs they had. The rest is filled in from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import ClusterConfig
from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads.assemble import assemble
from mlfs_gym.workloads.fill import JobMix, Parallelism, fill
from mlfs_gym.workloads.skips import SkipReport
from mlfs_gym.workloads.traces.columns import UNKNOWN_SHARE
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks, check_on_error
from mlfs_gym.workloads.workload import Workload

Seed = int | np.random.Generator


@dataclass(frozen=True, eq=False)
class Trace:
    """Jobs in order of arrival; every array has the shape (J,).

    Attributes:
        file: where they come from.
        format: name of the reader.
        rows: row in the file, from 1: lines of a table, entries of a list.
        ids: names, unique.
        arrival: s after the first arrival.
        run_time: s on all its GPUs.
        num_gpus: 1 or more.
        family: index into `mlfs_gym.workloads.profiles.FAMILIES`, -1 where the trace does not say.
        gpu_share: milli-GPU that the job asks for on each of its GPUs: 1000 is a whole one, less may share it with
            others; -1 where the trace does not say.
        virtual_clusters: names, empty where the trace does not say.
        users: likewise.
        skipped: rows of the file that are not here, and why.
    """

    file: Path
    format: str
    rows: Array
    ids: Array
    arrival: Array
    run_time: Array
    num_gpus: Array
    family: Array
    gpu_share: Array
    virtual_clusters: Array
    users: Array
    skipped: SkipReport

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def gpu_seconds(self) -> float:
        """GPU time of all jobs; a shared GPU counts as a whole one."""
        return float((self.run_time * self.num_gpus).sum())

    def taking(self, which: Array | slice) -> Trace:
        """Some of the jobs; the first of them arrives at 0."""
        changes: dict[str, Any] = {
            field.name: getattr(self, field.name)[which]
            for field in fields(self)
            if field.name not in ("file", "format", "skipped")
        }
        if len(changes["arrival"]):
            changes["arrival"] = changes["arrival"] - changes["arrival"][0]
        return replace(self, **changes)

    def limited(
        self,
        max_gpus: int | None = None,
        min_run_seconds: float | None = None,
        max_run_seconds: float | None = None,
        on_error: OnError = "skip",
    ) -> Trace:
        """The jobs within limits; the others are counted in `skipped`, or raise.

        Args:
            max_gpus: for instance all GPUs of the cluster.
            min_run_seconds: shortest run time.
            max_run_seconds: longest run time.
            on_error: ``raise`` to raise `TraceError` for the first job outside the limits.
        """
        check_on_error(on_error)
        rejects = Rejects(self.file, on_error)
        checks = RowChecks(rejects, self.rows)
        if max_gpus is not None:
            gpus = self.num_gpus.tolist()
            checks.require(self.num_gpus <= max_gpus, "num_gpus", gpus, f"at most {max_gpus} GPUs")
        run_time = self.run_time.tolist()
        if min_run_seconds is not None:
            checks.require(self.run_time >= min_run_seconds, "run_time", run_time, f"at least {min_run_seconds:g} s")
        if max_run_seconds is not None:
            checks.require(self.run_time <= max_run_seconds, "run_time", run_time, f"at most {max_run_seconds:g} s")
        if bool(checks.keep.all()):
            return self
        skipped = self.skipped
        for reason, rows in rejects.report().rows:
            skipped = skipped.adding(reason, rows)
        return replace(self.taking(checks.keep), skipped=skipped)

    def window(self, start: int, jobs: int) -> Trace:
        """Consecutive jobs.

        Raises:
            SettingsError: there are not so many.
        """
        if not (start >= 0 and jobs >= 1 and start + jobs <= len(self)):
            raise SettingsError(f"window: found {jobs} jobs from {start}, expected a part of {len(self)} jobs")
        return self.taking(slice(start, start + jobs))

    def sample_window(
        self,
        rng: np.random.Generator,
        jobs: int,
        *,
        cluster: ClusterConfig | Mapping[str, Any],
        load: float | None = None,
        max_run_seconds: float | None = None,
        parallelism: Parallelism = "ml",
        mix: JobMix | Mapping[str, Any] | None = None,
    ) -> Workload:
        """A workload of consecutive jobs from a place drawn at random, for training.

        Args:
            rng: draws the place and what the trace lacks.
            jobs: how many; all of them if the trace holds fewer.
            cluster: jobs with more GPUs than it has are left out before the window is drawn, and counted in
                ``workload.skipped``.
            load: see `to_workload`.
            max_run_seconds: longer jobs are left out and counted likewise.
            parallelism: see `to_workload`.
            mix: see `to_workload`.

        Raises:
            TraceError: no job fits.
            SettingsError: a wrong argument.
        """
        if jobs < 1:
            raise SettingsError(f"jobs: found {jobs}, expected 1 or more")
        settings = ClusterConfig.parse(cluster)
        fitting = _fitting(self, settings.total_gpus, max_run_seconds)
        jobs = min(jobs, len(fitting))
        start = int(rng.integers(0, len(fitting) - jobs + 1))
        return fitting.to_workload(
            rng, cluster=settings, parallelism=parallelism, window=(start, jobs), load=load, mix=mix
        )

    def to_workload(
        self,
        seed: Seed = 0,
        *,
        cluster: ClusterConfig | Mapping[str, Any] | None = None,
        parallelism: Parallelism = "ml",
        window: tuple[int, int] | None = None,
        load: float | None = None,
        mix: JobMix | Mapping[str, Any] | None = None,
        on_error: OnError = "raise",
    ) -> Workload:
        """Fill in model, parallelism, deadline, accuracy requirement and all else that a trace lacks.

        Args:
            seed: a number, or a generator to draw from; the same seed fills in the same.
            cluster: jobs with more GPUs than it has raise, or are skipped and counted in ``workload.skipped``.
            parallelism: ``ml``: replicas and partitions as the model family allows; ``gang``: one replica that
                needs all its GPUs and exchanges nothing, as in simulators that know no more of a job.
            window: first job and number of jobs to take.
            load: stretch or squeeze the arrivals to this ratio of GPU time asked for to GPU time there is until the
                last arrival; needs `cluster`. Jobs that all arrive at once are spread evenly.
            mix: how features are drawn.
            on_error: what to do with jobs that the cluster cannot hold.

        Raises:
            TraceError: a job has more GPUs than the cluster; none is left.
            SettingsError: a wrong argument.
        """
        if parallelism not in ("ml", "gang"):
            raise SettingsError(f"parallelism: found {parallelism!r}, expected 'ml' or 'gang'")
        if load is not None and (cluster is None or not 0 < load <= 1000):
            raise SettingsError(f"load: found {load}, expected a number above 0, at most 1000, and a cluster")
        settings = None if cluster is None else ClusterConfig.parse(cluster)
        part = self if window is None else self.window(*window)
        if settings is not None:
            part = part.limited(max_gpus=settings.total_gpus, on_error=on_error)
            _require_some(part)
        arrival = part.arrival
        if load is not None and settings is not None:
            arrival = _rescaled(arrival, part.gpu_seconds / (settings.total_gpus * load))
        columns = fill(
            np.random.default_rng(seed),
            arrival,
            part.run_time,
            part.num_gpus,
            JobMix.parse(mix),
            parallelism,
            part.family,
            part.gpu_share,
        )
        return assemble(
            columns,
            name=self.file.name,
            job_ids=part.ids.tolist(),
            connected=parallelism == "ml",
            skipped=part.skipped,
        )


@lru_cache(maxsize=16)
def _fitting(trace: Trace, max_gpus: int, max_run_seconds: float | None) -> Trace:
    """The jobs within limits, found once for all the windows that training draws."""
    part = trace.limited(max_gpus=max_gpus, max_run_seconds=max_run_seconds)
    _require_some(part)
    return part


def _require_some(trace: Trace) -> None:
    if len(trace) == 0:
        reasons = "; ".join(trace.skipped.lines())
        raise TraceError(trace.file, None, None, f"no job that fits ({reasons})", "at least one")


def _rescaled(arrival: Array, span: float) -> Array:
    last = float(arrival[-1]) if len(arrival) else 0.0
    rescaled: Array = arrival * (span / last) if last > 0 else np.linspace(0.0, span, len(arrival))
    return rescaled


def in_order_of_arrival(
    file: Path,
    format_name: str,
    checks: RowChecks,
    rejects: Rejects,
    *,
    rows: Array,
    ids: list[str],
    submitted: Array,
    run_time: Array,
    num_gpus: Array,
    family: Array | None = None,
    gpu_share: Array | None = None,
    virtual_clusters: list[str] | None = None,
    users: list[str] | None = None,
) -> Trace:
    """A trace of the rows that passed all checks; what is None the trace does not say."""
    nobody = [""] * len(rows)
    kept = np.flatnonzero(checks.keep)
    order = kept[np.argsort(submitted[kept], kind="stable")]
    return Trace(
        file=file,
        format=format_name,
        rows=rows[order],
        ids=np.array(ids, object)[order],
        arrival=submitted[order] - (submitted[order[0]] if len(order) else 0.0),
        run_time=run_time[order],
        num_gpus=num_gpus[order],
        family=np.full(len(order), -1) if family is None else family[order],
        gpu_share=np.full(len(order), UNKNOWN_SHARE) if gpu_share is None else gpu_share[order],
        virtual_clusters=np.array(virtual_clusters or nobody, object)[order],
        users=np.array(users or nobody, object)[order],
        skipped=rejects.report(),
    )
