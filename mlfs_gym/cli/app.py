"""The commands put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape

from mlfs_gym import __version__
from mlfs_gym.cli import compare, evaluate, simulate, trace, train
from mlfs_gym.cli.one_line_errors import OneLineErrors


def _epilog(examples: tuple[str, ...]) -> str:
    return "\n\n".join(["[bold]Examples[/bold]", *(f"  [cyan]{escape(example)}[/cyan]" for example in examples)])


def _help(command: Callable[..., None]) -> str:
    """The docstring, each paragraph in one line: the terminal breaks it where it must."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A traceback is for whoever writes a scheduler of their own: the plain one, without everybody's local variables.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_epilog(("mlfs-gym simulate", "mlfs-gym train --preset quick", "mlfs-gym train --help")),
)
trace_app = typer.Typer(no_args_is_help=True)

app.command("train", help=_help(train.train), epilog=_epilog(train.EXAMPLES))(train.train)
app.command("evaluate", help=_help(evaluate.evaluate), epilog=_epilog(evaluate.EXAMPLES))(evaluate.evaluate)
app.command("simulate", help=_help(simulate.simulate), epilog=_epilog(simulate.EXAMPLES))(simulate.simulate)
app.command("compare", help=_help(compare.compare), epilog=_epilog(compare.EXAMPLES))(compare.compare)
app.add_typer(trace_app, name="trace", help="Look at trace files of real clusters, and convert them.")
trace_app.command("inspect", help=_help(trace.inspect), epilog=_epilog(trace.INSPECT_EXAMPLES))(trace.inspect)
trace_app.command("convert", help=_help(trace.convert), epilog=_epilog(trace.CONVERT_EXAMPLES))(trace.convert)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mlfs-gym {__version__}")
        raise typer.Exit


@app.callback()
def _mlfs_gym(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Job scheduling in machine learning clusters: simulate schedulers, train agents, compare them."""


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="mlfs-gym")
