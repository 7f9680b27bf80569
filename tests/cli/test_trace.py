"""`mlfs-gym trace`: inspect and convert."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlfs_gym.workloads import read_trace
from tests.cli.command import assert_one_line_error, mlfs_gym
from tests.workloads.traces.files import table

OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = (
    "half,4000,15258,1,500,,LS,Running,0,160,60",
    "cpu,4000,15258,0,0,,LS,Running,5,160,60",
    "pending,4000,15258,1,1000,,BE,Pending,10,70,",
    "eight,4000,15258,8,1000,,LS,Succeeded,30,1060,60",
)
WRONG = "wrong,4000,15258,1,5000,,LS,Running,40,160,60"


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    return table(tmp_path, OPENB, *PODS, name="pods.csv")


def test_convert(pods: Path, tmp_path: Path) -> None:
    out = tmp_path / "jobs.csv"
    done = mlfs_gym("trace", "convert", pods, out)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "1 skipped: CPU job: no GPU (row 3)",
        "1 skipped: pending pod: it never ran (row 4)",
        f"2 jobs (openb-csv) written to {out}, 2 skipped",
    ]
    assert out.read_text().splitlines() == [
        "job_id,submit_time_s,run_time_s,num_gpus,gpu_share_milli,model_family,virtual_cluster,user,format",
        "half,0.0,100.0,1,500,,,,mlfs-1",
        "eight,30.0,1000.0,8,1000,,,,mlfs-1",
    ]
    assert read_trace(out).gpu_share.tolist() == read_trace(pods).gpu_share.tolist()
    again = mlfs_gym("trace", "convert", out, tmp_path / "again.csv")
    assert again.out.splitlines() == [f"2 jobs (mlfs-csv) written to {tmp_path / 'again.csv'}, nothing skipped"]
    assert (tmp_path / "again.csv").read_bytes() == out.read_bytes()


def test_what_is_converted_runs_as_the_original_does(pods: Path, tmp_path: Path) -> None:
    out = tmp_path / "jobs.csv"
    assert mlfs_gym("trace", "convert", pods, out).code == 0
    one, other = (json.loads(mlfs_gym("simulate", "--trace", file, "--json").out) for file in (pods, out))
    assert one["metrics"] == other["metrics"]


def test_an_existing_file_is_replaced_only_if_asked(pods: Path, tmp_path: Path) -> None:
    out = tmp_path / "jobs.csv"
    out.write_text("precious")
    assert_one_line_error(mlfs_gym("trace", "convert", pods, out), str(out), "there already", "--force")
    assert out.read_text() == "precious"
    assert mlfs_gym("trace", "convert", pods, out, "--force").code == 0
    assert len(read_trace(out)) == 2


def test_a_trace_never_replaces_itself(pods: Path) -> None:
    before = pods.read_text()
    assert_one_line_error(mlfs_gym("trace", "convert", pods, pods, "--force"), "the trace itself")
    assert pods.read_text() == before


def test_bad_row(tmp_path: Path) -> None:
    file, out = table(tmp_path, OPENB, *PODS, WRONG, name="pods.csv"), tmp_path / "jobs.csv"
    assert_one_line_error(mlfs_gym("trace", "convert", file, out), str(file), "row 6", "gpu_milli", "'5000'")
    assert not out.exists()
    done = mlfs_gym("trace", "convert", file, out, "--on-error", "skip")
    assert done.out.splitlines()[-1] == f"2 jobs (openb-csv) written to {out}, 3 skipped"


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["nowhere.csv", "out.csv"], ["nowhere.csv", "no such file"]),
        (["pods.csv", "no/such/out.csv"], ["OUT", "no/such/out.csv", "a folder that exists"]),
        (["pods.csv", "."], ["OUT", "a file in a folder that exists"]),
        (["pods.csv", "out.csv", "--format", "itp-csv"], ["pods.csv", "job_id", "a column of this name"]),
        (["pods.csv", "out.csv", "--format", "slurm"], ["'slurm'", "openb-csv"]),
    ],
)
@pytest.mark.usefixtures("pods")
def test_wrong_arguments(
    arguments: list[str], mentions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line_error(mlfs_gym("trace", "convert", *arguments), *mentions)
    assert [path.name for path in tmp_path.iterdir()] == ["pods.csv"]


def test_help_teaches() -> None:
    done = mlfs_gym("trace", "convert", "--help", width=200)
    words = ("run_time_s", "gpu_share_milli", "mlfs-gym[parquet]", "--force", "--on-error", "docs/traces.md")
    assert [word for word in words if word not in done.out] == []
    assert "openb" in mlfs_gym("trace", "inspect", "--help").out


def test_inspect_counts_shared_gpus(pods: Path) -> None:
    done = mlfs_gym("trace", "inspect", pods)
    assert "Shared GPUs      1 jobs" in done.out
    assert "1 skipped: pending pod: it never ran (row 4)" in done.out
    assert json.loads(mlfs_gym("trace", "inspect", pods, "--json").out)["shared_gpu_jobs"] == 1
