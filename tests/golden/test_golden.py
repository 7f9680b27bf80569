"""Metrics of every scheduler are what they were. A change that is meant: ``python -m tests.golden.regenerate``."""

from __future__ import annotations

import pytest

from tests.golden.scenarios import found, kept, names


def test_every_scenario_is_kept_and_no_other() -> None:
    assert list(kept()) == names()


@pytest.mark.parametrize("name", names())
def test_metrics_are_as_kept(name: str) -> None:
    assert found(name) == pytest.approx(kept()[name], rel=1e-9, abs=0.0)


def test_preemptive_and_ordered_schedulers_beat_fifo() -> None:
    # What makes the numbers plausible beyond being the same as before: the order among schedulers under load.
    jct = {name: values["average_jct_s"] for name, values in kept().items()}
    for kind in ("shared", "exclusive"):
        assert jct[f"small, {kind}, srtf"] < jct[f"small, {kind}, sjf"] < jct[f"small, {kind}, fifo"]
    for scheduler in ("fifo", "sjf", "srtf", "mlf_h"):
        assert jct[f"small, shared, {scheduler}"] < jct[f"small, exclusive, {scheduler}"]
