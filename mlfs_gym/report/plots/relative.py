"""Paired differences to a reference, and what each part of MLFS is worth, as points with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from mlfs_gym.report.compare.summary import Summary
from mlfs_gym.report.plots.looks import label_of, look_of
from mlfs_gym.report.plots.style import panels, save
from mlfs_gym.report.tables import SHOWN
from mlfs_gym.schedulers.ablations import MLF_H_WITHOUT

_ROW_HEIGHT: Final = 0.24  # inches
_OFFSET: Final = 0.17  # of a row, between shared and exclusive
_SHARED, _EXCLUSIVE = "GPUs shared", "GPUs exclusive"
_ABLATION_COLOURS: Final = {"shared": "#0072B2", "exclusive": "#D55E00"}


def write_relative(summary: Summary, folder: Path) -> None:
    """Average JCT against the reference's on the same workloads: a row for each scheduler, a panel for each size."""
    others = [name for name in curves_of(summary) if name != summary.reference]
    if not others:
        return
    titles = [summary.header(size) for size in summary.sizes]
    with panels(titles, 1, width=1.9, height=0.9 + _ROW_HEIGHT * len(others)) as (figure, axes):
        for axis, size in zip(axes, summary.sizes, strict=True):
            points = [
                Point(row, gpus == "shared", look_of(name).colour, look_of(name).marker, effect.mean, effect.half_width)
                for row, name in enumerate(others)
                for gpus in summary.config.gpus
                for effect in [summary.relative(name, gpus, size, "average_jct_s", summary.reference)]
            ]
            _draw(axis, points)
        _rows(axes, [label_of(name) for name in others])
        figure.supxlabel(f"average JCT relative to {label_of(summary.reference)} (%)", fontsize=9)
        _legend_of_gpus(figure, summary)
        save(figure, folder, "relative_jct")


def write_ablations(summary: Summary, folder: Path) -> None:
    """What each part of MLFS changes, in percent of what happens without it."""
    parts = [(ablation, metric) for ablation in summary.known_ablations() for metric in ablation.metrics]
    if not parts:
        return
    titles = [summary.header(size) for size in summary.sizes]
    with panels(titles, 1, width=1.9, height=0.9 + _ROW_HEIGHT * len(parts)) as (figure, axes):
        for axis, size in zip(axes, summary.sizes, strict=True):
            points = [
                Point(row, gpus == "shared", _ABLATION_COLOURS[gpus], "o", effect.mean, effect.half_width)
                for row, (ablation, metric) in enumerate(parts)
                for gpus in summary.config.gpus
                for effect in [summary.relative(ablation.whole, gpus, size, metric, ablation.without)]
            ]
            _draw(axis, points)
        _rows(axes, [f"{ablation.part}: {SHOWN[metric].label}" for ablation, metric in parts])
        figure.supxlabel("change through this part (%)", fontsize=9)
        _legend_of_gpus(figure, summary)
        save(figure, folder, "ablations")


class Point(NamedTuple):
    """A mean with its interval, as parts of the reference; full for shared GPUs, hollow for exclusive ones."""

    row: int
    shared: bool
    colour: str
    marker: str
    mean: float
    half: float


def _draw(axis: Any, points: Sequence[Point]) -> None:
    """All points of a panel. One that lies far from the others is an arrow with its value at the edge."""
    axis.axvline(0.0, color="black", linewidth=0.8)
    sizes = [abs(100 * point.mean) for point in points if not np.isnan(point.mean)]
    limit = max(1.0, 1.4 * float(np.percentile(sizes, 85))) if sizes else 1.0
    axis.set_xlim(-limit, limit)
    for point in points:
        if np.isnan(point.mean):
            continue
        where = point.row + (-_OFFSET if point.shared else _OFFSET)
        value = 100 * point.mean
        if abs(value) > limit:
            _point_away(axis, where, value, limit, point.colour)
            continue
        axis.errorbar(
            value,
            where,
            xerr=None if np.isnan(point.half) else 100 * point.half,
            fmt=point.marker,
            color=point.colour,
            markerfacecolor=point.colour if point.shared else "white",
            markersize=4.5,
            markeredgewidth=1.0,
            elinewidth=0.9,
            zorder=3,
        )


def _point_away(axis: Any, where: float, value: float, limit: float, colour: str) -> None:
    right = value > 0
    axis.plot(limit if right else -limit, where, ">" if right else "<", color=colour, markersize=4.5, clip_on=False)
    axis.text(
        0.93 * limit if right else -0.93 * limit,
        where,
        f"{value:+.0f}",
        color=colour,
        fontsize=7,
        ha="right" if right else "left",
        va="center",
    )


def curves_of(summary: Summary) -> list[str]:
    """Schedulers without those that stand for an ablation: they have a plot of their own."""
    return [name for name in summary.schedulers if name not in MLF_H_WITHOUT]


def _rows(axes: list[Any], labels: list[str]) -> None:
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    for axis in axes:
        axis.grid(axis="y", visible=False)


def _legend_of_gpus(figure: Any, summary: Summary) -> None:
    from matplotlib.lines import Line2D

    def point(label: str, inside: str) -> Line2D:
        colour = "#444444"
        return Line2D(
            [], [], label=label, marker="o", linestyle="", color=colour, markersize=4.5, markerfacecolor=inside
        )

    known = {"shared": point(_SHARED, "#444444"), "exclusive": point(_EXCLUSIVE, "white")}
    figure.legend(
        handles=[known[gpus] for gpus in summary.config.gpus], loc="outside upper center", ncols=2, frameon=False
    )
