"""`mlfs-gym simulate`: one scheduler, one workload."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

import mlfs_gym as package
from mlfs_gym.report.metrics import METRICS
from mlfs_gym.report.tables import SHOWN
from mlfs_gym.schedulers import scheduler_names
from mlfs_gym.workloads import make_workload
from mlfs_gym.workloads.traces.read import FORMATS
from tests.cli.command import assert_one_line_error, mlfs_gym, mlfs_gym_process

TIRESIAS = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
1,1,0,100,resnet50,600,0
2,4,60,100,alexnet,1200,60
3,2,60,100,vgg16,300,0
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "three.csv"
    file.write_text(TIRESIAS)
    return file


@pytest.mark.parametrize(("option", "gpus"), [("--exclusive", "exclusive"), ("--sharing", "shared")])
def test_table_shows_every_metric_and_whether_gpus_are_shared(option: str, gpus: str) -> None:
    done = mlfs_gym("simulate", "--scheduler", "fifo", "--workload", "toy", option)
    assert done.code == 0
    assert "fifo on toy, seed 0" in done.out
    assert f"GPUs     {gpus}" in done.out
    assert [name for name in METRICS if SHOWN[name].label not in done.out] == []
    assert max(len(line) for line in done.out.splitlines()) <= 100


def test_hand_solved_toy() -> None:
    arguments = ("--workload", "toy", "--exclusive", "--no-contention", "--json")
    done = mlfs_gym("simulate", "--scheduler", "fifo", *arguments)
    document = json.loads(done.out)
    assert document["metrics"]["average_jct_s"] == pytest.approx(810.0)
    assert document["metrics"]["deadline_ratio"] == 0.25
    assert document["metrics"]["urgent_deadline_ratio"] is None  # no urgent job: JSON has no nan
    assert (document["gpus"], document["seed"], document["scheduler"]) == ("exclusive", 0, "fifo")
    assert document["cluster"]["gpus_per_server"] == 2


def test_json_is_the_same_bytes_in_a_fresh_process() -> None:
    arguments = ("simulate", "--jobs", "30", "--seed", "7", "--json")
    here, there = mlfs_gym(*arguments), mlfs_gym_process(*arguments)
    assert here.code == there.code == 0
    assert here.out == there.out
    assert mlfs_gym("simulate", "--jobs", "30", "--seed", "8", "--json").out != here.out


def test_json_agrees_with_the_python_call() -> None:
    document = json.loads(mlfs_gym("simulate", "-s", "srtf", "--jobs", "30", "--seed", "3", "--json").out)
    result = package.simulate(make_workload("small", 3, jobs=30), "srtf", simulation={"sharing": False}, seed=3)
    expected = {name: value for name, value in result.metrics.items() if not math.isnan(value)}
    assert {name: value for name, value in document["metrics"].items() if value is not None} == expected


@pytest.mark.parametrize("workload", ["small", "testbed", "toy"])
def test_a_name_means_the_same_in_python(workload: str) -> None:
    document = json.loads(mlfs_gym("simulate", "-s", "fifo", "-w", workload, "--json").out)
    result = package.simulate(workload, "fifo")
    assert document["cluster"] == result.cluster.cluster_config.model_dump(mode="json")
    assert document["simulation"] == result.cluster.simulation_config.model_dump(mode="json")
    assert document["metrics"]["average_jct_s"] == result.metrics["average_jct_s"]


def test_trace(trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    done = mlfs_gym("simulate", "--trace", trace, "--servers", "2", "--gpus-per-server", "4", "--jobs-csv", table)
    assert done.code == 0
    assert "three.csv" in done.out
    assert "2 x 4 GPUs" in done.out
    assert "GPUs     shared" in done.out
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["job_id"] for row in rows] == ["1", "2", "3"]
    assert [row["gpus"] for row in rows] == ["1", "4", "2"]
    assert {row["status"] for row in rows} == {"finished"}
    for row in rows:
        assert float(row["jct_s"]) == pytest.approx(float(row["finish_s"]) - float(row["arrival_s"]))


def test_first_jobs_of_a_trace(trace: Path) -> None:
    done = mlfs_gym("simulate", "--trace", trace, "--jobs", "2", "--json")
    assert json.loads(done.out)["metrics"]["jobs"] == 2


def test_jobs_that_do_not_fit_are_skipped_and_counted(trace: Path) -> None:
    arguments = ("simulate", "--trace", trace, "--servers", "1", "--gpus-per-server", "2", "--on-error", "skip")
    assert "1 skipped: field 'num_gpus'" in mlfs_gym(*arguments).out
    document = json.loads(mlfs_gym(*arguments, "--json").out)
    assert document["metrics"]["jobs"] == 2
    assert sum(document["skipped"].values()) == 1


def test_scheduler_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_scheduler_of_the_user.py").write_text(
        "from mlfs_gym.schedulers import Scheduler\n"
        "class Last(Scheduler):\n"
        "    name = 'last_come'\n"
        "    def schedule(self, cluster):\n"
        "        for job in reversed(cluster.waiting_jobs()):\n"
        "            cluster.place_all(job)\n"
    )
    monkeypatch.chdir(tmp_path)
    done = mlfs_gym("simulate", "--workload", "toy", "--scheduler", "own_scheduler_of_the_user:Last")
    assert done.code == 0, done.err
    assert "last_come on toy" in done.out


@pytest.mark.parametrize("method", ["__init__", "schedule"])
def test_a_bug_in_ones_own_scheduler_shows_ones_own_code(tmp_path: Path, method: str) -> None:
    (tmp_path / "buggy.py").write_text(
        "from mlfs_gym.schedulers import Scheduler\n"
        "class Buggy(Scheduler):\n"
        "    def schedule(self, cluster):\n"
        "        pass\n"
        f"    def {method}(self, *arguments):\n"
        "        return self.helper()\n"
        "    def helper(self):\n"
        "        return 1 / 0\n"
    )
    done = mlfs_gym_process("simulate", "--workload", "toy", "--scheduler", "buggy:Buggy", cwd=tmp_path)
    assert done.code == 1
    assert done.error_lines[0] == "Traceback (most recent call last):"
    assert "buggy.py" in done.error_lines[1]
    assert done.error_lines[-1] == "ZeroDivisionError: division by zero"
    assert "mlfs_gym/" not in done.err
    assert "typer" not in done.err


def test_a_scheduler_with_a_slip_of_the_pen_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "slip.py").write_text("class Slip(\n")
    done = mlfs_gym_process("simulate", "--workload", "toy", "--scheduler", "slip:Slip", cwd=tmp_path)
    assert_one_line_error(done, "slip:Slip", "slip.py, line 1")
    done = mlfs_gym_process("simulate", "--workload", "toy", "--scheduler", "nowhere:Slip", cwd=tmp_path)
    assert_one_line_error(done, "no module nowhere", str(tmp_path), "installed packages")


def test_help_names_every_format() -> None:
    for command in ("simulate", "train", "evaluate"):
        words = " ".join(mlfs_gym(command, "--help", width=200).out.replace("│", " ").split())
        assert [name for name in FORMATS if name not in words] == []


def test_help_names_every_scheduler() -> None:
    for command in ("simulate", "evaluate"):
        words = set(mlfs_gym(command, "--help", width=200).out.replace(",", " ").replace("(", " ").split())
        assert [name for name in scheduler_names() if name not in words] == []
