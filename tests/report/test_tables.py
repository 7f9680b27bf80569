"""What tables show."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from mlfs_gym.report.metrics import METRICS
from mlfs_gym.report.tables import (
    COMPARED,
    SHOWN,
    comparison_note,
    comparison_table,
    comparison_that_fits,
    metrics_table,
    with_unit,
)


def rendered(table: Table, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("seconds", 90.0, "90.0 s"),
        ("seconds", 5400.0, "90.0 min"),
        ("seconds", 36_000.0, "10.00 h"),
        ("seconds", 864_000.0, "10.00 days"),
        ("seconds", float("nan"), "- s"),
        ("share", 0.5, "50.0 %"),
        ("terabytes", 1.5, "1.500 TB"),
        ("count", 1234.0, "1,234"),
        ("number", -0.25, "-0.250"),
    ],
)
def test_units(kind: str, value: float, text: str) -> None:
    assert with_unit(kind, value) == text  # type: ignore[arg-type]


def test_tables_know_every_metric() -> None:
    assert set(METRICS) <= set(SHOWN)
    assert set(COMPARED) <= set(SHOWN)


def test_metrics_have_their_meaning_beside_them() -> None:
    text = rendered(metrics_table({"average_jct_s": 600.0, "own_metric": 2.0}, 1.25))
    assert "Average JCT" in text
    assert "10.0 min" in text
    assert METRICS["average_jct_s"].split(";")[0] in text
    assert "own_metric" in text
    assert "1.250 ms" in text


def test_comparison_shows_means_and_paired_differences() -> None:
    samples = {
        "mlf_h": {"average_jct_s": [600.0, 1200.0] * 3, "deadline_ratio": [0.5, 0.7] * 3, "rounds": [1.0, 2.0] * 3},
        "srtf": {"average_jct_s": [540.0, 1140.0] * 3, "deadline_ratio": [0.6, 0.7] * 3, "rounds": [1.0, 2.0] * 3},
    }
    text = rendered(comparison_table(samples, "mlf_h"))
    assert "15.0" in text  # minutes
    assert "14.0" in text
    assert "-1.0 ±0.0*" in text
    assert "+5.0 ±5.7 " in text  # t(5) = 2.57 times a standard error of 2.24: no star
    assert "vs mlf_h" in text
    assert comparison_note(samples, "mlf_h").startswith("6 seeds. vs mlf_h: ")
    assert "Rounds" not in text  # compared are the columns asked for ...
    assert "Traffic" not in text  # ... that the results have


@pytest.mark.parametrize(("seeds", "text"), [(1, "1 seed. "), (4, "4 seeds. ")])
def test_few_seeds_have_no_stars(seeds: int, text: str) -> None:
    samples = {name: {"average_jct_s": [jct] * seeds} for name, jct in (("mlf_h", 600.0), ("srtf", 60.0))}
    assert "*" not in rendered(comparison_table(samples, "mlf_h"))
    note = comparison_note(samples, "mlf_h")
    assert note.startswith(text)
    assert "no * with fewer than 5 seeds" in note


@pytest.mark.parametrize(("change", "style"), [(-60.0, "green"), (60.0, "red")])
def test_colour_says_whether_a_difference_is_an_improvement(change: float, style: str) -> None:
    reference = [600.0, 1200.0, 900.0, 300.0, 60.0]
    samples = {"a": {"average_jct_s": reference}, "b": {"average_jct_s": [value + change for value in reference]}}
    cell = list(comparison_table(samples, "a").columns[1].cells)[1]
    assert style in str(cell.spans)  # type: ignore[union-attr]


@pytest.mark.parametrize(("width", "tables"), [(160, 1), (100, 2), (80, 3)])
def test_comparison_fits_the_terminal(width: int, tables: int) -> None:
    """Nothing is cut off and nothing is left out."""
    means = {"average_jct_s": 6000.0, "average_waiting_s": 1500.0, "return": -0.4, "bandwidth_tb": 2.4}
    names = ("mlf_h", "fifo", "2026-12-01-philly-with-a-long-name-seed-17")
    samples = {
        name: {column: [means.get(column, 0.9) * (1 + 0.01 * i), means.get(column, 0.9)] for column in COMPARED}
        for i, name in enumerate(names)
    }
    console = Console(file=io.StringIO(), width=width, color_system=None)
    shown = comparison_that_fits(console, samples, "mlf_h")
    assert len(shown) == tables
    text = "".join(rendered(table, width) for table in shown)
    assert "…" not in text
    assert sum(len(table.columns) - 1 for table in shown) == len(COMPARED)
