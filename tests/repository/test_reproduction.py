"""docs/reproduction.md says what its raw results say, and the raw results are what the code gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from reproduction.constants import SOURCES, constants
from reproduction.figures import Figures
from reproduction.page import page
from reproduction.published import ABLATIONS, WITH_MLF_C
from reproduction.verdict import AGREES, NO_DIFFERENCE, OPPOSITE, SAME_DIRECTION, UNDEFINED, order_verdict, verdict

from mlfs_gym.report.compare.compare import Comparison, read_comparison
from mlfs_gym.report.paired import Difference
from mlfs_gym.report.simulate import simulate
from mlfs_gym.schedulers.ablations import ABLATIONS as PARTS
from mlfs_gym.workloads.generator import TESTBED_CLUSTER
from mlfs_gym.workloads.presets import make_workload
from tests.repository.paths import ROOT

RAW = ROOT / "docs" / "reproduction"
PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return read_comparison(RAW)


# --- the page ------------------------------------------------------------------------------------
def test_the_page_is_what_the_raw_results_give(comparison: Comparison) -> None:
    assert page(comparison) == PAGE


def test_the_page_follows_the_raw_results(comparison: Comparison) -> None:
    runs = comparison.runs.copy()
    runs.loc[runs["scheduler"] == "mlf_h", "average_jct_s"] *= 1.5
    changed = Comparison(RAW, comparison.config, runs, comparison.timing, comparison.jct_quantiles)
    assert "1240 jobs: 1 and 2 as published" in PAGE
    assert "1240 jobs: 1 and 17 as published" in page(changed)


def test_the_page_says_first_where_mlf_h_alone_falls_behind(comparison: Comparison) -> None:
    first = PAGE.split("## In short")[1].strip().splitlines()[0]
    assert "Without MLF-C, MLF-H falls behind under overload: its JCT at 1860 jobs" in first
    runs = comparison.runs.copy()
    runs.loc[runs["scheduler"].isin(["mlf_h", WITH_MLF_C]), "average_jct_s"] *= 0.1
    changed = page(Comparison(RAW, comparison.config, runs, comparison.timing, comparison.jct_quantiles))
    assert "falls behind" not in changed
    assert "Of 51 pairs of the paper's order" in PAGE  # 17 at 620, 1240 and 1860 jobs


def test_long_tables_of_constants_are_the_end_of_the_page() -> None:
    assert [line for line in PAGE.splitlines() if line.startswith("## ")][-1] == "## Appendix: constants"


def test_the_script_writes_the_page_and_the_plots_it_shows(tmp_path: Path) -> None:
    done = run_script("--out", str(tmp_path / "again.md"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again.md").read_text(encoding="utf-8") == PAGE
    drawn = {file.name for file in (tmp_path / "again" / "plots").glob("*.png")}
    shown = {Path(part.split(")")[0]).name for part in PAGE.split("](reproduction/plots/")[1:]}
    kept = {file.name for file in (RAW / "plots").glob("*.png")}
    assert drawn == shown == kept


def test_the_script_says_what_is_missing(tmp_path: Path) -> None:
    done = run_script("--raw", str(tmp_path), "--out", str(tmp_path / "page.md"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert str(tmp_path) in done.stderr
    assert not (tmp_path / "page.md").exists()


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/reproduce_paper.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


# --- what it stands on ---------------------------------------------------------------------------
def test_the_raw_results_are_the_whole_comparison(comparison: Comparison) -> None:
    config = comparison.config
    assert len(config.schedulers) >= 12
    assert config.sizes == (155.0, 310.0, 620.0, 1240.0, 1860.0)
    assert len(config.seeds) == 10
    count = len(config.schedulers) * len(config.sizes) * len(config.seeds) * len(config.gpus)
    for table in (comparison.runs, comparison.timing, comparison.jct_quantiles):
        assert len(table) == count


@pytest.mark.parametrize("gpus", ["shared", "exclusive"])
def test_the_code_gives_the_raw_results(comparison: Comparison, gpus: str) -> None:
    """Of every scheduler, 155 and 620 jobs: raw results that are out of date are found."""
    runs = comparison.runs[comparison.runs["gpus"] == gpus]
    for jobs, seed in ((155, 3), (620, 0)):
        workload = make_workload("testbed", seed, jobs=jobs)
        kept = runs[(runs["size"] == jobs) & (runs["seed"] == seed)].set_index("scheduler")
        for name in comparison.config.schedulers:
            metrics = simulate(workload, name, TESTBED_CLUSTER, {"sharing": gpus == "shared"}, seed).metrics
            expected = {metric: value for metric, value in kept.loc[name].items() if metric in metrics}
            assert {metric: metrics[metric] for metric in expected} == pytest.approx(expected, rel=1e-9), name


def test_the_order_that_must_hold(comparison: Comparison) -> None:
    """MLF-H + MLF-C < MLF-H < every other at 620 and 1240 jobs, as published; no guarantee is lost by MLF-C."""
    figures = Figures(comparison.summary("mlf_h"))
    for jobs in (620, 1240):
        assert [name for name, _ in figures.ranking(jobs, "as published")][:2] == [WITH_MLF_C, "mlf_h"]
    for jobs in comparison.config.sizes:
        for gpus in comparison.config.gpus:
            assert figures.effect(WITH_MLF_C, "mlf_h", "accuracy_guarantee_ratio", int(jobs), gpus).mean >= 0.0


def test_every_part_has_a_published_effect() -> None:
    assert set(ABLATIONS) == {(part.part, metric) for part in PARTS for metric in part.metrics}


def test_every_setting_of_the_testbed_has_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "| `required_at` |" in constants()
    monkeypatch.delitem(SOURCES["JobMix"], "required_at")
    with pytest.raises(ValueError, match="required_at"):
        constants()


# --- signs ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mean", "half", "sign"),
    [
        (-0.32, 0.02, AGREES),
        (-0.26, 0.01, AGREES),  # beyond three quarters of 0.30
        (-0.20, 0.02, SAME_DIRECTION),
        (-0.20, 0.15, SAME_DIRECTION),  # a wide interval earns nothing
        (-0.42, 0.02, AGREES),  # within five quarters of 0.34
        (-0.44, 0.02, SAME_DIRECTION),
        (-0.50, 0.02, SAME_DIRECTION),
        (-0.32, 0.40, NO_DIFFERENCE),
        (0.10, 0.02, OPPOSITE),
        (float("nan"), float("nan"), UNDEFINED),
    ],
)
def test_signs(mean: float, half: float, sign: str) -> None:
    assert verdict(Difference(mean, half), -0.34, -0.30) == sign
    assert verdict(Difference(-mean, half), 0.30, 0.34) == sign


def test_signs_of_an_order() -> None:
    signs = [order_verdict(Difference(mean, 0.01)) for mean in (-0.02, 0.005, 0.02)]
    assert signs == [AGREES, NO_DIFFERENCE, OPPOSITE]
