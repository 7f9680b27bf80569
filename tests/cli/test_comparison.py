"""The table of a comparison on the screen."""

from __future__ import annotations

import pandas as pd
import pytest

from mlfs_gym.cli.comparison import print_comparison
from mlfs_gym.schedulers.fifo import FIFO


class Mine(FIFO):
    name = "my_own"


def test_own_schedulers_have_the_name_that_they_give_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    names = (f"{__name__}:Mine", "srtf", "runs/quick")
    results = pd.DataFrame([{"name": name, "seed": seed, "return": 1.0} for name in names for seed in range(2)])
    print_comparison(results, names[0])
    shown = capsys.readouterr().out
    assert [name for name in ("my_own", "srtf", "runs/quick", "vs my_own") if name not in shown] == []
    assert ":Mine" not in shown


def test_names_that_would_be_the_same_stay_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mine, "name", "srtf")
    names = (f"{__name__}:Mine", "srtf")
    print_comparison(pd.DataFrame([{"name": name, "seed": 0, "return": 1.0} for name in names]), "srtf")
    assert "test_comparison:M" in capsys.readouterr().out
