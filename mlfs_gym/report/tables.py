"""Results as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlfs_gym.report.metrics import METRICS
from mlfs_gym.report.paired import ENOUGH_PAIRS, paired_difference

Kind = Literal["number", "count", "share", "seconds", "terabytes"]
Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Shown:
    """How a metric is shown.

    Attributes:
        label: for people.
        kind: decides unit and digits.
        better: which direction is an improvement.
    """

    label: str
    kind: Kind
    better: Better = "neither"


SHOWN: dict[str, Shown] = {
    "return": Shown("Return", "number", "higher"),
    "objective": Shown("Objective", "number", "higher"),
    "jobs": Shown("Jobs", "count"),
    "finished": Shown("Finished", "count"),
    "average_jct_s": Shown("Average JCT", "seconds", "lower"),
    "median_jct_s": Shown("Median JCT", "seconds", "lower"),
    "p95_jct_s": Shown("95th percentile of JCT", "seconds", "lower"),
    "makespan_s": Shown("Makespan", "seconds", "lower"),
    "deadline_ratio": Shown("Deadlines met", "share", "higher"),
    "urgent_deadline_ratio": Shown("Urgent deadlines met", "share", "higher"),
    "average_waiting_s": Shown("Average waiting time", "seconds", "lower"),
    "average_accuracy": Shown("Average accuracy", "share", "higher"),
    "accuracy_guarantee_ratio": Shown("Accuracy guaranteed", "share", "higher"),
    "bandwidth_tb": Shown("Traffic", "terabytes", "lower"),
    "overloads": Shown("Server overloads", "count", "lower"),
    "migrations": Shown("Migrations", "count"),
    "preemptions": Shown("Preemptions", "count"),
    "rounds": Shown("Rounds", "count"),
}
"""The metrics that tables know."""

COMPARED = (
    "return",
    "average_jct_s",
    "average_waiting_s",
    "deadline_ratio",
    "accuracy_guarantee_ratio",
    "average_accuracy",
    "bandwidth_tb",
)
"""Columns of a comparison, where the results have them."""

_LONGEST_NAME = 28  # longer ones go on in the next line


@dataclass(frozen=True)
class Unit:
    """A unit, with the factor that leads to it and the digits after the point."""

    name: str
    factor: float
    digits: int

    def number(self, value: float, sign: bool = False) -> str:
        """The value in this unit, without its name."""
        if math.isnan(value):
            return "-"
        return f"{value * self.factor:{'+' if sign else ''},.{self.digits}f}"


_TIMES = (
    (120.0, Unit("s", 1.0, 1)),
    (14_400.0, Unit("min", 1 / 60, 1)),
    (4 * 86_400.0, Unit("h", 1 / 3600, 2)),
)


def unit_for(kind: Kind, size: float) -> Unit:
    """A unit in which a value of this size is easy to read."""
    if kind == "seconds":
        for most, unit in _TIMES:
            if not size > most:
                return unit
        return Unit("days", 1 / 86_400, 2)
    if kind == "terabytes":
        return Unit("TB", 1.0, 3)
    if kind == "share":
        return Unit("%", 100.0, 1)
    return Unit("", 1.0, 0 if kind == "count" else 3)


def with_unit(kind: Kind, value: float) -> str:
    """A value with its unit, as in ``94.3 min``."""
    unit = unit_for(kind, abs(value))
    return f"{unit.number(value)} {unit.name}".rstrip()


def metrics_table(metrics: Mapping[str, float], scheduler_ms_per_round: float | None = None) -> Table:
    """One run: every metric with its value and its meaning."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Metric", style="bold", no_wrap=True)
    table.add_column("Value", justify="right", no_wrap=True)
    table.add_column("Meaning", style="dim")
    for name, value in metrics.items():
        shown = SHOWN.get(name, Shown(name, "number"))
        table.add_row(shown.label, with_unit(shown.kind, value), METRICS.get(name, ""))
    if scheduler_ms_per_round is not None:
        meaning = "wall-clock time of a round's decisions, median"
        table.add_row("Scheduler", f"{scheduler_ms_per_round:.3f} ms", meaning)
    return table


