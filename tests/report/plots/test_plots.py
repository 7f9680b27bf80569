"""Plots: one look per scheduler, the numbers behind them, and files that are there."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mlfs_gym.report.compare.compare import compare
from mlfs_gym.report.plots.figures import limits_of
from mlfs_gym.report.plots.looks import LOOKS, label_of, look_of
from mlfs_gym.report.plots.statistics import mean_and_within_interval, pooled_cdf
from mlfs_gym.schedulers import scheduler_names
from mlfs_gym.schedulers.ablations import ablated_names


def test_every_scheduler_has_a_look_of_its_own_even_without_colour() -> None:
    assert {*scheduler_names(), *ablated_names()} <= set(LOOKS)
    looks = [(look.marker, str(look.dash), look.width, look.colour) for look in LOOKS.values()]
    assert len(set(looks)) == len(looks)
    grey = [(look.marker, str(look.dash), look.width) for look in LOOKS.values()]
    assert len(set(grey)) == len(grey)


def test_a_scheduler_that_nobody_knows_keeps_its_look() -> None:
    assert look_of("my_module:MyScheduler") == look_of("my_module:MyScheduler")
    assert look_of("my_module:MyScheduler") not in LOOKS.values()
    assert label_of("my_module:MyScheduler") == "MyScheduler"
    assert label_of("tiresias+mlf_c") == "Tiresias + MLF-C"


def test_the_cdf_pools_samples() -> None:
    # Quantiles at 0, 50 and 100% of (1, 3) and of (2, 4).
    values, share = pooled_cdf([[1.0, 1.0, 3.0], [2.0, 2.0, 4.0]])
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert share.tolist() == [0.25, 0.5, 0.75, 1.0]


def test_jobs_that_have_not_ended_count_as_jobs() -> None:
    values, share = pooled_cdf([[1.0, 1.0, math.nan]])
    assert values.tolist() == [1.0]
    assert share.tolist() == [0.5]


def test_intervals_leave_out_what_workloads_do_to_all_alike() -> None:
    workload = np.array([0.0, 100.0, 1000.0])
    means, halves = mean_and_within_interval([pd.Series(10.0 + workload), pd.Series(20.0 + workload)])
    assert means == pytest.approx([10 + 1100 / 3, 20 + 1100 / 3])
    assert halves == pytest.approx([0.0, 0.0])
    # One of two schedulers is 0, 0, 3 off: within-seed values 0, 0, 1.5 beside -0, -0, -1.5 around the mean.
    noisy = [pd.Series([0.0, 0.0, 3.0]), pd.Series([0.0, 0.0, 0.0])]
    _, halves = mean_and_within_interval(noisy)
    error = np.std([0.0, 0.0, 1.5], ddof=1) / np.sqrt(3) * np.sqrt(2)
    assert halves == pytest.approx([4.302652729911275 * error] * 2)


def test_all_plots_are_drawn(tmp_path: Path) -> None:
    options = {"workload": "small", "loads": [1.0, 1.6], "seeds": 2, "ablations": True, "processes": 1}
    compare(["fifo", "mlf_h"], tmp_path, **options)  # type: ignore[arg-type]
    names = {
        *("average_jct", "makespan", "deadline_ratio", "waiting_time", "accuracy", "accuracy_guarantee", "bandwidth"),
        *("overloads", "scheduler_time", "relative_jct", "ablations", "jct_cdf_load_1", "jct_cdf_load_1.6"),
    }
    assert {file.stem for file in (tmp_path / "plots").glob("*.png")} == names
    assert {file.stem for file in (tmp_path / "plots").glob("*.pdf")} == names
    for name in names:
        with Image.open(tmp_path / "plots" / f"{name}.png") as picture:
            assert picture.width > 600
            assert len(set(picture.convert("RGB").resize((200, 100)).getdata())) > 50  # not blank


def test_an_axis_is_made_for_most_curves() -> None:
    # 39 means between 1 and 2, one of 100: the axis ends one spread beyond the 95th percentile, and its margin.
    means = np.append(np.linspace(1.0, 2.0, 39), 100.0)
    low, high = limits_of(means)
    assert low < 1.0
    assert 2.0 < high < 3.2
    assert limits_of(np.array([[1.0, 2.0], [math.nan, 3.0]])) == pytest.approx((0.88, 3.12))  # nothing is cut off
    assert limits_of(np.array([5.0, 5.0])) == pytest.approx((4.75, 5.25))
    assert limits_of(np.zeros(3)) == (0.0, 1.0)
