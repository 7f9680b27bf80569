"""The runs of a comparison and their names."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from mlfs_gym.report.compare.settings import CompareConfig, Gpus, SizeIs


@dataclass(frozen=True)
class Run:
    """One scheduler on one workload.

    Attributes:
        scheduler: its name.
        gpus: may tasks share them?
        size_is: what `size` counts.
        size: number of jobs, or load; 0: the workload has one size.
        seed: of workload and simulation.
    """

    scheduler: str
    gpus: Gpus
    size_is: SizeIs
    size: float
    seed: int

    @property
    def key(self) -> str:
        """Name of its files."""
        return f"{_file_name(self.scheduler)}__{self.gpus}__{size_label(self.size_is, self.size)}__seed{self.seed}"

    @property
    def workload_options(self) -> dict[str, float | int]:
        """For `make_workload`."""
        if self.size == 0:
            return {}
        return {"jobs": int(self.size)} if self.size_is == "jobs" else {"load": self.size}


def size_label(size_is: SizeIs, size: float) -> str:
    """For file names and headers without spaces."""
    return f"{size:g}{size_is}" if size else "all"


def plan(config: CompareConfig) -> list[Run]:
    """All runs, the longest first, so that no process is left alone with a long one at the end."""
    return [
        Run(scheduler, gpus, config.size_is, size, seed)
        for size in sorted(config.sizes, reverse=True)
        for gpus in config.gpus
        for scheduler in config.schedulers
        for seed in config.seeds
    ]


def _file_name(scheduler: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_.+-]", "_", scheduler)
    # Two names that differ must not meet in one file.
    return plain if plain == scheduler else f"{plain}-{zlib.crc32(scheduler.encode()):08x}"
