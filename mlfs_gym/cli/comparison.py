"""The table of a comparison on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlfs_gym.cli.console import output

if TYPE_CHECKING:
    import pandas as pd


def print_comparison(results: pd.DataFrame, reference: str) -> None:
    """Print means and paired differences to a reference; one row per contestant and seed goes in."""
    from mlfs_gym.agents.evaluation import samples
    from mlfs_gym.report.compare.traits import labels_of, traits_of
    from mlfs_gym.report.tables import comparison_note, comparison_that_fits

    console = output()
    by_name = samples(results)
    own = labels_of(traits_of([name for name in by_name if ":" in name], {}))
    labels = {name: own.get(name, name) for name in by_name}
    if len(set(labels.values())) == len(labels):
        by_name, reference = {labels[name]: values for name, values in by_name.items()}, labels[reference]
    for table in comparison_that_fits(console, by_name, reference):
        console.print(table)
    console.print(comparison_note(by_name, reference), style="dim", markup=False)
