"""Compare schedulers: run what is missing, then make tables and plots."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlfs_gym.errors import SettingsError
from mlfs_gym.report.compare.folder import ComparisonFolder, tables_of
from mlfs_gym.report.compare.plan import Run, plan
from mlfs_gym.report.compare.settings import CompareConfig, compare_config
from mlfs_gym.report.compare.summary import Summary
from mlfs_gym.report.compare.workers import run_all

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        folder: where everything is.
        config: what was compared.
        runs: one row per run: scheduler, gpus, size, seed, and `mlfs_gym.report.metrics.METRICS`.
        timing: one row per run: wall-clock times of decisions (milliseconds) and of the run (seconds).
        jct_quantiles: one row per run: JCT in seconds at 0%, 1%, ... 100% of the jobs.
        failed: keys of runs whose scheduler raised, with tracebacks.
    """

    folder: Path
    config: CompareConfig
    runs: pd.DataFrame
    timing: pd.DataFrame
    jct_quantiles: pd.DataFrame
    failed: Mapping[str, str] = field(default_factory=dict)

    def summary(self, reference: str | None = None) -> Summary:
        """Means and paired differences to a reference: MLF-H if it took part, else the first."""
        return Summary(self.config, self.runs, self.timing, reference)

    def write_report(self, reference: str | None = None, plots: bool = True) -> None:
        """Write `summary.md`, the tables in `tables/` and the plots in `plots/`."""
        self.summary(reference).write(self.folder)
        if plots and len(self.runs):
            from mlfs_gym.report.plots.figures import write_figures

            write_figures(self, self.folder / "plots")


def compare(
    schedulers: list[str] | None = None,
    folder: str | Path = "comparisons/testbed",
    *,
    processes: int | None = None,
    reference: str | None = None,
    plots: bool = True,
    on_progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Run schedulers on the same workloads, and make the tables and plots of the paper's figures 4 to 9.

    What is in the folder already is not run again: an interrupted comparison goes on, a finished one can be extended
    by schedulers, sizes and seeds.

    In Python::

        import mlfs_gym

        found = mlfs_gym.compare(["mlf_h", "fifo"], "comparisons/first", jobs=[155, 310], seeds=3)
        print(found.runs.groupby(["scheduler", "gpus", "size"])["average_jct_s"].mean())

    (In a script, under ``if __name__ == "__main__":``, as worker processes import it.)

    Args:
        schedulers: names, ``module:Class`` for your own; None for all.
        folder: where results go.
        processes: worker processes; by default one per core.
        reference: of the paired differences; by default MLF-H if it takes part, else the first.
        plots: make plots.
        on_progress: called with runs done, runs in all and a name.
        **options: of `mlfs_gym.report.compare.settings.compare_config`: workload, jobs, loads, seeds, first_seed, gpus,
            ablations, servers, gpus_per_server.

    Raises:
        SettingsError: a setting is wrong, or the folder holds a comparison on other workloads.
    """
    return run_comparison(compare_config(schedulers, **options), folder, processes, reference, plots, on_progress)


def run_comparison(
    config: CompareConfig,
    folder: str | Path,
    processes: int | None = None,
    reference: str | None = None,
    plots: bool = True,
    on_progress: Progress | None = None,
) -> Comparison:
    """`compare` with settings that have been put together."""
    if processes is not None and processes < 1:
        raise SettingsError(f"processes: found {processes}, expected 1 or more")
    if reference is not None and reference not in config.schedulers:
        raise SettingsError(f"reference: found {reference!r}, expected one of {', '.join(config.schedulers)}")
    home = ComparisonFolder(Path(folder))
    everything = home.open_for(config)
    runs = plan(config)
    missing = [run for run in runs if not home.is_complete(run)]
    failed: dict[str, str] = {}
    done = len(runs) - len(missing)

    def on_run(run: Run, problem: str | None) -> None:
        nonlocal done
        done += 1
        note = home.path / "failed" / f"{run.key}.txt"
        if problem is None:
            note.unlink(missing_ok=True)
        else:
            failed[run.key] = problem
            note.write_text(problem, encoding="utf-8")
        if on_progress is not None:
            on_progress(done, len(runs), run.scheduler)

    if on_progress is not None:
        on_progress(done, len(runs), "compiling" if missing else "complete")
    run_all(missing, config.workload, config.cluster, home.path, _processes(processes, len(missing)), on_run)
    tables = tables_of(home.collect(everything))
    comparison = Comparison(home.path, everything, *tables, failed)
    if len(comparison.runs):
        home.write_tables(tables)
        comparison.write_report(reference, plots)
    return comparison


def read_comparison(folder: str | Path) -> Comparison:
    """A comparison from its settings and its three tables of raw results; nothing else need be there.

    Raises:
        SettingsError: the folder holds none, or only a part of it.
    """
    home = ComparisonFolder(Path(folder))
    return Comparison(home.path, home.read_config(), *home.read_tables())


def _processes(wanted: int | None, runs: int) -> int:
    """As many as are wanted; a handful of runs is not worth starting any."""
    available = wanted if wanted is not None else os.cpu_count() or 1
    return max(1, min(available, runs // 2))
