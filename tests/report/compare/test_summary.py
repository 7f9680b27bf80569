"""Means, paired differences and ablations by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlfs_gym.report.compare.settings import CompareConfig
from mlfs_gym.report.compare.summary import AS_PUBLISHED, PAPER_METRICS, Summary, percent, with_published
from mlfs_gym.report.compare.traits import Traits, labels_of
from mlfs_gym.report.paired import Difference

T = 12.706204736432095  # 97.5% quantile of Student's t with one degree of freedom


def summary_of(
    values: dict[tuple[str, str], list[float]],
    reference: str | None = None,
    seeds: int = 2,
    traits: dict[str, Traits] | None = None,
) -> Summary:
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
    config = CompareConfig.parse({"schedulers": names, "sizes": (5.0,), "seeds": tuple(range(seeds))})
    return Summary(config, pd.DataFrame(rows), timing, reference, traits)


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
    assert with_published(one, {}) is one


def test_what_a_scheduler_was_is_kept_with_its_runs() -> None:
    """One of your own may have been removed or renamed since."""
    name = "gone_since:Mine"
    values = {(name, gpus): [1.0 if gpus == "shared" else 2.0] * 2 for gpus in ("shared", "exclusive")}
    assert summary_of(values, traits={name: Traits("mine", True)}).mean(
        name, AS_PUBLISHED, 5.0, "average_jct_s"
    ).mean == pytest.approx(1.0)
    assert summary_of(values).mean(name, AS_PUBLISHED, 5.0, "average_jct_s").mean == 2.0  # unknown: exclusive


def test_own_schedulers_have_the_name_that_they_give_themselves() -> None:
    traits = {
        "a:One": Traits("one", False),
        "a:Two": Traits("same", False),
        "b:Two": Traits("same", False),
        "a:Three": Traits("fifo", False),
        "fifo": Traits("fifo", False),
        "a:Four": Traits("unnamed", False),
    }
    assert labels_of(traits) == {**{name: name for name in traits}, "a:One": "one"}


def test_means_over_other_seeds_are_flagged_and_empty_rows_left_out() -> None:
    summary = summary_of(
        {("mlf_h", "shared"): [100.0, 300.0], ("srtf", "shared"): [90.0], ("fifo", "exclusive"): [1.0]}
    )
    assert summary.played("shared") == ["mlf_h", "srtf"]
    text = summary.markdown()
    assert "(1 of 2 seeds)<br>-10.0%" in text  # of the seed that both have
    shared, exclusive = text.split("| GPUs exclusive")[0], text.split("| GPUs exclusive")[1].split("##")[0]
    assert "`fifo`" not in shared
    assert "`srtf`" not in exclusive
    assert "nan" not in text


def test_ablations_compare_the_whole_with_the_whole_without_a_part() -> None:
    summary = summary_of({("mlf_h", "shared"): [90.0, 90.0], ("mlf_h-bandwidth", "shared"): [100.0, 100.0]})
    assert [ablation.part for ablation in summary.known_ablations()] == ["bandwidth term"]
    effects = summary.ablations.set_index(["metric", "gpus"])["effect"]
    assert effects["average_jct_s", "shared"] == pytest.approx(-0.1)
    assert effects["bandwidth_tb", "shared"] == 0.0


def test_the_markdown_says_what_was_found(tmp_path: Path) -> None:
    summary = summary_of(
        {("mlf_h", "shared"): [6000.0, 18000.0] * 3, ("srtf", "shared"): [5400.0, 17400.0] * 3}, seeds=6
    )
    summary.write(tmp_path)
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "2 schedulers, 6 seeds." in text
    assert "| `srtf` | 190.0 ± 115.0<br>**-5.0 ± 0.0%** |" in text  # minutes
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
