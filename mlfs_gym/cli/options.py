"""Options that several commands share. Values are checked where they are used, so that errors are one line."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

SCHEDULERS = (
    "fifo, sjf, srtf, mlf_h, edf, las, srsf, tiresias, gittins, themis, pollux, fair, slaq, gandiva, graphene, "
    "hypersched, optimus, or module:Class for one of your own; with +mlf_c behind a name, load control around it"
)

# Not imported: the readers bring much with them, and help must be quick. A test compares.
FORMATS = (
    "philly-json, philly-csv, tiresias-csv, helios-csv, acme-csv, pai-2020, pai-simulator-csv, openb-csv, itp-csv, "
    "pollux-csv, mlfs-csv, mlfs-parquet"
)


class OnError(str, Enum):
    """What to do with bad rows of a trace."""

    RAISE = "raise"
    SKIP = "skip"


class Parallelism(str, Enum):
    """How a job of a trace uses its GPUs."""

    ML = "ml"
    GANG = "gang"


Seed: TypeAlias = Annotated[int, typer.Option(help="Of everything random; the same seed gives the same result.")]
Load: TypeAlias = Annotated[
    float | None,
    typer.Option(help="GPU time that jobs need over GPU time that the cluster has while they arrive."),
]
Jobs: TypeAlias = Annotated[int | None, typer.Option(help="Number of jobs.")]
TraceFile: TypeAlias = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="Take the jobs from this trace.")
]
TraceFormat: TypeAlias = Annotated[
    str, typer.Option("--format", metavar="NAME", help=f"Of the trace: {FORMATS}; [cyan]auto[/cyan] looks at the file.")
]
OnTraceError: TypeAlias = Annotated[
    OnError, typer.Option("--on-error", help="At a bad row of the trace: stop, or leave it out and count it.")
]
