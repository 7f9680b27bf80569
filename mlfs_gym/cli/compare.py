"""`mlfs-gym compare`: many schedulers, sizes and seeds; tables and plots."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlfs_gym.cli.console import notes, output, progress
from mlfs_gym.cli.one_line_errors import Interrupted
from mlfs_gym.cli.options import SCHEDULERS
from mlfs_gym.errors import SettingsError

if TYPE_CHECKING:
    from mlfs_gym.report.compare.compare import Comparison
    from mlfs_gym.report.compare.summary import Summary

EXAMPLES = (
    "mlfs-gym compare",
    "mlfs-gym compare --scheduler mlf_h,tiresias,fair --jobs 155,310 --seeds 3 --out comparisons/first",
    "mlfs-gym compare --scheduler mlf_h --scheduler my_module:MyScheduler --jobs 620",
    "mlfs-gym compare --workload small --load 1.0,1.6 --gpus exclusive",
    "mlfs-gym compare --scheduler mlf_h --ablations",
)


class WhichGpus(str, Enum):
    """Settings of GPUs to compare."""

    BOTH = "both"
    SHARED = "shared"
    EXCLUSIVE = "exclusive"


def compare(
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            "--scheduler",
            "-s",
            metavar="NAMES",
            help=f"{SCHEDULERS}. Several with commas, or give the option again; by default all, and mlf_h+mlf_c.",
        ),
    ] = None,
    workload: Annotated[
        str, typer.Option("--workload", "-w", metavar="NAME", help="testbed, small, toy or philly.")
    ] = "testbed",
    jobs: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="Numbers of jobs; for the testbed the paper's: 155,310,620,1240,1860."),
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOADS",
            help="Instead: GPU time that jobs need over GPU time that the cluster has while they arrive.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds, the same for all.")] = 10,
    first_seed: Annotated[int, typer.Option(help="The first of them.")] = 0,
    gpus: Annotated[
        WhichGpus, typer.Option(help="May several tasks share a GPU, has each its own, or both side by side?")
    ] = WhichGpus.BOTH,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Add MLF-H without each of its parts, and what each part is worth.")
    ] = False,
    reference: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the paired differences; mlf_h by default, if it takes part.")
    ] = None,
    servers: Annotated[int | None, typer.Option(help="Servers; the workload's own cluster by default.")] = None,
    gpus_per_server: Annotated[int | None, typer.Option(help="GPUs in each server.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where everything goes; comparisons/WORKLOAD by default.")
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Worker processes; one per core by default.")] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw plots (PNG and PDF).")] = True,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Play all runs that are asked for, those in the folder too.")
    ] = False,
) -> None:
    """Compare schedulers on the same workloads: the tables and plots of the paper's evaluation.

    Every scheduler plays every size with every seed, with shared and with exclusive GPUs. Differences are paired: on
    the same workloads.

    The folder then holds summary.md, plots/, runs.csv with one row per run, jobs/ with one row per job of each run, and
    more. What is in it already is not played again: the same command goes on after an interruption, and one with more
    schedulers, sizes or seeds adds them. Runs of a scheduler of your own are played again when its file has changed.
    Tables and plots show what was asked for; runs.csv keeps everything.
    """
    from mlfs_gym.cli.workloads import find_schedulers_here
    from mlfs_gym.report.compare.compare import run_comparison
    from mlfs_gym.report.compare.settings import compare_config

    find_schedulers_here()  # worker processes take over this path
    config = compare_config(
        _parts(scheduler),
        workload=workload,
        jobs=[int(_number(text, "jobs", int)) for text in _parts(jobs) or []],
        loads=[_number(text, "load", float) for text in _parts(load) or []],
        seeds=seeds,
        first_seed=first_seed,
        gpus=gpus.value,
        ablations=ablations,
        servers=servers,
        gpus_per_server=gpus_per_server,
    )
    folder = out if out is not None else Path("comparisons") / workload
    with progress() as bars:
        bar = bars.add_task("starting", total=None)

        def show(done: int, total: int, name: str) -> None:
            bars.update(bar, completed=done, total=total, description=name)

        def say(line: str) -> None:
            bars.console.print(line, markup=False, soft_wrap=True)

        try:
            found = run_comparison(config, folder, processes, reference, plots, fresh, show, say)
        except KeyboardInterrupt:
            command = "the same command without --fresh" if fresh else "the same command"
            raise Interrupted(f"interrupted; {command} goes on where it was, in {folder}") from None
    _print(found, reference, plots)
    if found.failed:
        _tell_failures(found)
        raise typer.Exit(1)


def _parts(given: list[str] | None) -> list[str] | None:
    """Several values, each option with commas; None if there are none."""
    parts = [part.strip() for text in given or [] for part in text.split(",") if part.strip()]
    return parts or None


def _number(text: str, field: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        wanted = "whole numbers" if kind is int else "numbers"
        raise SettingsError(f"--{field}: found '{text}', expected {wanted} with commas between them") from None


def _print(found: Comparison, reference: str | None, plots: bool) -> None:
    if not len(found.runs):
        return
    from mlfs_gym.report.tables import seeds_text, stars_text

    summary = found.summary(reference)
    console = output()
    for gpus in found.config.gpus:
        console.print(_jct_table(summary, gpus))
    seeds = len(found.config.seeds)
    console.print(
        f"{seeds_text(seeds)}. Second lines: mean of the paired differences to {summary.label(summary.reference)} ± "
        f"half of its 95% interval; {stars_text(seeds)}.",
        style="dim",
        markup=False,
    )
    console.print(f"\nAll metrics  {found.folder / 'summary.md'}", markup=False)
    if plots:
        console.print(f"Plots        {found.folder / 'plots'}", markup=False)
    console.print(f"Raw data     {found.folder / 'runs.csv'}, {found.folder / 'jobs'}", markup=False)


def _jct_table(summary: Summary, gpus: str) -> Any:
    """Average JCT in minutes, a row for each scheduler, a column for each size."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=f"Average JCT (min), GPUs {gpus}", title_justify="left")
    table.add_column("", overflow="fold", max_width=28)
    for size in summary.sizes:
        table.add_column(summary.header(size), justify="right", no_wrap=True)
    for name in summary.played(gpus):
        cells = []
        for size in summary.sizes:
            minutes = summary.mean(name, gpus, size, "average_jct_s").mean / 60
            cell = Text("-" if math.isnan(minutes) else f"{minutes:,.1f}{summary.lacking(name, gpus, size)}")
            if name != summary.reference:
                cell.append("\n").append_text(_relative(summary, name, gpus, size))
            cells.append(cell)
        table.add_row(Text(summary.label(name), style="bold"), *cells)
    return table


def _relative(summary: Summary, name: str, gpus: str, size: float) -> Any:
    from rich.text import Text

    effect = summary.relative(name, gpus, size, "average_jct_s", summary.reference)
    if math.isnan(effect.mean):  # no seed in common
        return Text("-", style="dim")
    text = f"{100 * effect.mean:+.1f}"
    if math.isnan(effect.half_width):
        return Text(f"{text}%", style="dim")
    star = "*" if effect.is_significant else ""
    style = "dim" if not star else "green" if effect.mean < 0 else "red"
    return Text(f"{text} ±{100 * effect.half_width:.1f}%{star}", style=style)


def _tell_failures(found: Comparison) -> None:
    key, problem = next(iter(found.failed.items()))
    console = notes()
    console.print(problem.rstrip(), markup=False, style="dim")
    console.print(
        f"{len(found.failed)} run(s) failed, the first of them {key}: tracebacks in {found.folder / 'failed'}. "
        "Mend the scheduler and give the same command again.",
        markup=False,
    )
