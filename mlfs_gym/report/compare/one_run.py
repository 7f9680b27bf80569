"""Play one run in a worker process and leave its results in the folder."""

from __future__ import annotations

import gzip
import json
import os
import time
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mlfs_gym.config import ClusterConfig
from mlfs_gym.report.compare.fingerprint import package_code, source_of
from mlfs_gym.report.compare.plan import Run
from mlfs_gym.report.own_code import own_traceback
from mlfs_gym.report.simulate import Result, simulate
from mlfs_gym.workloads.presets import make_workload
from mlfs_gym.workloads.workload import Workload

QUANTILES = tuple(percent / 100 for percent in range(101))


def play(run: Run, workload: str, cluster: ClusterConfig, folder: Path) -> str | None:
    """Play a run and write its files. Returns a traceback, from the scheduler's own code on, if it fails.

    The record of a run is written last and at once: where it is, the run is complete.
    """
    begin = time.perf_counter()
    try:
        jobs = _workload(workload, run.seed, tuple(run.workload_options.items()))
        result = simulate(jobs, run.scheduler, cluster, {"sharing": run.gpus == "shared"}, run.seed)
    except Exception as error:
        return own_traceback(error) or traceback.format_exc()
    table = result.jobs.to_csv(index=False).encode()
    # The same bytes for the same jobs: no time stamp.
    _write_at_once(folder / "jobs" / f"{run.key}.csv.gz", gzip.compress(table, compresslevel=1, mtime=0))
    record = record_of(run, result, time.perf_counter() - begin)
    _write_at_once(folder / "runs" / f"{run.key}.json", f"{json.dumps(record)}\n".encode())
    return None


def record_of(run: Run, result: Result, seconds: float) -> dict[str, Any]:
    """What is kept of a run beside its jobs; `timing` depends on the machine, the rest does not."""
    rows = result.cluster.jobs
    jct = np.sort(rows["finish"] - rows["arrival"])  # a job that has not ended is nan, and last
    decisions = 1e3 * np.asarray(result.scheduler_seconds)
    return {
        "scheduler": run.scheduler,
        "gpus": run.gpus,
        "size": run.size,
        "seed": run.seed,
        "made_by": {"source": source_of(run.scheduler), "package": package_code()},
        "reached_time_limit": result.reached_limit,
        "metrics": result.metrics,
        "jct_quantiles_s": np.quantile(jct, QUANTILES, method="inverted_cdf").tolist(),
        "timing": {
            "scheduler_ms_median": float(np.median(decisions)) if len(decisions) else 0.0,
            "scheduler_ms_mean": float(decisions.mean()) if len(decisions) else 0.0,
            "scheduler_ms_p95": float(np.percentile(decisions, 95)) if len(decisions) else 0.0,
            "wall_s": seconds,
        },
    }


@lru_cache(maxsize=4)
def _workload(name: str, seed: int, options: tuple[tuple[str, Any], ...]) -> Workload:
    return make_workload(name, seed, **dict(options))


def _write_at_once(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    temporary.write_bytes(content)
    os.replace(temporary, path)
