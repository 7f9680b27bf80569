"""Compare schedulers: run what is missing, then make tables and plots."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlfs_gym.errors import SettingsError
from mlfs_gym.report.compare.folder import ComparisonFolder, tables_of
from mlfs_gym.report.compare.plan import Run, plan
from mlfs_gym.report.compare.settings import CompareConfig, compare_config
from mlfs_gym.report.compare.summary import Summary
from mlfs_gym.report.compare.taken import is_of_old_source, take
from mlfs_gym.report.compare.traits import Traits
from mlfs_gym.report.compare.workers import leave_if_imported_by_a_worker, run_all

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int, str], None]
Note = Callable[[str], None]


def print_note(line: str) -> None:
    """Tell people something on standard error."""
    print(f"mlfs-gym: {line}", file=sys.stderr, flush=True)


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
        traits: what is known of the schedulers beside their runs.
    """

    folder: Path
    config: CompareConfig
    runs: pd.DataFrame
    timing: pd.DataFrame
    jct_quantiles: pd.DataFrame
    failed: Mapping[str, str] = field(default_factory=dict)
    traits: Mapping[str, Traits] = field(default_factory=dict)

    def summary(self, reference: str | None = None) -> Summary:
        """Means and paired differences to a reference: MLF-H if it took part, else the first."""
        return Summary(self.config, self.runs, self.timing, reference, self.traits)

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
    fresh: bool = False,
    on_progress: Progress | None = None,
    on_note: Note = print_note,
    **options: Any,
) -> Comparison:
    """Run schedulers on the same workloads, and make the tables and plots of the paper's figures 4 to 9.

    What is in the folder already is not run again: an interrupted comparison goes on, a finished one can be extended
    by schedulers, sizes and seeds. Runs of a scheduler of your own are played again when its source has changed. What
    comes back, `summary.md` and the plots are of what was asked for; `runs.csv` and its like hold all that the folder
    has.

    In Python::

        import mlfs_gym

        if __name__ == "__main__":  # in a script, as worker processes import it
            found = mlfs_gym.compare(["mlf_h", "fifo"], "comparisons/first", jobs=[155, 310], seeds=3)
            print(found.runs.groupby(["scheduler", "gpus", "size"])["average_jct_s"].mean())

    Args:
        schedulers: names, ``module:Class`` for your own; None for all.
        folder: where results go.
        processes: worker processes; by default one per core.
        reference: of the paired differences; by default MLF-H if it takes part, else the first.
        plots: make plots.
        fresh: play all runs that are asked for, those in the folder too.
        on_progress: called with runs done, runs in all and a name.
        on_note: called with lines for people: how many runs are in the folder already.
        **options: of `mlfs_gym.report.compare.settings.compare_config`: workload, jobs, loads, seeds, first_seed, gpus,
            ablations, servers, gpus_per_server.

    Raises:
        SettingsError: a setting is wrong, or the folder holds a comparison on other workloads.
    """
    leave_if_imported_by_a_worker()
    config = compare_config(schedulers, **options)
    return run_comparison(config, folder, processes, reference, plots, fresh, on_progress, on_note)


def run_comparison(
    config: CompareConfig,
    folder: str | Path,
    processes: int | None = None,
    reference: str | None = None,
    plots: bool = True,
    fresh: bool = False,
    on_progress: Progress | None = None,
    on_note: Note = print_note,
) -> Comparison:
    """`compare` with settings that have been put together."""
    if processes is not None and processes < 1:
        raise SettingsError(f"processes: found {processes}, expected 1 or more")
    if reference is not None and reference not in config.schedulers:
        raise SettingsError(f"reference: found {reference!r}, expected one of {', '.join(config.schedulers)}")
    home = ComparisonFolder(Path(folder))
    everything = home.open_for(config)
    runs = plan(config)
    taken = take(home, runs, fresh)
    for line in taken.lines(home.path):
        on_note(line)
    failed: dict[str, str] = {}
    done = taken.complete

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
        on_progress(done, len(runs), "compiling" if taken.missing else "complete")
    workers = _processes(processes, len(taken.missing))
    run_all(taken.missing, config.workload, config.cluster, home.path, workers, on_run)
    home.write_tables(tables_of(_of_these_sources(home.collect(everything), config)))
    comparison = Comparison(home.path, config, *tables_of(home.collect(config)), failed, home.read_traits())
    if len(comparison.runs):
        comparison.write_report(reference, plots)
    return comparison


def read_comparison(folder: str | Path) -> Comparison:
    """A comparison from its settings and its three tables of raw results; nothing else need be there.

    Raises:
        SettingsError: the folder holds none, or only a part of it.
    """
    home = ComparisonFolder(Path(folder))
    return Comparison(home.path, home.read_config(), *home.read_tables(), traits=home.read_traits())


def _of_these_sources(records: list[dict[str, Any]], config: CompareConfig) -> list[dict[str, Any]]:
    """Runs that were not asked for stay, but none that an earlier source of a scheduler made which was asked for."""
    return [
        record
        for record in records
        if not is_of_old_source(record["scheduler"], record.get("made_by", {}), config.schedulers)
    ]


def _processes(wanted: int | None, runs: int) -> int:
    """As many as are wanted; a handful of runs is not worth starting any."""
    available = wanted if wanted is not None else os.cpu_count() or 1
    return max(1, min(available, runs // 2))
