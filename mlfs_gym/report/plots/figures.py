"""The plots of the paper's figures 4 to 9 (CoNEXT 2020, section 4; ToN 2022), for a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mlfs_gym.report.compare.summary import Summary
from mlfs_gym.report.plots.looks import label_of, look_of
from mlfs_gym.report.plots.relative import curves_of, write_ablations, write_relative
from mlfs_gym.report.plots.statistics import mean_and_within_interval, pooled_cdf
from mlfs_gym.report.plots.style import legend_below, panels, save

if TYPE_CHECKING:
    from mlfs_gym.report.compare.compare import Comparison

# File, metric, axis, factor.
CURVES: Final = (
    ("average_jct", "average_jct_s", "average JCT (min)", 1 / 60),
    ("makespan", "makespan_s", "makespan (h)", 1 / 3600),
    ("deadline_ratio", "deadline_ratio", "deadlines met (%)", 100.0),
    ("waiting_time", "average_waiting_s", "average waiting time (min)", 1 / 60),
    ("accuracy", "average_accuracy", "average accuracy (%)", 100.0),
    ("accuracy_guarantee", "accuracy_guarantee_ratio", "accuracy guaranteed (%)", 100.0),
    ("bandwidth", "bandwidth_tb", "traffic between servers (TB)", 1.0),
    ("overloads", "overloads", "server overloads", 1.0),
)


def write_figures(comparison: Comparison, folder: Path, reference: str | None = None) -> None:
    """All plots, as PNG and PDF.

    Args:
        comparison: with at least one run.
        folder: is made.
        reference: of relative differences; None for MLF-H if it took part, else the first scheduler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    summary = comparison.summary(reference)
    for size in summary.sizes:
        _write_cdf(comparison, summary, size, folder)
    if len(summary.sizes) > 1:
        for name, metric, label, factor in CURVES:
            _write_curves(summary, name, metric, label, factor, folder)
    _write_times(comparison, summary, folder)
    write_relative(summary, folder)
    write_ablations(summary, folder)


def _write_cdf(comparison: Comparison, summary: Summary, size: float, folder: Path) -> None:
    """Figure 4: how JCT is distributed, jobs of all seeds together."""
    quantiles = comparison.jct_quantiles
    values = quantiles.filter(regex=r"^p\d+$").to_numpy(float) / 60.0
    with panels(_titles(summary), len(curves_of(summary))) as (figure, axes):
        for axis, gpus in zip(axes, summary.config.gpus, strict=True):
            for name in curves_of(summary):
                rows = (quantiles["scheduler"] == name) & (quantiles["gpus"] == gpus) & (quantiles["size"] == size)
                if not rows.any():
                    continue
                minutes, share = pooled_cdf(values[rows.to_numpy()])
                axis.plot(minutes, 100 * share, label=name, **{**look_of(name).line(), "marker": ""})
            axis.set_xscale("log")
            axis.set_xlabel("JCT (min)")
            axis.set_ylim(0, 100)
        axes[0].set_ylabel("jobs (%)")
        figure.suptitle(summary.header(size), fontsize=9)
        legend_below(figure, axes[0])
        save(figure, folder, f"jct_cdf_{summary.header(size).replace(' ', '_')}")


def _write_curves(summary: Summary, name: str, metric: str, label: str, factor: float, folder: Path) -> None:
    """A metric against the number of jobs or the load."""
    with panels(_titles(summary), len(curves_of(summary))) as (figure, axes):
        for axis, gpus in zip(axes, summary.config.gpus, strict=True):
            means, halves = _means(summary, gpus, metric)
            for row, scheduler in enumerate(curves_of(summary)):
                look = look_of(scheduler)
                axis.plot(summary.sizes, factor * means[row], label=scheduler, **look.line())
                bars = {"fmt": "none", "ecolor": look.colour, "elinewidth": 0.7, "alpha": 0.6}
                axis.errorbar(summary.sizes, factor * means[row], factor * halves[row], **bars)
            _size_axis(axis, summary)
        means = factor * np.stack([_means(summary, gpus, metric)[0] for gpus in summary.config.gpus])
        limits = limits_of(means)
        for axis, panel in zip(axes, means, strict=True):
            axis.set_ylim(*limits)
            _name_what_leaves(axis, curves_of(summary), panel)
        axes[0].set_ylabel(label)
        legend_below(figure, axes[0])
        save(figure, folder, name)


def _means(summary: Summary, gpus: str, metric: str) -> tuple[Any, Any]:
    """Mean and half of its interval, each of shape (schedulers, sizes)."""
    shape = (len(curves_of(summary)), len(summary.sizes))
    means, halves = np.full(shape, np.nan), np.full(shape, np.nan)
    for column, size in enumerate(summary.sizes):
        values = [summary.values(name, gpus, size, metric) for name in curves_of(summary)]
        means[:, column], halves[:, column] = mean_and_within_interval(values)
    return means, halves


def _write_times(comparison: Comparison, summary: Summary, folder: Path) -> None:
    """Wall-clock time of a round's decisions."""
    timing = comparison.timing.groupby(["scheduler", "gpus", "size"])["scheduler_ms_median"].median()
    with panels(_titles(summary), len(curves_of(summary))) as (figure, axes):
        for axis, gpus in zip(axes, summary.config.gpus, strict=True):
            for name in curves_of(summary):
                times = [timing.get((name, gpus, size), np.nan) for size in summary.sizes]
                axis.plot(summary.sizes, times, label=name, **look_of(name).line())
            axis.set_yscale("log")
            _size_axis(axis, summary)
        axes[0].set_ylabel("scheduler time per round (ms)")
        legend_below(figure, axes[0])
        save(figure, folder, "scheduler_time")


def limits_of(means: Any) -> tuple[float, float]:
    """Ends of an axis on which most curves can be told apart: a few extreme ones may leave it, error bars too.

    Args:
        means: any shape, nan where there is none.
    """
    lowest, highest = float(np.nanmin(means)), float(np.nanmax(means))
    low, high = (float(value) for value in np.nanpercentile(means, (5, 95)))
    spread = high - low
    lowest, highest = max(lowest, low - spread), min(highest, high + spread)
    margin = 0.06 * (highest - lowest) or 0.05 * abs(highest) or 1.0
    return max(0.0, lowest - margin), highest + margin


def _name_what_leaves(axis: Any, names: list[str], means: Any) -> None:
    """Write schedulers whose curves leave the axis at the edge where they do."""
    low, high = axis.get_ylim()
    for side, leaves in (("top", np.nanmax(means, axis=1) > high), ("bottom", np.nanmin(means, axis=1) < low)):
        gone = [label_of(name) for name, leaving in zip(names, leaves, strict=True) if leaving]
        if gone:
            arrow, y = ("\u2191", 0.98) if side == "top" else ("\u2193", 0.02)
            where = {"x": 0.02, "y": y, "ha": "left", "va": side, "transform": axis.transAxes}
            axis.text(s=f"{arrow} {', '.join(gone)}", fontsize=7, **where)


def _titles(summary: Summary) -> list[str]:
    return [f"GPUs {gpus}" for gpus in summary.config.gpus]


def _size_axis(axis: Any, summary: Summary) -> None:
    axis.set_xlabel("jobs" if summary.config.size_is == "jobs" else "load")
    axis.set_xticks(summary.sizes, [f"{size:g}" for size in summary.sizes])
