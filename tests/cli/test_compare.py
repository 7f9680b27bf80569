"""`mlfs-gym compare`: what it writes, that it goes on, and what it says about bad input."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.command import assert_one_line_error, finished, mlfs_gym, mlfs_gym_process, start_mlfs_gym

SMALL = ("--workload", "toy", "--seeds", "2", "--processes", "1", "--no-plots")
MINE = """
from mlfs_gym.schedulers import Scheduler


class MyScheduler(Scheduler):
    name = "mine"

    def schedule(self, cluster):
        for job in cluster.waiting_jobs():
            cluster.place_all(job)
"""


def test_all_is_written_and_played_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = mlfs_gym("compare", "--scheduler", "mlf_h,fifo", *SMALL, "--out", out)
    assert first.code == 0, first
    assert "Average JCT (min), GPUs shared" in " ".join(first.out.split())
    assert (out / "summary.md").is_file()
    runs = pd.read_csv(out / "runs.csv")
    assert len(runs) == 2 * 2 * 2  # schedulers, seeds, settings of GPUs
    more = mlfs_gym("compare", "-s", "mlf_h", "-s", "fifo", "-s", "srtf", *SMALL, "--out", out)
    assert more.code == 0, more
    again = pd.read_csv(out / "runs.csv")
    assert len(again) == 3 * 2 * 2
    key = ["scheduler", "gpus", "seed"]
    known = again[again["scheduler"] != "srtf"].sort_values(key).reset_index(drop=True)
    pd.testing.assert_frame_equal(known, runs.sort_values(key).reset_index(drop=True))


@pytest.mark.parametrize("processes", [1, 2])
def test_interrupted_the_same_command_goes_on(tmp_path: Path, processes: int) -> None:
    command = ("compare", "-s", "mlf_h,srtf", "-w", "small", "--load", "1.3", "--seeds", "8", "--gpus", "shared")
    command = (*command, "--processes", str(processes), "--no-plots", "--out", str(tmp_path / "out"))
    process = start_mlfs_gym(*command, cwd=tmp_path)
    wait_for_a_run(tmp_path / "out" / "runs", process)
    process.send_signal(signal.SIGINT)
    interrupted = finished(process)
    assert interrupted.code == 130, interrupted
    assert interrupted.error_lines[-1].endswith(f"the same command goes on where it was, in {tmp_path / 'out'}")
    complete = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "out" / "runs").iterdir()}
    assert 0 < len(complete) < 2 * 8
    assert not (tmp_path / "out" / "runs.csv").exists()

    resumed = mlfs_gym_process(*command, cwd=tmp_path)
    assert resumed.code == 0, resumed
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "out" / "runs").iterdir()}
    assert len(after) == len(pd.read_csv(tmp_path / "out" / "runs.csv")) == 2 * 8
    assert {name: after[name] for name in complete} == complete  # none was played again


def wait_for_a_run(folder: Path, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:  # pytest's own time limit ends it
        if folder.is_dir() and any(file.suffix == ".json" for file in folder.iterdir()):
            return
        time.sleep(0.02)
    raise AssertionError(finished(process))


def test_a_scheduler_outside_the_package_takes_part(tmp_path: Path) -> None:
    (tmp_path / "my_scheduler.py").write_text(MINE, encoding="utf-8")
    done = mlfs_gym_process(
        "compare", "--scheduler", "mlf_h,my_scheduler:MyScheduler", *SMALL, "--out", "out", cwd=tmp_path
    )
    assert done.code == 0, done
    runs = pd.read_csv(tmp_path / "out" / "runs.csv")
    assert len(runs) == 2 * 2 * 2
    assert set(runs["scheduler"]) == {"mlf_h", "my_scheduler:MyScheduler"}
    assert "mine" in done.out  # the name that it gives itself
    assert "my_scheduler" not in done.out
    assert "2 seeds." in done.out
    assert "no * with fewer than 5 seeds" in " ".join(done.out.split())


def test_an_edited_scheduler_is_played_again(tmp_path: Path) -> None:
    """The loop of whoever writes one: edit, compare, look."""
    file = tmp_path / "my_scheduler.py"
    command = ("compare", "--scheduler", "fifo,my_scheduler:MyScheduler", *SMALL, "--gpus", "exclusive", "--out", "out")
    file.write_text(MINE, encoding="utf-8")
    first = mlfs_gym_process(*command, cwd=tmp_path)
    assert "0 runs taken from out, 4 to play" in first.err
    before = pd.read_csv(tmp_path / "out" / "runs.csv").set_index(["scheduler", "seed"])["average_jct_s"]
    file.write_text(MINE.replace("in cluster", "in reversed(cluster").replace("jobs():", "jobs()):"), encoding="utf-8")
    second = mlfs_gym_process(*command, cwd=tmp_path)
    assert second.code == 0, second
    assert "2 runs taken from out, 2 to play; edited since they were played: my_scheduler:MyScheduler" in second.err
    after = pd.read_csv(tmp_path / "out" / "runs.csv").set_index(["scheduler", "seed"])["average_jct_s"]
    assert after["fifo"].equals(before["fifo"])
    assert not after["my_scheduler:MyScheduler"].equals(before["my_scheduler:MyScheduler"])


def test_fresh_plays_again(tmp_path: Path) -> None:
    command = ("compare", "--scheduler", "fifo", *SMALL, "--gpus", "shared", "--out", tmp_path / "out")
    for extra, line in (((), "0 runs"), ((), "2 runs"), (("--fresh",), "0 runs")):
        assert f"{line} taken from" in mlfs_gym(*command, *extra, width=200).err


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (("--scheduler", "mlfh"), ("mlfh",)),
        (("--jobs", "155,many"), ("--jobs", "many")),
        (("--load", "high"), ("--load", "high")),
        (("--jobs", "155,0"), ("jobs", "found 0", "1 or more")),
        (("--scheduler", "srft"), ("'srft'", "did you mean srtf?")),
    ],
)
def test_bad_input_is_named(tmp_path: Path, arguments: tuple[str, ...], mentions: tuple[str, ...]) -> None:
    assert_one_line_error(mlfs_gym("compare", *arguments, "--out", tmp_path), *mentions)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    done = mlfs_gym("compare", "--scheduler", "fifo", *SMALL, "--out", tmp_path / "README.md")
    assert_one_line_error(done, "README.md", "a file, expected a folder")
