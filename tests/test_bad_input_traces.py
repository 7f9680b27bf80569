"""Malformed traces: one line that names file, row and field; or the row is skipped and counted.

Tables of the Tiresias kind go through the command line in `tests/cli/test_bad_input.py`; here are the Philly formats.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlfs_gym.errors import TraceError
from mlfs_gym.workloads import read_trace

ATTEMPT = {
    "start_time": "2017-10-01 00:10:00",
    "end_time": "2017-10-01 01:10:00",
    "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
}
JOB = {
    "status": "Pass",
    "vc": "a",
    "jobid": "one",
    "user": "u",
    "submitted_time": "2017-10-01 00:00:00",
    "attempts": [ATTEMPT],
}
OTHER = {**JOB, "jobid": "two", "submitted_time": "2017-10-01 00:05:00"}

Change = Callable[[dict[str, Any]], object]

BAD_JOBS: dict[str, tuple[Change, str | None, list[str]]] = {
    "string None as submission": (lambda job: job.update(submitted_time="None"), "submitted_time", ["'None'"]),
    "string None as start": (lambda job: job["attempts"][0].update(start_time="None"), "start_time", ["'None'"]),
    "string None as end": (lambda job: job["attempts"][0].update(end_time="None"), "end_time", ["'None'"]),
    "null time": (lambda job: job.update(submitted_time=None), "submitted_time", ["None"]),
    "time as a number": (lambda job: job.update(submitted_time=1506816000), "submitted_time", ["1506816000"]),
    "time of another format": (lambda job: job.update(submitted_time="1/10/2017"), "submitted_time", ["1/10/2017"]),
    "time before clocks": (lambda job: job.update(submitted_time="1017-10-01 00:00:00"), "submitted_time", ["1017"]),
    "end before start": (
        lambda job: job["attempts"][0].update(end_time="2017-10-01 00:00:01"), "end_time",
        ["00:00:01", "not before start"],
    ),
    "no run time": (
        lambda job: job["attempts"][0].update(end_time="2017-10-01 00:10:00"), "attempts", ["0 s", "above 0"],
    ),
    "no attempts": (lambda job: job.update(attempts=[]), "attempts", ["[]", "at least one"]),
    "attempts no list": (lambda job: job.update(attempts=7), "attempts", ["7"]),
    "attempt without times": (lambda job: job["attempts"][0].pop("end_time"), "attempts", ["start_time and end_time"]),
    "no GPUs": (lambda job: job["attempts"][0].update(detail=[]), "gpus", ["0", "from 1"]),
    "GPUs no list": (lambda job: job["attempts"][0].update(detail=[{"gpus": 4}]), "detail", ["gpus"]),
    "no detail": (lambda job: job["attempts"][0].pop("detail"), "detail", ["None"]),
    "no id": (lambda job: job.pop("jobid"), "jobid", ["no such key"]),
    "blank id": (lambda job: job.update(jobid="  "), "jobid", ["a name"]),
    "id no text": (lambda job: job.update(jobid=[1]), "jobid", ["[1]"]),
    "duplicate id": (lambda job: job.update(jobid="one"), "jobid", ["'one'", "no earlier row"]),
    "huge run time": (
        lambda job: job["attempts"][0].update(end_time="2099-01-01 00:00:00"), "attempts", ["at most 1e8"],
    ),
}  # fmt: skip


def log_with(change: Change, tmp_path: Path) -> Path:
    """A log whose second entry is spoilt."""
    spoilt = copy.deepcopy(OTHER)
    change(spoilt)
    file = tmp_path / "cluster_job_log"
    file.write_text(json.dumps([JOB, spoilt]))
    return file


@pytest.mark.parametrize("name", BAD_JOBS)
def test_bad_entry_of_a_philly_log(name: str, tmp_path: Path) -> None:
    change, field, mentions = BAD_JOBS[name]
    file = log_with(change, tmp_path)
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    text = str(caught.value)
    assert "\n" not in text
    assert (caught.value.row, caught.value.field) == (2, field)
    assert [mention for mention in (str(file), "row 2", *mentions) if mention not in text] == [], text
    trace = read_trace(file, on_error="skip")
    assert trace.ids.tolist() == ["one"]
    assert trace.skipped.total == 1
    (line,) = trace.skipped.lines()
    assert "row 2" in line


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (b'{"jobs": []}', ["JSON dict", "JSON list"]),
        (b"[1, 2", ["broken JSON"]),
        (b"[" * 100_000, ["JSON"]),
        (b"[]", ["no job"]),
        (b"[3]", ["row 1", "3", "an object"]),
        (b'["text"]', ["row 1", "'text'"]),
        (b"[null]", ["row 1", "None"]),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,66.0\n", ["row 2", "2 cells", "3 cells"]),
        (b"timestamp,duration,num_gpus\n2017-13-09 07:01:55,66.0,1\n", ["row 2", "timestamp", "2017-13-09"]),
        (b"timestamp,duration,num_gpus\nNone,66.0,1\n", ["row 2", "timestamp", "'None'"]),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,inf,1\n", ["row 2", "duration", "'inf'"]),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,,1\n", ["row 2", "duration", "''"]),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,1e-9,1\n", ["row 2", "duration", "millisecond"]),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,66,1.5\n", ["row 2", "num_gpus", "'1.5'", "whole number"]),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,66,1000000\n", ["row 2", "num_gpus", "100000"]),
        (b"timestamp,duration,num_gpus,duration\n", ["row 1", "duration", "twice"]),
        (b'timestamp,duration,num_gpus\n"2017-10-09 07:01:55,66,1\n', ["row 2", "comma-separated"]),
        (b"timestamp,duration,gpus\n", ["row 1", "num_gpus", "a column of this name"]),
        ("timestamp,duration,num_gpus\n".encode("utf-16-be"), ["UTF-8"]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_file_that_is_no_trace(content: bytes, mentions: list[str], tmp_path: Path) -> None:
    file = tmp_path / "jobs"
    file.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    text = str(caught.value)
    assert "\n" not in text
    assert [mention for mention in (str(file), *mentions) if mention not in text] == [], text


def test_folder_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="a folder"):
        read_trace(tmp_path)
    with pytest.raises(TraceError, match="no such file"):
        read_trace(tmp_path / "nowhere.csv")
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace("zero\0byte")


def test_byte_order_mark_and_foreign_line_ends_are_read(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_bytes(b"\xef\xbb\xbftimestamp,duration,num_gpus\r\n2017-10-09 07:01:55,66.0,1\r\n\r\n")
    trace = read_trace(file)
    assert (len(trace), trace.format, trace.run_time.tolist()) == (1, "philly-csv", [66.0])


def test_nothing_is_dropped_silently(tmp_path: Path) -> None:
    rows = ["2017-10-09 07:01:55,66,1", "None,66,1", "2017-10-09 07:01:55,-1,1", "2017-10-09 07:01:56,66,0", "short"]
    file = tmp_path / "jobs.csv"
    file.write_text("timestamp,duration,num_gpus\n" + "\n".join(rows) + "\n")
    trace = read_trace(file, on_error="skip")
    assert len(trace) + trace.skipped.total == len(rows)
    assert sum(trace.skipped.counts.values()) == 4
    assert sorted(row for _, skipped in trace.skipped.rows for row in skipped) == [3, 4, 5, 6]
