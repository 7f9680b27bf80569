"""The page as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlfs_gym.report.compare.compare import Comparison
from mlfs_gym.report.compare.markdown import markdown_table
from mlfs_gym.report.compare.summary import AS_PUBLISHED, Summary, percent
from mlfs_gym.report.plots.figures import CURVES
from mlfs_gym.report.plots.looks import label_of
from mlfs_gym.report.tables import SHOWN
from reproduction.causes import causes
from reproduction.constants import constants
from reproduction.figures import Figures
from reproduction.published import ABLATIONS, AT_1860, OPEN, ORDER, OTHERS_MS, SCHEDULER_MS, WITH_MLF_C
from reproduction.verdict import AGREES, LEGEND, NO_DIFFERENCE, OPPOSITE, UNDEFINED, cell, order_verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

RIVALS_OF_THE_PAPER = ("fair", "slaq", "tiresias", "gandiva", "graphene", "hypersched")
ORDER_SIZES = (620, 1240, 1860)
SETTINGS = (AS_PUBLISHED, "shared", "exclusive")


def page(comparison: Comparison) -> str:
    """Markdown, of the raw results alone: the same results, the same text."""
    return "\n\n".join(Page(comparison).sections()) + "\n"


class Page:
    """The sections of the page.

    Args:
        comparison: all schedulers and ablations, on the testbed.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.summary: Summary = comparison.summary("mlf_h")
        self.figures = Figures(self.summary)
        self.causes = causes(self.figures)
        self.number = {key: position for position, key in enumerate(self.causes, start=1)}
        self.sizes = [int(size) for size in self.summary.sizes]

    def sections(self) -> Iterator[str]:
        """From the top."""
        yield self.head()
        yield self.in_short()
        yield self.order()
        yield self.at_1860()
        yield self.ablations()
        yield self.scheduler_time()
        yield self.calibration()
        yield self.differences()
        yield "## Open\n\nResults that take a trained policy:\n\n" + "\n".join(f"- {result}" for result in OPEN)
        yield self.plots()
        yield constants()

    def head(self) -> str:
        config = self.summary.config
        wall = self.comparison.timing["wall_s"].sum() / 60.0
        traits = self.summary.traits
        shared = [label_of(name) for name in self.figures.competitors if traits[name].shares_gpus]
        competitors, all_of_them = len(self.figures.competitors), len(self.summary.schedulers)
        return (
            "# Reproduction of the paper's evaluation\n\n"
            "Our results beside those of MLFS: Wang, Liu and Shen, CoNEXT 2020 (doi 10.1145/3386367.3432588), and its "
            "journal version (doi 10.1109/TNET.2022.3190797), called ToN 2022 in this project: online in 2022, printed "
            "in IEEE/ACM Transactions on Networking 31(1), 2023. The testbed is theirs in simulation: "
            f"{config.cluster.servers} servers with {config.cluster.gpus_per_server} GPUs, one week of arrivals, "
            f"{', '.join(map(str, self.sizes))} jobs. {competitors} schedulers compete, and "
            f"{all_of_them - competitors} more are MLF-H without one of its parts, for "
            f"[what each is worth](#what-each-part-is-worth); {len(config.seeds)} seeds, GPUs shared and exclusive: "
            f"{len(self.summary.runs[self.summary.runs['gpus'] != AS_PUBLISHED]):,} "
            f"runs, {wall:.0f} minutes of one core.\n\n"
            "Raw results, tables and plots lie in [reproduction](reproduction). What made them and this page:\n\n"
            "```sh\n"
            ".venv/bin/mlfs-gym compare --ablations --no-plots --out docs/reproduction\n"
            ".venv/bin/python scripts/reproduce_paper.py\n"
            "```\n\n"
            "Every figure is a mean over seeds; differences are paired, on the same workloads, ± half of their 95% "
            "interval, and bold where the interval leaves out 0. *As published* takes each scheduler with GPUs shared "
            f"or exclusive as in its own paper (shared: {', '.join(shared)}). Results of the learned policy "
            "are [open](#open); until then MLF-H + MLF-C stands in for MLFS, which is MLF-RL + MLF-C."
        )

    def in_short(self) -> str:
        """What most readers want to know, whatever it is."""
        count = len(self.figures.competitors)
        places = "; ".join(
            f"{size} jobs: {', '.join(f'{self._place(size, gpus)} {gpus}' for gpus in SETTINGS)}"
            for size in ORDER_SIZES
        )
        guarantee = [
            (self.figures.effect(WITH_MLF_C, "mlf_h", "accuracy_guarantee_ratio", size, gpus).mean, size, gpus)
            for size in self.sizes
            for gpus in SETTINGS[1:]
        ]
        lowest, highest = min(guarantee), max(guarantee)
        saved = [
            self.figures.effect(WITH_MLF_C, "mlf_h", "average_jct_s", size, gpus).mean
            for size in self.sizes
            for gpus in SETTINGS[1:]
        ]
        pairs = [
            order_verdict(self.figures.effect(first, second, "average_jct_s", size, AS_PUBLISHED))
            for first, second, _ in ORDER
            for size in ORDER_SIZES
        ]
        return "\n".join(
            [
                "## In short\n",
                f"- Places of MLF-H + MLF-C and of MLF-H by average JCT among {count} schedulers: {places}. "
                f"{self._under_overload()}",
                f"- MLF-C saves {-100 * max(saved):.0f} to {-100 * min(saved):.0f}% of JCT. The ratio of jobs that "
                f"reach their required accuracy changes between {100 * lowest[0]:+.2f}% ({lowest[1]} jobs, "
                f"{lowest[2]}) and {100 * highest[0]:+.2f}% ({highest[1]} jobs, {highest[2]}).",
                f"- Of {len(pairs)} pairs of the paper's order, {len(ORDER)} each at 620, 1240 and 1860 jobs as "
                f"published, {pairs.count(AGREES)} hold, {pairs.count(NO_DIFFERENCE)} do not differ and "
                f"{pairs.count(OPPOSITE)} {'is' if pairs.count(OPPOSITE) == 1 else 'are'} the other way round.",
                "- Improvements of deadlines and accuracy are far smaller than published: there is little to improve "
                "on. [Where ours differ, and why](#where-ours-differ-and-why) has every cause.",
            ]
        )

    def _under_overload(self) -> str:
        """How MLF-H alone does where there are most jobs."""
        size = ORDER_SIZES[-1]
        excess = {}
        for gpus in SETTINGS:
            means = dict(self.figures.ranking(size, gpus))
            excess[gpus] = 100 * (means["mlf_h"] / min(means[name] for name in self.figures.rivals) - 1)
        if max(excess.values()) <= 0:
            return f"MLF-H alone leads all rivals under overload, at {size} jobs, too."
        found = ", ".join(f"{percent:+.0f}% {gpus}" for gpus, percent in excess.items())
        return (
            f"Without MLF-C, MLF-H falls behind under overload: its JCT at {size} jobs, relative to the best rival's, "
            f"is {found}."
        )

    def _place(self, size: int, gpus: str) -> str:
        return " and ".join(str(self.figures.rank(name, size, gpus)) for name in (WITH_MLF_C, "mlf_h"))

    # --- order of schedulers ----------------------------------------------------------------------
    def order(self) -> str:
        headers = [f"{size} jobs, {gpus}" for size in ORDER_SIZES[:2] for gpus in SETTINGS]
        columns = [self._ranking(size, gpus) for size in ORDER_SIZES[:2] for gpus in SETTINGS]
        rows = [[str(row + 1), *(column[row] for column in columns)] for row in range(len(columns[0]))]
        return "\n\n".join(
            [
                "## Order of schedulers",
                "Average JCT in minutes, shortest first.",
                markdown_table(["", *headers], rows),
                "The paper's order, MLFS < MLF-RL < MLF-H < Graphene < Tiresias ~ HyperSched ~ RL ~ Gandiva < "
                "TensorFlow < SLAQ, pair by pair: average JCT of the first relative to the second.",
                f"{AGREES} the first is shorter, as published; o the interval contains 0; ✗ the first is longer.",
                self._pairs(),
            ]
        )

    def _ranking(self, size: int, gpus: str) -> list[str]:
        return [f"{label_of(name)} {minutes:.1f}" for name, minutes in self.figures.ranking(size, gpus)]

    def _pairs(self) -> str:
        headers = [f"{size} jobs, {gpus}" for gpus in SETTINGS for size in ORDER_SIZES]
        rows = []
        for first, second, reasons in ORDER:
            effects = [
                self.figures.effect(first, second, "average_jct_s", size, gpus)
                for gpus in SETTINGS
                for size in ORDER_SIZES
            ]
            signs = [order_verdict(effect) for effect in effects]
            cells = [cell(effect, sign) for effect, sign in zip(effects, signs, strict=True)]
            rows.append([f"{label_of(first)} < {label_of(second)}", *cells, self._reasons(reasons, signs)])
        return markdown_table(["published", *headers, "why"], rows)

    # --- published figures -------------------------------------------------------------------------
    def at_1860(self) -> str:
        rows = []
        for claim in AT_1860:
            effects = [self.figures.effect(claim.first, claim.second, claim.metric, 1860, gpus) for gpus in SETTINGS]
            signs = [verdict(effect, claim.low, claim.high) for effect in effects]
            cells = [cell(effect, sign) for effect, sign in zip(effects, signs, strict=True)]
            rows.append([claim.result, _range(claim.low, claim.high), *cells, self._reasons(claim.causes, signs)])
        return "\n\n".join(
            [
                "## Published figures at 1860 jobs",
                "Two figures of the paper: its testbed and its simulation of 550 servers. MLF-H + MLF-C in place of "
                "MLFS, MLF-H in place of MLF-RL.",
                LEGEND,
                markdown_table(["", "paper", *(f"ours, {gpus}" for gpus in SETTINGS), "why"], rows),
            ]
        )

    def ablations(self) -> str:
        rows = []
        for ablation in self.summary.known_ablations():
            for metric in ablation.metrics:
                low, high, reasons = ABLATIONS[ablation.part, metric]
                for gpus in SETTINGS[1:]:
                    effects = [
                        self.figures.effect(ablation.whole, ablation.without, metric, size, gpus) for size in self.sizes
                    ]
                    signs = [verdict(effect, low, high) for effect in effects]
                    cells = [cell(effect, sign) for effect, sign in zip(effects, signs, strict=True)]
                    name = f"{ablation.part}: {SHOWN[metric].label.lower()}"
                    rows.append([name, gpus, _range(low, high), *cells, self._reasons(reasons, signs)])
        return "\n\n".join(
            [
                "## What each part is worth",
                "MLF-H with a part relative to MLF-H without it, and MLF-H + MLF-C relative to MLF-H. The paper gives "
                "one range for all numbers of jobs. Signs as above.",
                markdown_table(["part", "GPUs", "paper", *(f"{size} jobs" for size in self.sizes), "why"], rows),
            ]
        )

    def scheduler_time(self) -> str:
        timing = self.comparison.timing
        mean = timing[timing["size"] == 1860].groupby(["scheduler", "gpus"])["scheduler_ms_mean"].mean()
        rows = []
        for name in self.figures.competitors:
            published = f"{SCHEDULER_MS[name]:.0f}" if name in SCHEDULER_MS else "-"
            if name in RIVALS_OF_THE_PAPER:
                published = f"{OTHERS_MS[0]:.0f} to {OTHERS_MS[1]:.0f}"
            rows.append([label_of(name), published, f"{mean[name, 'shared']:.3f}", f"{mean[name, 'exclusive']:.3f}"])
        machine = self.comparison.folder / "comparison.json"
        return "\n\n".join(
            [
                "## Scheduler time per round",
                "Milliseconds at 1860 jobs, mean over rounds and seeds. Ours are compiled and decide on arrays, hence "
                "a thousandth of the published times; they depend on the machine "
                f"([{machine.name}](reproduction/{machine.name})).",
                markdown_table(["", "paper", "ours, shared", "ours, exclusive"], rows),
            ]
        )

    # --- calibration -------------------------------------------------------------------------------
    def calibration(self) -> str:
        rivals = [name for name in self.figures.rivals if name not in ("fifo", "sjf")]
        load = self.figures.load
        rows = [
            ["load offered to exclusive GPUs", *(f"{load[size].offered:.2f}" for size in self.sizes)],
            [
                "JCT that MLF-C saves, shared",
                *(percent(self.figures.effect(WITH_MLF_C, "mlf_h", "average_jct_s", n, "shared")) for n in self.sizes),
            ],
            ["traffic of MLF-H, shared", *(self._most_traffic(size, ["mlf_h"]) for size in self.sizes)],
            [
                "traffic of the rival that sends most, shared",
                *(self._most_traffic(size, rivals) for size in self.sizes),
            ],
            *(
                [
                    f"waiting time, median over rivals, {gpus}",
                    *(self._median_waiting(size, gpus, rivals) for size in self.sizes),
                ]
                for gpus in ("shared", "exclusive")
            ),
        ]
        return "\n\n".join(
            [
                "## Where the testbed lands",
                "The paper saves 28 to 42% of JCT by MLF-C, sends hundreds of terabytes, and its waits grow with load. "
                "Rivals without FIFO and SJF.",
                markdown_table(["", *(f"{size} jobs" for size in self.sizes)], rows),
            ]
        )

    def _most_traffic(self, size: int, schedulers: list[str]) -> str:
        return f"{max(self.summary.mean(name, 'shared', size, 'bandwidth_tb').mean for name in schedulers):,.0f} TB"

    def _median_waiting(self, size: int, gpus: str, rivals: list[str]) -> str:
        waits = [self.summary.mean(name, gpus, size, "average_waiting_s").mean for name in rivals]
        return f"{np.median(waits) / 60.0:.1f} min"

    # --- the rest ----------------------------------------------------------------------------------
    def differences(self) -> str:
        texts = [f"{number}. {self.causes[key]}" for key, number in self.number.items()]
        return "## Where ours differ, and why\n\n" + "\n".join(texts)

    def _reasons(self, keys: tuple[str, ...], signs: list[str]) -> str:
        """Numbers of the causes, if anything differs; what differs without a cause must not go unnoticed."""
        if set(signs) <= {AGREES, UNDEFINED}:
            return ""
        if not keys:
            raise ValueError("a result differs from the published one and has no cause")
        return ", ".join(str(self.number[key]) for key in keys)

    def plots(self) -> str:
        names = [
            *(f"jct_cdf_{size}_jobs" for size in self.sizes),
            *(name for name, *_ in CURVES),
            "scheduler_time",
            "relative_jct",
            "ablations",
        ]
        images = [f"![{name.replace('_', ' ')}](reproduction/plots/{name}.png)" for name in names]
        return "## Plots\n\n" + "\n\n".join(images)


def _range(low: float, high: float) -> str:
    if low == high:
        return f"{100 * low:+.0f}%"
    first, last = sorted((low, high), key=abs, reverse=True) if low < 0 else (low, high)
    return f"{100 * first:+.0f} to {100 * last:+.0f}%"
