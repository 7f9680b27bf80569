"""`mlfs-gym evaluate`: schedulers and policies on the same seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.command import Outcome, assert_one_line_error, mlfs_gym
from tests.cli.test_train import SMALL


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    done = mlfs_gym("train", *SMALL, "--runs", runs, "--name", "r", "--load", "1.1")
    assert done.code == 0, done.err
    return runs / "r"


def rows(outcome: Outcome) -> pd.DataFrame:
    assert outcome.code == 0, outcome.err
    return pd.DataFrame(json.loads(outcome.out))


def test_any_mix_in_one_table(run: Path, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    done = mlfs_gym(
        "evaluate", "srtf", "mlf_h", run, run / "cloned_model.zip", "--seeds", "3", "--csv", table, width=200
    )
    assert done.code == 0, done.err
    assert "vs srtf" in done.out
    assert "3 seeds" in done.out
    results = pd.read_csv(table)
    assert results["name"].unique().tolist() == ["srtf", "mlf_h", str(run), str(run / "cloned_model.zip")]
    seeds = results.groupby("name")["seed"].apply(tuple)
    assert seeds.nunique() == 1
    assert len(seeds.iloc[0]) == 3


def test_environment_is_the_runs_own_unless_said(run: Path) -> None:
    own = rows(mlfs_gym("evaluate", "mlf_h", run, "--seeds", "2", "--json"))
    alone = rows(mlfs_gym("evaluate", "mlf_h", "--seeds", "2", "--json", "--jobs", "60", "--load", "1.1"))
    other = rows(mlfs_gym("evaluate", "mlf_h", run, "--seeds", "2", "--json", "--load", "0.6"))
    mlf_h = own[own["name"] == "mlf_h"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mlf_h, alone)
    assert (mlf_h["jobs"] == 60).all()
    assert other["average_jct_s"].mean() < mlf_h["average_jct_s"].mean()


def test_training_found_the_same_as_evaluate_does(run: Path) -> None:
    stored = pd.read_csv(run / "evaluation.csv")
    found = rows(mlfs_gym("evaluate", "mlf_h", "srtf", run, "--seeds", "2", "--json"))
    for name, stored_name in (("mlf_h", "mlf_h"), ("srtf", "srtf"), (str(run), "trained")):
        expected = stored[stored["name"] == stored_name]["return"].tolist()
        assert found[found["name"] == name]["return"].tolist() == pytest.approx(expected, rel=1e-12)


def test_reference_can_be_chosen() -> None:
    done = mlfs_gym("evaluate", "fifo", "sjf", "--seeds", "2", "--reference", "sjf", "--jobs", "60", width=200)
    assert "vs sjf" in done.out
    assert "vs fifo" not in done.out


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["best"], ["'best'", "mlf_h"]),
        (["mlf_h", "mlf_h"], ["names", "each once"]),
        (["mlf_h", "--reference", "fifo"], ["--reference", "'fifo'", "mlf_h"]),
        (["mlf_h", "runs/nowhere"], ["runs/nowhere", "folder of a run or a model file"]),
        (["mlf_h", "--seeds", "0"], ["--seeds", "found 0"]),
        (["mlf_h", "--env", "x"], ["env", "'x'"]),
        (["mlf_h", "--csv", "no/folder/r.csv"], ["--csv", "folder that exists"]),
        (["mlf_h", "--load", "-1"], ["'load'", "found -1"]),
        (["os:path"], ["os:path"]),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line(
    arguments: list[str], mentions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line_error(mlfs_gym("evaluate", *arguments), *mentions)
