"""The workloads of Pollux' simulator: ``name,time,application,num_replicas,batch_size``.

`time` is in seconds; `num_replicas` is the GPUs that a knowing user would ask for. There are no run times: there, a
job ends when its model has converged. Its generator (``workload.py`` of the artifact) draws jobs from Philly and
gives each category of GPU time its applications (Qiao et al., OSDI 2021, section 5.1):

| category | GPU-hours   | applications      | taken here, GPU-hours |
|----------|-------------|-------------------|-----------------------|
| small    | 0 to 1      | cifar10, ncf      | 0.32                  |
| medium   | 1 to 10     | deepspeech2, bert | 3.2                   |
| large    | 10 to 100   | yolov3            | 32                    |
| x-large  | 100 to 1000 | imagenet          | 320                   |

What is taken is the geometric middle of the category, small beginning at 0.1; the run time is that over the GPUs. To
say better, pass `gpu_hours`, or add a column `duration`, in seconds: where a cell of it is filled, it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from mlfs_gym.workloads.traces.columns import gpu_counts, names, read_table, run_times, times
from mlfs_gym.workloads.traces.rejects import OnError, Rejects, RowChecks
from mlfs_gym.workloads.traces.trace import Trace, in_order_of_arrival

NAME = "pollux-csv"
REQUIRED = ("name", "time", "application", "num_replicas")

GPU_HOURS: Final[Mapping[str, float]] = {
    "cifar10": 0.32,
    "ncf": 0.32,
    "deepspeech2": 3.2,
    "bert": 3.2,
    "yolov3": 32.0,
    "imagenet": 320.0,
}
"""GPU time of a job, by application."""

# Table 1 of the paper: ResNet-18 on CIFAR-10, ResNet-50 on ImageNet. No other application is one of our families.
_RESNET: Final = FAMILY_NAMES.index("ResNet")
_FAMILIES: Final = {"cifar10": _RESNET, "imagenet": _RESNET}


def read(path: Path, text: str, on_error: OnError, gpu_hours: Mapping[str, float] | None = None) -> Trace:
    """Read the text of such a file.

    Args:
        path: the file.
        text: what it holds.
        on_error: what to do at a bad row.
        gpu_hours: GPU-hours by application; they come before those of the table above.
    """
    hours = {**GPU_HOURS, **_checked(gpu_hours or {})}
    rejects = Rejects(path, on_error)
    table = read_table(path, text, REQUIRED, rejects)
    checks = RowChecks(rejects, table.rows)
    submitted = times(checks, table.columns["time"], "time")
    num_gpus = gpu_counts(checks, table.columns["num_replicas"], "num_replicas")
    applications = table.columns["application"]
    told = table.get("duration")
    known = np.array([bool(cell.strip()) or name in hours for cell, name in zip(told, applications, strict=True)], bool)
    checks.require(known, "application", applications, f"one of {', '.join(hours)}, or a duration")
    typical = 3600.0 * np.array([hours.get(name, 1.0) for name in applications]) / num_gpus
    durations = [cell.strip() or repr(seconds) for cell, seconds in zip(told, typical.tolist(), strict=True)]
    run_time = run_times(checks, durations, "duration")
    ids = names(checks, table.columns["name"], "name")
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
        family=np.array([_FAMILIES.get(name, -1) for name in applications], np.int64),
    )


def _checked(gpu_hours: Mapping[str, float]) -> Mapping[str, float]:
    for application, hours in gpu_hours.items():
        if not 0 < hours <= 1e6:
            raise SettingsError(f"gpu_hours: found {hours} for {application!r}, expected above 0, at most 1e6")
    return gpu_hours
