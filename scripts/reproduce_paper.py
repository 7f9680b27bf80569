"""Hold our results against the paper's: write docs/reproduction.md from the raw results beside it.

mlfs-gym compare --ablations --no-plots --out docs/reproduction && python scripts/reproduce_paper.py

The first command makes the raw results (`comparison.json`, `runs.csv`, `timing.csv`, `jct_quantiles.csv`), minutes on
two cores; the second one reads those four files and nothing else. The same files give the same page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from reproduction.page import page

from mlfs_gym.errors import MlfsError
from mlfs_gym.report.compare.compare import read_comparison
from mlfs_gym.report.plots.figures import write_figures

DOCS = Path(__file__).resolve().parents[1] / "docs"


def reproduce(
    raw: Annotated[Path, typer.Option(metavar="DIR", help="The comparison to read.")] = DOCS / "reproduction",
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = DOCS / "reproduction.md",
    plots: Annotated[
        bool, typer.Option("--plots/--no-plots", help="Draw the plots that the page shows, next to it.")
    ] = True,
) -> None:
    """Write our results beside the published ones, from committed raw results."""
    try:
        comparison = read_comparison(raw)
    except MlfsError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    out.write_text(page(comparison), encoding="utf-8")
    if plots:
        write_figures(comparison, out.with_suffix("") / "plots")
    typer.echo(out)


if __name__ == "__main__":
    typer.run(reproduce)
