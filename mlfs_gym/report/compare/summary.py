"""Means over seeds with their 95% intervals, and paired differences to a reference, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from mlfs_gym.report.compare.markdown import markdown_table
from mlfs_gym.report.compare.settings import CompareConfig
from mlfs_gym.report.compare.traits import Traits, labels_of, traits_of
from mlfs_gym.report.paired import Difference, paired_difference
from mlfs_gym.report.tables import SHOWN, Unit, seeds_text, stars_text, unit_for
from mlfs_gym.schedulers.ablations import ABLATIONS, Ablation

if TYPE_CHECKING:
    import pandas as pd

AS_PUBLISHED: Final = "as published"
"""Each scheduler with GPUs shared or exclusive as in its paper."""

PAPER_METRICS: Final = (
    "average_jct_s",
    "makespan_s",
    "deadline_ratio",
    "average_waiting_s",
    "average_accuracy",
    "accuracy_guarantee_ratio",
    "bandwidth_tb",
    "overloads",
)
"""The metrics of the paper's figures 4 to 9, in the order of tables."""


class Summary:
    """A comparison in numbers.

    Args:
        config: what was compared.
        runs: one row per run, with metrics.
        timing: one row per run, with wall-clock times.
        reference: of the paired differences; None for MLF-H if it took part, else the first scheduler.
        traits: of schedulers, as they were when they played; others are made, to ask them.
    """

    def __init__(
        self,
        config: CompareConfig,
        runs: pd.DataFrame,
        timing: pd.DataFrame,
        reference: str | None = None,
        traits: Mapping[str, Traits] | None = None,
    ) -> None:
        self.config = config
        present = set(runs["scheduler"])
        self.schedulers = [name for name in config.schedulers if name in present]
        self.reference = reference or ("mlf_h" if "mlf_h" in present else self.schedulers[0])
        self.traits = traits_of(self.schedulers, traits or {})
        self._labels = labels_of(self.traits)
        self.runs = with_published(runs, self.traits)
        self._timing = timing
        self.settings = [name for name in (*config.gpus, AS_PUBLISHED) if (self.runs["gpus"] == name).any()]
        self.sizes = sorted(set(runs["size"]))
        self._values = {key: group.set_index("seed") for key, group in self.runs.groupby(["scheduler", "gpus", "size"])}

    def values(self, scheduler: str, gpus: str, size: float, metric: str) -> pd.Series:
        """The metric by seed; empty if there are no such runs."""
        import pandas as pd

        group = self._values.get((scheduler, gpus, size))
        return pd.Series(dtype=float) if group is None else group[metric].sort_index()

    def label(self, scheduler: str) -> str:
        """How tables call it: a ``module:Class`` by the name that it gives itself, where that is no other's."""
        return self._labels.get(scheduler, scheduler)

    def played(self, gpus: str) -> list[str]:
        """Schedulers that have runs in a setting."""
        return [name for name in self.schedulers if any((name, gpus, size) in self._values for size in self.sizes)]

    def lacking(self, scheduler: str, gpus: str, size: float) -> str:
        """Which of the seeds a mean stands on, as in " (2 of 3 seeds)"; nothing if all were played."""
        count, all_of_them = len(self._values.get((scheduler, gpus, size), ())), len(self.config.seeds)
        return "" if count in (0, all_of_them) else f" ({count} of {seeds_text(all_of_them)})"

    def mean(self, scheduler: str, gpus: str, size: float, metric: str) -> Difference:
        """Mean over seeds, with its 95% interval."""
        values = self.values(scheduler, gpus, size, metric)
        return paired_difference(values.to_list(), [0.0] * len(values))

    def relative(self, scheduler: str, gpus: str, size: float, metric: str, reference: str) -> Difference:
        """Mean of the paired differences to a reference, as a part of the reference's mean; seeds that both have."""
        mine = self.values(scheduler, gpus, size, metric)
        theirs = self.values(reference, gpus, size, metric)
        seeds = mine.index.intersection(theirs.index)
        difference = paired_difference(mine[seeds].to_list(), theirs[seeds].to_list())
        base = float(theirs[seeds].mean()) if len(seeds) else float("nan")
        return difference.relative_to(base)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per scheduler, setting, size and metric: mean, half of its interval, relative difference likewise."""
        import pandas as pd

        rows = []
        for metric in (*PAPER_METRICS, "urgent_deadline_ratio", "migrations", "preemptions"):
            for gpus in self.settings:
                for size in self.sizes:
                    for name in self.played(gpus):
                        mean = self.mean(name, gpus, size, metric)
                        relative = self.relative(name, gpus, size, metric, self.reference)
                        key = {"metric": metric, "gpus": gpus, "size": size, "scheduler": name}
                        rows.append(
                            {
                                **key,
                                "mean": mean.mean,
                                "half_width": mean.half_width,
                                f"relative_to_{self.reference}": relative.mean,
                                "relative_half_width": relative.half_width,
                            }
                        )
        return pd.DataFrame(rows)

    @cached_property
    def ablations(self) -> pd.DataFrame:
        """What each part of MLFS changes: the whole relative to the whole without it, by setting and size."""
        import pandas as pd

        rows = []
        for ablation in self.known_ablations():
            for metric in ablation.metrics:
                for gpus in self.config.gpus:
                    for size in self.sizes:
                        effect = self.relative(ablation.whole, gpus, size, metric, ablation.without)
                        key = {"part": ablation.part, "metric": metric, "gpus": gpus, "size": size}
                        rows.append({**key, "effect": effect.mean, "half_width": effect.half_width})
        return pd.DataFrame(rows)

    def known_ablations(self) -> list[Ablation]:
        """Those whose schedulers took part."""
        present = set(self.schedulers)
        return [ablation for ablation in ABLATIONS if {ablation.whole, ablation.without} <= present]

    def header(self, size: float) -> str:
        """Of a column: "620 jobs", "load 1.3"."""
        if size == 0:
            return self.config.workload
        return f"{size:g} jobs" if self.config.size_is == "jobs" else f"load {size:g}"

    # --- files ------------------------------------------------------------------------------------
    def write(self, folder: Path) -> None:
        """Write `summary.md`, `tables/summary.csv` and `tables/ablations.csv`."""
        (folder / "tables").mkdir(exist_ok=True)
        self.table.to_csv(folder / "tables" / "summary.csv", index=False)
        if self.known_ablations():
            self.ablations.to_csv(folder / "tables" / "ablations.csv", index=False)
        (folder / "summary.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The tables of the paper's metrics, for people."""
        config = self.config
        parts = [
            f"# Comparison on {config.workload}\n",
            f"{len(self.schedulers)} schedulers, {seeds_text(len(config.seeds))}. Mean ± half of its 95% interval; "
            f"below it, paired difference to `{self.label(self.reference)}` on the same seeds, in percent, likewise; "
            f"{stars_text(len(config.seeds), 'bold')}.",
        ]
        if AS_PUBLISHED in self.settings:
            shared = [f"`{self.label(name)}`" for name in self.schedulers if self.traits[name].shares_gpus]
            parts.append(
                f"\n*{AS_PUBLISHED.capitalize()}*: GPUs shared or exclusive as in each scheduler's own paper "
                f"(shared: {', '.join(shared) or 'none'})."
            )
        for metric in PAPER_METRICS:
            parts += [f"\n## {SHOWN[metric].label}\n", *self._metric_tables(metric)]
        parts += ["\n## Scheduler time per round\n", self._timing_table()]
        if self.known_ablations():
            parts += ["\n## Ablations\n", self._ablation_table()]
        return "\n".join(parts) + "\n"

    def _metric_tables(self, metric: str) -> list[str]:
        parts = []
        for gpus in self.settings:
            largest = self.mean(self.reference, gpus, self.sizes[-1], metric).mean
            unit = unit_for(SHOWN[metric].kind, abs(largest))
            rows = [[f"`{self.label(name)}`", *self._cells(name, gpus, metric, unit)] for name in self.played(gpus)]
            in_unit = f" ({unit.name})" if unit.name else ""
            headers = [f"GPUs {gpus}{in_unit}", *(self.header(size) for size in self.sizes)]
            parts += [markdown_table(headers, rows), ""]
        return parts

    def _cells(self, name: str, gpus: str, metric: str, unit: Unit) -> list[str]:
        cells = []
        for size in self.sizes:
            mean = self.mean(name, gpus, size, metric)
            cell = _plus_minus(unit.number(mean.mean), unit.number(mean.half_width)) + self.lacking(name, gpus, size)
            if name != self.reference:
                cell += f"<br>{percent(self.relative(name, gpus, size, metric, self.reference))}"
            cells.append(cell)
        return cells

    def _timing_table(self) -> str:
        median = self._timing.groupby(["scheduler", "gpus", "size"])["scheduler_ms_median"].median()
        rows = [
            [
                f"`{self.label(name)}`",
                *(_milliseconds(median.get((name, gpus, size))) for gpus in self.config.gpus for size in self.sizes),
            ]
            for name in self.schedulers
        ]
        headers = [f"{self.header(size)}, {gpus}" for gpus in self.config.gpus for size in self.sizes]
        return markdown_table(["median, ms", *headers], rows)

    def _ablation_table(self) -> str:
        rows = []
        for ablation in self.known_ablations():
            for metric in ablation.metrics:
                for gpus in self.config.gpus:
                    effects = [
                        self.relative(ablation.whole, gpus, size, metric, ablation.without) for size in self.sizes
                    ]
                    rows.append([ablation.part, SHOWN[metric].label, gpus, *map(percent, effects)])
        return markdown_table(["part", "metric", "GPUs", *(self.header(size) for size in self.sizes)], rows)


def with_published(runs: pd.DataFrame, traits: Mapping[str, Traits]) -> pd.DataFrame:
    """The runs, and once more, as "as published", those with GPUs as in the scheduler's paper; if both were played."""
    import pandas as pd

    if set(runs["gpus"]) != {"shared", "exclusive"}:
        return runs
    shares = {name: found.shares_gpus for name, found in traits.items()}
    published = runs[(runs["gpus"] == "shared") == runs["scheduler"].map(shares)]
    return pd.concat([runs, published.assign(gpus=AS_PUBLISHED)], ignore_index=True)


def percent(difference: Difference) -> str:
    """As in "**-3.1 ± 0.4%**"; bold if the interval leaves out 0."""
    if np.isnan(difference.mean):
        return "-"
    half = "" if np.isnan(difference.half_width) else f" ± {100 * difference.half_width:.1f}"
    text = f"{100 * difference.mean:+.1f}{half}%"
    return f"**{text}**" if difference.is_significant and half else text


def _plus_minus(mean: str, half: str) -> str:
    return mean if half == "-" else f"{mean} ± {half}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
