"""Figures that the text of the page needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlfs_gym.report.compare.settings import CompareConfig
from mlfs_gym.report.compare.summary import AS_PUBLISHED, Summary
from mlfs_gym.report.paired import Difference
from mlfs_gym.report.tables import Unit
from mlfs_gym.schedulers.ablations import MLF_H_WITHOUT
from mlfs_gym.workloads.presets import make_workload

UNITS = {
    "average_jct_s": Unit(" min", 1 / 60, 1),
    "average_waiting_s": Unit(" min", 1 / 60, 1),
    "makespan_s": Unit(" h", 1 / 3600, 0),
    "deadline_ratio": Unit("%", 100.0, 1),
    "average_accuracy": Unit("%", 100.0, 1),
    "bandwidth_tb": Unit(" TB", 1.0, 0),
}
LONG_SECONDS = 68_700.0  # 19 h, the 95th percentile of Philly's run times


class Figures:
    """Means, in the units of tables.

    Args:
        summary: of the comparison.
    """

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.competitors = [name for name in summary.schedulers if name not in MLF_H_WITHOUT]
        self.rivals = [name for name in summary.schedulers if not name.startswith("mlf_h")]

    def __call__(self, scheduler: str, metric: str, jobs: int, gpus: str = AS_PUBLISHED) -> str:
        """A mean with its unit, as in "260.5 min"."""
        unit = UNITS[metric]
        return f"{unit.number(self.summary.mean(scheduler, gpus, jobs, metric).mean)}{unit.name}"

    def effect(self, first: str, second: str, metric: str, jobs: int, gpus: str) -> Difference:
        """Of the first relative to the second."""
        return self.summary.relative(first, gpus, jobs, metric, second)

    def span(self, schedulers: list[str], metric: str, jobs: int, gpus: str = AS_PUBLISHED) -> str:
        """Lowest and highest mean of some schedulers, as in "251.3 to 252.3 min"."""
        means = [self.summary.mean(name, gpus, jobs, metric).mean for name in schedulers]
        unit = UNITS[metric]
        return f"{unit.number(min(means))} to {unit.number(max(means))}{unit.name}"

    def rank(self, scheduler: str, jobs: int, gpus: str) -> int:
        """Place by average JCT, 1 the shortest; schedulers that stand for an ablation are left out."""
        return [name for name, _ in self.ranking(jobs, gpus)].index(scheduler) + 1

    def ranking(self, jobs: int, gpus: str) -> list[tuple[str, float]]:
        """Schedulers and their average JCT in minutes, the shortest first."""
        means = {n: self.summary.mean(n, gpus, jobs, "average_jct_s").mean / 60.0 for n in self.competitors}
        return sorted(means.items(), key=lambda pair: pair[1])

    @cached_property
    def load(self) -> dict[int, Load]:
        """By number of jobs."""
        return {int(size): load_of(self.summary.config, int(size)) for size in self.summary.sizes}


@dataclass(frozen=True)
class Load:
    """What the workloads demand, whoever schedules them; means over seeds.

    Attributes:
        offered: ideal GPU-seconds over those that the cluster has until the last arrival.
        mean_run_time_min: ideal run time, alone on the cluster.
        median_run_time_min: the same.
        long_share: part of the run time that is in jobs of more than 19 h.
        slack_h: median time between deadline and arrival that a job does not need for its ideal run time.
        makespan_h: the earliest end of the last job, each starting as it arrives.
    """

    offered: float
    mean_run_time_min: float
    median_run_time_min: float
    long_share: float
    slack_h: float
    makespan_h: float


def load_of(config: CompareConfig, jobs: int) -> Load:
    """Draw the workloads of a comparison anew."""
    gpus = config.cluster.servers * config.cluster.gpus_per_server
    rows = []
    for seed in config.seeds:
        table = make_workload(config.workload, seed, jobs=jobs).jobs
        run_time = table["max_iterations"] * table["ideal_iteration_time"]
        rows.append(
            (
                (run_time * table["num_gpus"]).sum() / (gpus * table["arrival"].max()),
                run_time.mean() / 60.0,
                np.median(run_time) / 60.0,
                run_time[run_time > LONG_SECONDS].sum() / run_time.sum(),
                np.median(table["deadline"] - table["arrival"] - run_time) / 3600.0,
                (table["arrival"] + run_time).max() / 3600.0,
            )
        )
    return Load(*(float(value) for value in np.mean(rows, axis=0)))