def comparison_table(
    samples: Mapping[str, Mapping[str, Sequence[float]]],
    reference: str,
    columns: Sequence[str] = COMPARED,
    title: str | None = None,
) -> Table:
    """Several schedulers or policies on the same seeds: means, and below them paired differences to a reference.

    A difference whose 95% interval leaves out zero, with five seeds or more, is green if it is an improvement, red if
    not, and has a star.

    Args:
        samples: by name and metric, one value per seed, the seeds in the same order for all.
        reference: the name that the others are compared with.
        columns: metrics to show, if there.
        title: above the table.
    """
    names = [column for column in columns if all(column in values for values in samples.values())]
    # Every column has one unit, chosen by the reference.
    units = {name: unit_for(SHOWN[name].kind, abs(_mean(samples[reference][name]))) for name in names}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", show_lines=False)
    table.add_column("", overflow="fold", max_width=_LONGEST_NAME)
    for name in names:
        unit = f"\n({units[name].name})" if units[name].name else ""
        table.add_column(f"{_two_words_a_line(SHOWN[name].label)}{unit}", justify="right", no_wrap=True, vertical="top")
    for label, values in samples.items():
        cells = []
        for name in names:
            cell = Text(units[name].number(_mean(values[name])))
            if label != reference:
                cell.append("\n").append_text(_difference(values[name], samples[reference][name], name, units[name]))
            cells.append(cell)
        name_cell = Text(label, style="bold")
        if label != reference:
            name_cell.append(f"\n  vs {reference}", style="dim")
        table.add_row(name_cell, *cells)
    return table


def comparison_note(samples: Mapping[str, Mapping[str, Sequence[float]]], reference: str) -> str:
    """What the second lines of a comparison mean."""
    seeds = max((len(series) for series in samples[reference].values()), default=0)
    return (
        f"{seeds_text(seeds)}. vs {reference}: mean of the paired differences ± half of its 95% interval; "
        f"{stars_text(seeds)}"
    )


def seeds_text(count: int) -> str:
    """As in "1 seed", "5 seeds"."""
    return f"{count} seed{'' if count == 1 else 's'}"


def stars_text(seeds: int, mark: str = "*") -> str:
    """What marks a difference that so many seeds make sure, or why nothing is marked."""
    if seeds < ENOUGH_PAIRS:
        return f"no {mark} with fewer than {ENOUGH_PAIRS} seeds"
    return f"{mark} where the interval leaves out 0"


def comparison_that_fits(
    console: Console, samples: Mapping[str, Mapping[str, Sequence[float]]], reference: str
) -> list[Table]:
    """`comparison_table`, its columns spread over as many tables as the width of a console takes."""
    unbounded = console.options.update(width=10_000)
    tables: list[Table] = []
    columns: list[str] = []
    for column in COMPARED:
        wider = comparison_table(samples, reference, [*columns, column])
        if columns and console.measure(wider, options=unbounded).maximum > console.width:
            tables.append(comparison_table(samples, reference, columns))
            columns = []
        columns.append(column)
    return [*tables, comparison_table(samples, reference, columns)]


def _difference(values: Sequence[float], reference: Sequence[float], name: str, unit: Unit) -> Text:
    difference = paired_difference(values, reference)
    if math.isnan(difference.mean):
        return Text("-", style="dim")
    half = "" if math.isnan(difference.half_width) else f" ±{unit.number(difference.half_width)}"
    style, star = "dim", ""
    if difference.is_significant and half:
        star = "*"
        if SHOWN[name].better != "neither":
            style = "green" if (difference.mean > 0) == (SHOWN[name].better == "higher") else "red"
    return Text(f"{unit.number(difference.mean, sign=True)}{half}{star}", style=style)


def _mean(values: Sequence[float]) -> float:
    array = np.asarray(values, float)
    known = array[~np.isnan(array)]
    return float(known.mean()) if len(known) else float("nan")


def _two_words_a_line(label: str) -> str:
    return label.replace(" ", "\n", 1)
