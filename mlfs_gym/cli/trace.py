"""`mlfs-gym trace`: what a trace file holds, and the same jobs in the neutral format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlfs_gym.cli.console import output
from mlfs_gym.cli.options import OnError, OnTraceError, TraceFormat

if TYPE_CHECKING:
    from rich.table import Table

    from mlfs_gym.workloads.skips import SkipReport
    from mlfs_gym.workloads.traces.inspect import TraceDescription

INSPECT_EXAMPLES = (
    "mlfs-gym trace inspect philly.csv",
    "mlfs-gym trace inspect cluster_job_log --format philly-json --on-error raise",
)
CONVERT_EXAMPLES = (
    "mlfs-gym trace convert trace_seren.csv seren.csv --on-error skip",
    "mlfs-gym trace convert pai_job_table.csv pai.parquet",
    "mlfs-gym simulate --trace seren.csv",
)

_BAR_WIDTH = 30


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The trace.")],
    format_: TraceFormat = "auto",
    on_error: OnTraceError = OnError.SKIP,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what a trace holds: jobs, span, GPUs, percentiles, and what was skipped and why.

    Reads the logs of Philly, Helios, Acme (Seren and Kalos), Alibaba PAI 2020, Alibaba GPU 2023 (openb) and Microsoft
    ITP, the workloads of Tiresias, Muri and Pollux, and what `mlfs-gym trace convert` writes.

    Jobs without GPU, and jobs that never ran by the log's own account, are left out and counted.
    """
    from mlfs_gym.workloads.traces.inspect import describe_trace

    found = describe_trace(file, on_error.value, format_)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        _print(found)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The trace, of any format that is known.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The new file: Parquet if it ends in [cyan].parquet[/cyan], else CSV."),
    ],
    format_: TraceFormat = "auto",
    on_error: OnTraceError = OnError.RAISE,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there already.")] = False,
) -> None:
    r"""Write the jobs of a trace in one neutral format, which every command reads and other tools read with ease.

    One row per job, in order of arrival: job_id, submit_time_s (seconds after the first job), run_time_s, num_gpus,
    gpu_share_milli (of each GPU, in thousandths), model_family, virtual_cluster, user, format. A cell is empty where
    the trace does not say. docs/traces.md has the details.

    Reading OUT gives exactly the jobs of IN. Jobs without GPU, and jobs that never ran by the log's own account, are
    left out and counted; bad rows stop the conversion unless you say --on-error skip.

    Parquet needs pyarrow: pip install 'mlfs-gym\[parquet]'.
    """
    _check_target(source, target, force)
    from mlfs_gym.workloads.traces.read import read_trace
    from mlfs_gym.workloads.traces.write import write_trace

    trace = read_trace(source, format_, on_error.value)
    write_trace(trace, target)
    console = output()
    _print_skipped(trace.skipped, 0)
    left_out = f"{trace.skipped.total:,} skipped" if trace.skipped.total else "nothing skipped"
    console.print(f"{len(trace):,} jobs ({trace.format}) written to {target}, {left_out}", markup=False, soft_wrap=True)


def _check_target(source: Path, target: Path, force: bool) -> None:
    """Before the trace is read, which may take a while."""
    from mlfs_gym.errors import SettingsError
    from mlfs_gym.workloads.traces import mlfs_parquet

    if not target.parent.is_dir() or target.is_dir():
        raise SettingsError(f"OUT: found {target}, expected a file in a folder that exists")
    if target.exists() and source.exists() and target.samefile(source):
        raise SettingsError(f"OUT: found {target}, the trace itself, expected another file")
    if target.exists() and not force:
        raise SettingsError(f"OUT: found {target}, which is there already, expected a new file, or --force")
    if target.suffix == mlfs_parquet.SUFFIX:
        mlfs_parquet.require_pyarrow()


def _print_skipped(skipped: SkipReport, indent: int) -> None:
    for line in skipped.lines():
        output().print(f"{'':<{indent}}{line}", markup=False, style="yellow", soft_wrap=True)


def _print(found: TraceDescription) -> None:
    from mlfs_gym.report.tables import with_unit

    console = output()
    facts = [
        ("Trace", f"{found.file} ({found.format})"),
        ("Jobs", f"{found.jobs:,}"),
        ("Span", f"{with_unit('seconds', found.span_seconds)} from first to last arrival"),
        ("GPU time", f"{found.gpu_hours:,.1f} GPU-hours{_busy(found)}"),
    ]
    counts = (
        ("Shared GPUs", found.shared_gpu_jobs, " jobs"),
        ("Virtual clusters", found.virtual_clusters, ""),
        ("Users", found.users, ""),
    )
    for label, number, unit in counts:
        if number:
            facts.append((label, f"{number:,}{unit}"))
    skipped = f"{found.skipped.total:,}" if found.skipped.total else "nothing"
    facts.append(("Skipped", skipped))
    for label, text in facts:
        console.print(f"{label:<17}{text}", markup=False, soft_wrap=True)
    _print_skipped(found.skipped, 17)
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
