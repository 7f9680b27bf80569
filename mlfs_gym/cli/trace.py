"""`mlfs-gym trace`: what a trace file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlfs_gym.cli.console import output
from mlfs_gym.cli.options import OnError, OnTraceError, TraceFormat

if TYPE_CHECKING:
    from rich.table import Table

    from mlfs_gym.workloads.traces.inspect import TraceDescription

EXAMPLES = (
    "mlfs-gym trace inspect philly.csv",
    "mlfs-gym trace inspect cluster_job_log --format philly-json --on-error raise",
)

_BAR_WIDTH = 30


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The trace.")],
    format_: TraceFormat = "auto",
    on_error: OnTraceError = OnError.SKIP,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what a trace holds: jobs, span, GPUs, percentiles, and what was skipped and why.

    Reads Philly's job log (JSON), the reduced Philly table and Tiresias tables (CSV).
    """
    from mlfs_gym.workloads.traces.inspect import describe_trace

    found = describe_trace(file, on_error.value, format_)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        _print(found)


def _print(found: TraceDescription) -> None:
    from mlfs_gym.report.tables import with_unit

    console = output()
    facts = [
        ("Trace", f"{found.file} ({found.format})"),
        ("Jobs", f"{found.jobs:,}"),
        ("Span", f"{with_unit('seconds', found.span_seconds)} from first to last arrival"),
        ("GPU time", f"{found.gpu_hours:,.1f} GPU-hours{_busy(found)}"),
    ]
    for label, number in (("Virtual clusters", found.virtual_clusters), ("Users", found.users)):
        if number:
            facts.append((label, f"{number:,}"))
    skipped = f"{found.skipped.total:,}" if found.skipped.total else "nothing"
    facts.append(("Skipped", skipped))
    for label, text in facts:
        console.print(f"{label:<17}{text}", markup=False, soft_wrap=True)
    for line in found.skipped.lines():
        console.print(f"{'':<17}{line}", markup=False, style="yellow", soft_wrap=True)
    console.print()
    console.print(_gpu_table(found))
    console.print(_percentile_table(found))


def _busy(found: TraceDescription) -> str:
    busy = found.average_busy_gpus
    return "" if busy is None else f", {busy:,.1f} GPUs busy on average"


def _new_table(title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="bold")


def _gpu_table(found: TraceDescription) -> Table:
    table = _new_table("GPUs per job")
    table.add_column("GPUs", justify="right")
    table.add_column("Jobs", justify="right")
    table.add_column("Share", justify="right")
    table.add_column("")
    for gpus, jobs in found.jobs_by_gpus.items():
        share = jobs / found.jobs
        table.add_row(f"{gpus:,}", f"{jobs:,}", f"{share:.1%}", "█" * round(_BAR_WIDTH * share))
    return table


def _percentile_table(found: TraceDescription) -> Table:
    from mlfs_gym.report.tables import with_unit

    table = _new_table("Percentiles")
    table.add_column("")
    percents = list(found.run_time_seconds)
    for percent in percents:
        table.add_column(f"{percent}%", justify="right")
    table.add_column("Mean", justify="right")
    mean = with_unit("seconds", found.mean_run_time_seconds)
    rows = [("Run time", found.run_time_seconds, mean), ("Between arrivals", found.inter_arrival_seconds, "")]
    for label, values, average in rows:
        if values:
            table.add_row(label, *(with_unit("seconds", values[percent]) for percent in percents), average)
    return table
