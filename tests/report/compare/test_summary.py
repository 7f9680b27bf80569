"""Means, paired differences and ablations by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlfs_gym.report.compare.settings import CompareConfig
from mlfs_gym.report.compare.summary import AS_PUBLISHED, PAPER_METRICS, Summary, percent, with_published
from mlfs_gym.report.paired import Difference

T = 12.706204736432095  # 97.5% quantile of Student's t with one degree of freedom


def summary_of(values: dict[tuple[str, str], list[float]], reference: str | None = None) -> Summary:
    """Of average JCTs by scheduler and setting, seeds 0, 1, ...; the other metrics are 1."""
    rows: list[dict[str, Any]] = [
        {
            "scheduler": name,
            "gpus": gpus,
            "size": 5.0,
            "seed": seed,
            **dict.fromkeys((*PAPER_METRICS, "urgent_deadline_ratio", "migrations", "preemptions"), 1.0),
            "average_jct_s": jct,
        }
        for (name, gpus), series in values.items()
        for seed, jct in enumerate(series)
    ]
    timing = pd.DataFrame([{**row, "scheduler_ms_median": 0.5} for row in rows])
    names = tuple(dict.fromkeys(name for name, _ in values))
    config = CompareConfig.parse({"schedulers": names, "sizes": (5.0,), "seeds": (0, 1)})
    return Summary(config, pd.DataFrame(rows), timing, reference)


def test_a_mean_has_the_interval_of_students_t() -> None:
    summary = summary_of({("fifo", "shared"): [100.0, 200.0]})
    mean = summary.mean("fifo", "shared", 5.0, "average_jct_s")
    assert mean.mean == 150.0
    assert mean.half_width == pytest.approx(T * 50.0)  # standard error: 70.71 / sqrt(2)


def test_differences_are_paired_and_relative_to_the_reference() -> None:
    summary = summary_of({("mlf_h", "shared"): [100.0, 300.0], ("srtf", "shared"): [90.0, 270.0]})
    assert summary.reference == "mlf_h"
    effect = summary.relative("srtf", "shared", 5.0, "average_jct_s", "mlf_h")
    assert effect.mean == pytest.approx(-20.0 / 200.0)
    assert effect.half_width == pytest.approx(T * 10.0 / 200.0)  # differences -10 and -30


def test_only_seeds_that_both_have_are_compared() -> None:
    summary = summary_of({("mlf_h", "shared"): [100.0], ("srtf", "shared"): [90.0, 1e9]})
    assert summary.relative("srtf", "shared", 5.0, "average_jct_s", "mlf_h").mean == pytest.approx(-0.1)


def test_as_published_takes_each_scheduler_as_in_its_paper() -> None:
    both = {
        (name, gpus): [1.0 if gpus == "shared" else 2.0] * 2
        for name in ("mlf_h", "fifo")
        for gpus in ("shared", "exclusive")
    }
    summary = summary_of(both)
    assert summary.mean("mlf_h", AS_PUBLISHED, 5.0, "average_jct_s").mean == 1.0
    assert summary.mean("fifo", AS_PUBLISHED, 5.0, "average_jct_s").mean == 2.0
    one = pd.DataFrame([{"scheduler": "fifo", "gpus": "shared"}])
    assert with_published(one) is one


def test_ablations_compare_the_whole_with_the_whole_without_a_part() -> None:
    summary = summary_of({("mlf_h", "shared"): [90.0, 90.0], ("mlf_h-bandwidth", "shared"): [100.0, 100.0]})
    assert [ablation.part for ablation in summary.known_ablations()] == ["bandwidth term"]
    effects = summary.ablations.set_index(["metric", "gpus"])["effect"]
    assert effects["average_jct_s", "shared"] == pytest.approx(-0.1)
    assert effects["bandwidth_tb", "shared"] == 0.0


def test_the_markdown_says_what_was_found(tmp_path: Path) -> None:
    summary = summary_of({("mlf_h", "shared"): [6000.0, 18000.0], ("srtf", "shared"): [5400.0, 17400.0]})
    summary.write(tmp_path)
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "| `srtf` | 190.0 ± 1,270.6<br>**-5.0 ± 0.0%** |" in text  # minutes
    table = pd.read_csv(tmp_path / "tables" / "summary.csv")
    row = table.query("metric == 'average_jct_s' and scheduler == 'srtf'").iloc[0]
    assert row["relative_to_mlf_h"] == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (Difference(-0.05, 0.01), "**-5.0 ± 1.0%**"),
        (Difference(0.005, 0.01), "+0.5 ± 1.0%"),
        (Difference(0.05, math.nan), "+5.0%"),
        (Difference(math.nan, math.nan), "-"),
    ],
)
def test_percentages(difference: Difference, text: str) -> None:
    assert percent(difference) == text
