"""Bad input on the command line: one line on standard error, exit status 2, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import assert_one_line_error, mlfs_gym, mlfs_gym_process

HEADER = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
GOOD = "1,1,0,100,resnet50,600,0\n"

MALFORMED: dict[str, tuple[bytes, list[str]]] = {
    "empty file": (b"", ["empty"]),
    "only blanks": (b" \n\n", ["empty"]),
    "header alone": (HEADER.encode(), ["no job"]),
    "unknown columns": (b"a,b,c\n1,2,3\n", ["row 1", "a, b, c"]),
    "missing column": (b"job_id,num_gpu,submit_time\n1,1,0\n", ["duration"]),
    "negative run time": ((HEADER + GOOD + "2,1,0,100,resnet50,-5,0\n").encode(), ["row 3", "duration", "-5"]),
    "nan": ((HEADER + "1,1,nan,100,resnet50,600,0\n").encode(), ["row 2", "submit_time", "nan"]),
    "no number": ((HEADER + "1,one,0,100,resnet50,600,0\n").encode(), ["row 2", "num_gpu", "one"]),
    "zero GPUs": ((HEADER + "1,0,0,100,resnet50,600,0\n").encode(), ["row 2", "num_gpu", "0"]),
    "huge number": ((HEADER + "1,1,1e300,100,resnet50,600,0\n").encode(), ["row 2", "submit_time", "1e300"]),
    "duplicate id": ((HEADER + GOOD + GOOD).encode(), ["row 3", "job_id"]),
    "row too short": ((HEADER + GOOD + "2,1,0\n").encode(), ["row 3"]),
    "UTF-16": ((HEADER + GOOD).encode("utf-16"), ["UTF-16", "UTF-8"]),
    "Latin-1": ((HEADER + "1,1,0,100,r\xe9seau,600,0\n").encode("latin-1"), ["row 2", "0xe9", "UTF-8"]),
    "binary": (b"\x00\x01\x02", ["binary"]),
    "broken JSON": (b'[{"status": "Pass",', ["JSON"]),
    "JSON without jobs": (b"[]", ["no job"]),
}


@pytest.fixture(params=MALFORMED)
def malformed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    data, mentions = MALFORMED[request.param]
    file = tmp_path / "jobs.csv"
    file.write_bytes(data)
    return file, [str(file), *mentions]


def test_malformed_trace_is_inspected(malformed: tuple[Path, list[str]]) -> None:
    assert_one_line_error(mlfs_gym("trace", "inspect", malformed[0], "--on-error", "raise"), *malformed[1])


def test_malformed_trace_is_simulated(malformed: tuple[Path, list[str]]) -> None:
    assert_one_line_error(mlfs_gym("simulate", "--trace", malformed[0]), *malformed[1])


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(HEADER + GOOD + "2,1,0,100,resnet50,-5,0\n3,1,nan,100,resnet50,600,0\n")
    for arguments in (("trace", "inspect", file), ("simulate", "--trace", file)):
        done = mlfs_gym(*arguments, "--on-error", "skip")
        assert done.code == 0, done.err
        assert "1 skipped: field 'duration'" in done.out
        assert "1 skipped: field 'submit_time'" in done.out
        assert "(row 4)" in done.out


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["--servers", "0"], ["'servers'", "found 0"]),
        (["--servers", "-3"], ["'servers'", "found -3"]),
        (["--gpus-per-server", "65"], ["'gpus_per_server'", "found 65"]),
        (["--load", "nan"], ["load", "nan"]),
        (["--load", "-1"], ["load", "-1"]),
        (["--load", "inf"], ["load", "inf"]),
        (["--jobs", "0"], ["jobs", "found 0"]),
        (["--seed", "-1"], ["seed", "found -1"]),
        (["--seed", "99999999999999999999"], ["seed"]),
        (["--scheduler", "lifo"], ["scheduler", "'lifo'", "mlf_h"]),
        (["--scheduler", "no.such:Class"], ["scheduler", "no.such"]),
        (["--scheduler", ":"], ["scheduler", "':'"]),
        (["--scheduler", ""], ["scheduler", "''"]),
        (["--workload", "huge"], ["workload", "'huge'", "testbed"]),
        (["--workload", "toy", "--jobs", "3"], ["'jobs'", "toy"]),
        (["--workload", "testbed", "--servers", "1"], ["'num_gpus'", "cluster's 4"]),
        (["--workload", "toy", "--trace", "x.csv"], ["--workload", "--trace"]),
        (["--trace", "no such file.csv"], ["no such file.csv"]),
        (["--trace", "tests"], ["tests", "a folder"]),
        (["--trace", "README.md", "--format", "xml"], ["format", "'xml'", "auto"]),
        (["--jobs-csv", "no/such/folder/jobs.csv"], ["--jobs-csv", "no/such/folder"]),
    ],
)
def test_simulate(arguments: list[str], mentions: list[str]) -> None:
    assert_one_line_error(mlfs_gym("simulate", *arguments), *mentions)


def test_trace_that_does_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(HEADER + "1,16,0,100,resnet50,600,0\n")
    cluster = ("--servers", "2", "--gpus-per-server", "4")
    wrong = mlfs_gym("simulate", "--trace", file, *cluster)
    assert_one_line_error(wrong, str(file), "row 2", "num_gpus", "16", "at most 8")
    nothing_left = mlfs_gym("simulate", "--trace", file, *cluster, "--on-error", "skip")
    assert_one_line_error(nothing_left, "jobs.csv", "no job", "row 2")
    assert_one_line_error(mlfs_gym("simulate", "--trace", file, "--jobs", "2"), "jobs", "found 2", "1 to 1")
    assert_one_line_error(mlfs_gym("simulate", "--trace", file, "--load", "nan"), "load", "nan")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["simulate", "--colour", "red"], "--colour"),
        (["simulate", "--servers", "many"], "--servers"),
        (["simulate", "--on-error", "ignore"], "--on-error"),
        (["trace", "inspect"], "FILE"),
        (["forecast"], "forecast"),
    ],
)
def test_wrong_usage(arguments: list[str], mention: str) -> None:
    done = mlfs_gym(*arguments)
    assert done.code == 2
    assert mention in done.err
    assert done.out == ""


def test_a_real_process_shows_no_traceback(tmp_path: Path) -> None:
    for arguments in (["simulate", "--trace", "nowhere.csv"], ["trace", "inspect", "nowhere.csv"]):
        assert_one_line_error(mlfs_gym_process(*arguments, cwd=tmp_path), "nowhere.csv", "no such file")
