"""Paired differences to a reference, and what each part of MLFS is worth, as points with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from mlfs_gym.report.compare.summary import Summary
from mlfs_gym.report.plots.looks import label_of, look_of
from mlfs_gym.report.plots.style import panels, save
from mlfs_gym.report.tables import SHOWN

_ROW_HEIGHT: Final = 0.24  # inches
_SHARED, _EXCLUSIVE = "GPUs shared", "GPUs exclusive"
_ABLATION_COLOURS: Final = {"shared": "#0072B2", "exclusive": "#D55E00"}


def write_relative(summary: Summary, folder: Path) -> None:
    """Average JCT against the reference's on the same workloads: a row for each scheduler, a panel for each size."""
    others = [name for name in summary.schedulers if name != summary.reference]
    if not others:
        return
    titles = [summary.header(size) for size in summary.sizes]
    with panels(titles, 1, width=1.9, height=0.9 + _ROW_HEIGHT * len(others)) as (figure, axes):
        for axis, size in zip(axes, summary.sizes, strict=True):
            axis.axvline(0.0, color="black", linewidth=0.8)
            for row, name in enumerate(others):
                for gpus in summary.config.gpus:
                    effect = summary.relative(name, gpus, size, "average_jct_s", summary.reference)
                    _point(axis, row, effect, look_of(name).colour, look_of(name).marker, gpus == "shared")
        _rows(axes, [label_of(name) for name in others])
        figure.supxlabel(f"average JCT relative to {label_of(summary.reference)} (%)", fontsize=9)
        _legend_of_gpus(figure, summary)
        save(figure, folder, "relative_jct")


def write_ablations(summary: Summary, folder: Path) -> None:
    """What each part of MLFS changes, in percent of what happens without it."""
    parts = [(a.part, metric) for a in summary.known_ablations() for metric in a.metrics]
    if not parts:
        return
    table = summary.ablations.set_index(["part", "metric", "gpus", "size"])
    titles = [summary.header(size) for size in summary.sizes]
    with panels(titles, 1, width=1.9, height=0.9 + _ROW_HEIGHT * len(parts)) as (figure, axes):
        for axis, size in zip(axes, summary.sizes, strict=True):
            axis.axvline(0.0, color="black", linewidth=0.8)
            for row, (part, metric) in enumerate(parts):
                for gpus in summary.config.gpus:
                    effect = table.loc[(part, metric, gpus, size)]
                    marker = "o" if gpus == "shared" else "s"
                    colour = _ABLATION_COLOURS[gpus]
                    _point(axis, row, (effect["effect"], effect["half_width"]), colour, marker, gpus == "shared")
        _rows(axes, [f"{part}: {SHOWN[metric].label}" for part, metric in parts])
        figure.supxlabel("change through this part (%)", fontsize=9)
        _legend_of_gpus(figure, summary)
        save(figure, folder, "ablations")


def _point(axis: Any, row: int, effect: Any, colour: str, marker: str, shared: bool) -> None:
    """A mean with its interval; full for shared GPUs, hollow for exclusive ones."""
    mean, half = effect
    if np.isnan(mean):
        return
    axis.errorbar(
        100 * mean,
        row + (-0.16 if shared else 0.16),
        xerr=None if np.isnan(half) else 100 * half,
        fmt=marker,
        color=colour,
        markerfacecolor=colour if shared else "white",
        markersize=4.5,
        markeredgewidth=1.0,
        elinewidth=0.9,
        zorder=3,
    )


def _rows(axes: list[Any], labels: list[str]) -> None:
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    for axis in axes:
        axis.grid(axis="y", visible=False)


def _legend_of_gpus(figure: Any, summary: Summary) -> None:
    from matplotlib.lines import Line2D

    full = {"marker": "o", "linestyle": "", "color": "#444444", "markersize": 4.5}
    known = {
        "shared": Line2D([], [], label=_SHARED, **full),
        "exclusive": Line2D([], [], label=_EXCLUSIVE, **{**full, "markerfacecolor": "white"}),
    }
    figure.legend(
        handles=[known[gpus] for gpus in summary.config.gpus], loc="outside lower center", ncols=2, frameon=False
    )
