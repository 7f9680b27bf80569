"""A comparison plays what simulate plays, once, and goes on where it was."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlfs_gym
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.compare import workers
from mlfs_gym.report.compare.compare import Comparison, compare
from mlfs_gym.report.compare.plan import Run, plan
from mlfs_gym.report.compare.settings import compare_config, default_schedulers
from mlfs_gym.schedulers import Scheduler, scheduler_names
from mlfs_gym.schedulers.ablations import ABLATIONS
from mlfs_gym.workloads import default_cluster, make_workload

SMALL: dict[str, Any] = {"workload": "small", "loads": [1.0], "seeds": 2, "plots": False, "processes": 1}


class Failing(Scheduler):
    name = "failing"

    def schedule(self, cluster: Any) -> None:
        raise RuntimeError("this scheduler is broken")


def test_every_run_is_what_simulate_gives(tmp_path: Path) -> None:
    found = compare(["fifo", "mlf_h+mlf_c"], tmp_path, **SMALL)
    assert len(found.runs) == 2 * 2 * 2
    for row in found.runs.to_dict("records"):
        workload = make_workload("small", row["seed"], load=1.0)
        sharing = {"sharing": row["gpus"] == "shared"}
        result = mlfs_gym.simulate(workload, row["scheduler"], default_cluster("small"), sharing, row["seed"])
        assert {name: row[name] for name in result.metrics} == pytest.approx(result.metrics, nan_ok=True)
        key = f"{row['scheduler']}__{row['gpus']}__1load__seed{row['seed']}"
        jobs = pd.read_csv(tmp_path / "jobs" / f"{key}.csv.gz")
        assert jobs["jct_s"].to_numpy() == pytest.approx(result.jobs["jct_s"].to_numpy())
        quantiles = found.jct_quantiles.query(
            "scheduler == @row['scheduler'] and gpus == @row['gpus'] and seed == @row['seed']"
        )
        assert quantiles["p100"].item() == pytest.approx(result.jobs["jct_s"].max(), abs=0.1)
        expected = np.quantile(result.jobs["jct_s"], 0.5, method="inverted_cdf")
        assert quantiles["p50"].item() == pytest.approx(expected, abs=0.1)


def test_several_processes_give_the_same_bytes_as_one(tmp_path: Path) -> None:
    options = {**SMALL, "workload": "small", "loads": [1.3]}
    compare(["fifo", "srtf"], tmp_path / "one", **options)
    compare(["fifo", "srtf"], tmp_path / "two", **{**options, "processes": 2})
    for name in ("runs.csv", "jct_quantiles.csv", "summary.md", "tables/summary.csv"):
        if name != "summary.md":  # which has wall-clock times
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    for file in (tmp_path / "one" / "jobs").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / "jobs" / file.name).read_bytes()
        assert gzip.decompress(file.read_bytes()).startswith(b"job_id,")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    played: list[Run] = []
    original = workers.play

    def play(run: Run, *rest: Any) -> Any:
        played.append(run)
        return original(run, *rest)

    monkeypatch.setattr(workers, "play", play)
    return played


def test_an_interrupted_comparison_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = counted(monkeypatch)

    def interrupt(done: int, total: int, name: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(["fifo", "srtf"], tmp_path, on_progress=interrupt, **SMALL)
    assert len(played) == 3
    compare(["fifo", "srtf"], tmp_path, **SMALL)
    assert len(played) == len(set(played)) == 8
    before = (tmp_path / "runs.csv").read_bytes()
    compare(["fifo", "srtf"], tmp_path, **SMALL)
    assert len(played) == 8
    assert (tmp_path / "runs.csv").read_bytes() == before
    compare(["fifo", "srtf"], tmp_path / "in one go", **SMALL)
    assert (tmp_path / "in one go" / "runs.csv").read_bytes() == before


def test_a_run_that_was_cut_off_while_it_wrote_is_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = counted(monkeypatch)
    compare(["fifo"], tmp_path, **SMALL)
    key = played[0].key
    record = tmp_path / "runs" / f"{key}.json"
    whole = record.read_text()
    record.rename(record.with_name(f".123-{record.name}"))  # written, but not yet in its place
    compare(["fifo"], tmp_path, **SMALL)
    assert [run.key for run in played[4:]] == [key]
    again = json.loads(record.read_text())
    assert again["metrics"] == json.loads(whole)["metrics"]


def test_a_finished_comparison_can_be_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = counted(monkeypatch)
    compare(["fifo"], tmp_path, **SMALL)
    found = compare(["srtf"], tmp_path, **{**SMALL, "seeds": 3, "gpus": "shared"})
    assert len(played) == 4 + 3
    assert set(found.runs["scheduler"]) == {"srtf"}
    assert found.config.seeds == (0, 1, 2)
    kept = pd.read_csv(tmp_path / "runs.csv")
    assert kept["scheduler"].value_counts().to_dict() == {"fifo": 4, "srtf": 3}


def test_another_question_needs_another_folder(tmp_path: Path) -> None:
    compare(["fifo"], tmp_path, **{**SMALL, "seeds": 1})
    for change in (
        {"workload": "testbed", "loads": [0.1], "jobs": None},
        {"servers": 6},
        {"loads": None, "jobs": [60]},
    ):
        with pytest.raises(SettingsError, match="choose another folder"):
            compare(["fifo"], tmp_path, **{**SMALL, **change})


def test_a_scheduler_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    name = "tests.report.compare.test_compare:Failing"
    found = compare([name, "fifo"], tmp_path, **SMALL)
    assert len(found.failed) == 4
    assert set(found.runs["scheduler"]) == {"fifo"}
    notes = list((tmp_path / "failed").iterdir())
    assert len(notes) == 4
    assert "this scheduler is broken" in notes[0].read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workload": "nowhere"}, "workload"),
        ({"jobs": [10], "loads": [1.0]}, "jobs and loads"),
        ({"seeds": 0}, "seeds"),
        ({"schedulers": ["no_such"]}, "no_such"),
        ({"workload": "toy", "jobs": [10]}, "one size"),
        ({"gpus": "some"}, "gpus"),
        ({"servers": 0}, "servers"),
    ],
)
def test_bad_settings_name_the_field(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        compare_config(**options)
    with pytest.raises(SettingsError, match="reference"):
        compare(["fifo"], "never made", reference="srtf")


def test_the_default_is_the_evaluation_of_the_paper() -> None:
    config = compare_config()
    assert config.sizes == (155, 310, 620, 1240, 1860)
    assert config.seeds == tuple(range(10))
    assert set(config.schedulers) == {*scheduler_names(), "mlf_h+mlf_c"} == set(default_schedulers())
    runs = plan(config)
    assert len({run.key for run in runs}) == len(runs) == len(config.schedulers) * 5 * 10 * 2
    assert [run.size for run in runs] == sorted((run.size for run in runs), reverse=True)


def test_ablations_bring_their_schedulers() -> None:
    names = compare_config(["fifo"], ablations=True).schedulers
    assert {name for ablation in ABLATIONS for name in (ablation.whole, ablation.without)} < set(names)


def test_names_that_differ_have_files_that_differ() -> None:
    keys = [Run(name, "shared", "jobs", 1, 0).key for name in ("a:B", "a/B", "a_B")]
    assert len(set(keys)) == 3


def test_a_scheduler_in_a_file_of_its_own_is_found_by_worker_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "from mlfs_gym.schedulers.fifo import FIFO\n\n\nclass Mine(FIFO):\n    name = 'mine'\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found: Comparison = compare(["mine:Mine", "fifo"], tmp_path / "out", **{**SMALL, "processes": 2})
    assert not found.failed
    by_name = dict(tuple(found.runs.groupby("scheduler")))
    assert by_name["mine:Mine"]["average_jct_s"].tolist() == by_name["fifo"]["average_jct_s"].tolist()
