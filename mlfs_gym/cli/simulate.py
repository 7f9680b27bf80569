"""`mlfs-gym simulate`: one scheduler, one workload, the metrics of the paper."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlfs_gym.cli.console import output, progress
from mlfs_gym.cli.options import (
    SCHEDULERS,
    Jobs,
    Load,
    OnError,
    OnTraceError,
    Parallelism,
    Seed,
    TraceFile,
    TraceFormat,
)
from mlfs_gym.errors import SettingsError

if TYPE_CHECKING:
    from mlfs_gym.cluster.cluster import Cluster
    from mlfs_gym.report.simulate import Result

EXAMPLES = (
    "mlfs-gym simulate --scheduler srtf --load 1.8",
    "mlfs-gym simulate --workload testbed --jobs 1860 --exclusive",
    "mlfs-gym simulate --trace philly.csv --jobs 5000 --servers 64 --gpus-per-server 8",
    "mlfs-gym simulate --scheduler my_module:MyScheduler --jobs-csv jobs.csv --json",
)


def simulate(
    scheduler: Annotated[
        str,
        typer.Option("--scheduler", "-s", help=f"{SCHEDULERS}.", metavar="NAME"),
    ] = "mlf_h",
    workload: Annotated[
        str | None,
        typer.Option("--workload", "-w", metavar="NAME", help="small (the default), testbed, toy or philly."),
    ] = None,
    trace: TraceFile = None,
    format_: TraceFormat = "auto",
    on_error: OnTraceError = OnError.RAISE,
    jobs: Jobs = None,
    load: Load = None,
    servers: Annotated[int | None, typer.Option(help="Servers; the workload's own cluster by default.")] = None,
    gpus_per_server: Annotated[int | None, typer.Option(help="GPUs in each server.")] = None,
    parallelism: Annotated[
        Parallelism, typer.Option(help="Of a trace's jobs: ml as the model allows, or gang: all GPUs at once.")
    ] = Parallelism.ML,
    sharing: Annotated[
        bool | None,
        typer.Option(
            "--sharing/--exclusive",
            help="May several tasks share a GPU, or has each its own? By default as in the workload's environment: "
            "exclusive for small, else shared.",
        ),
    ] = None,
    contention: Annotated[
        bool, typer.Option("--contention/--no-contention", help="Do tasks that share a server slow each other down?")
    ] = True,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the same bytes for the same seed.")] = False,
    jobs_csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one row per job.")] = None,
) -> None:
    """Run one scheduler on one workload and print the metrics of the paper.

    The load of a generated workload refers to the cluster that it is made for (small: 5 servers x 4 GPUs).

    A trace runs on 64 servers x 8 GPUs unless you say otherwise.
    """
    if trace is not None and workload is not None:
        raise SettingsError("--workload and --trace: found both, expected one of them")
    if jobs_csv is not None and not jobs_csv.parent.is_dir():  # now, not after a long run
        raise SettingsError(f"--jobs-csv: found {jobs_csv}, expected a file in a folder that exists")
    from mlfs_gym.cli.workloads import generated_jobs, scheduler_named, simulation_of, trace_jobs
    from mlfs_gym.report.simulate import check_seed
    from mlfs_gym.report.simulate import simulate as play

    decider = scheduler_named(scheduler)  # before the workload, which may take a while
    check_seed(seed)
    played, cluster = (
        trace_jobs(trace, format_, on_error.value, parallelism.value, jobs, load, servers, gpus_per_server, seed)
        if trace is not None
        else generated_jobs(workload or "small", jobs, load, servers, gpus_per_server, seed)
    )
    if len(played) == 0:
        skipped = "; ".join(played.skipped.lines())
        raise SettingsError(f"{played.name}: found no job that fits the cluster, expected one or more ({skipped})")
    simulation = simulation_of("trace" if trace is not None else workload or "small", sharing, contention)
    with progress() as bars:
        bar = bars.add_task(scheduler, total=len(played))

        def show(now: Cluster) -> None:
            bars.update(bar, completed=int(now.state.clock["num_done"][0]))

        result = play(played, decider, cluster, simulation, seed, None if bars.disable else show)
    if jobs_csv is not None:
        result.jobs.to_csv(jobs_csv, index=False)
    if as_json:
        typer.echo(json.dumps(_document(result, seed), indent=2, allow_nan=False))
    else:
        _print_table(result, seed, jobs_csv)


def _document(result: Result, seed: int) -> dict[str, Any]:
    """What was run and what came out, without anything that depends on the machine."""
    simulated = result.cluster
    return {
        "scheduler": result.scheduler,
        "workload": simulated.workload.name,
        "seed": seed,
        "gpus": _gpus(result),
        "cluster": simulated.cluster_config.model_dump(),
        "simulation": simulated.simulation_config.model_dump(),
        "skipped": simulated.workload.skipped.counts,
        "reached_time_limit": result.reached_limit,
        # JSON has no nan.
        "metrics": {name: None if math.isnan(value) else value for name, value in result.metrics.items()},
    }


def _print_table(result: Result, seed: int, jobs_csv: Path | None) -> None:
    from mlfs_gym.report.tables import metrics_table

    console = output()
    simulated = result.cluster
    config = simulated.cluster_config
    load = simulated.workload.load(config)
    arrival = f"load {load:.2f}" if math.isfinite(load) else "all at once"
    console.print(f"[bold]{result.scheduler}[/bold] on [bold]{simulated.workload.name}[/bold], seed {seed}")
    console.print(f"Jobs     {len(simulated.workload):,}, {arrival}")
    console.print(f"Cluster  {config}")
    console.print(f"GPUs     [bold]{_gpus(result)}[/bold]")
    for line in simulated.workload.skipped.lines():
        console.print(line, style="yellow", markup=False)
    console.print()
    console.print(metrics_table(result.metrics, result.scheduler_ms_per_round))
    if result.reached_limit:
        console.print("The time limit ended the run before the last job.", style="yellow")
    if jobs_csv is not None:
        console.print(f"Jobs written to {jobs_csv}", markup=False)


def _gpus(result: Result) -> str:
    return "shared" if result.cluster.simulation_config.sharing else "exclusive"
