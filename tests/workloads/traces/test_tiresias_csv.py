"""Tiresias, in seconds, and Muri, in milliseconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlfs_gym.workloads import read_trace
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, real_rows, table

TIRESIAS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval"
MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,"
    "resource_time_1,resource_time_2,priority"
)


def muri(name: str, submitted: str, duration: str) -> str:
    return f"{name},4,{submitted},1000,vgg16,16,{duration},0,332,83,68,110,0"


def test_muri_counts_in_milliseconds(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, MURI, muri("a", "0", "332000"), muri("b", "27069000", "1500")))
    assert trace.run_time.tolist() == [332.0, 1.5]
    assert trace.arrival.tolist() == [0.0, 27_069.0]


def test_limits_of_muri_are_in_milliseconds_too(tmp_path: Path) -> None:
    file = table(tmp_path, MURI, muri("a", "0", "1e10"), muri("b", "0", "1e12"))
    assert_rejected(file, 3, "duration", ["'1e12'", "at most 1e+11"], others=1)
    file = table(tmp_path, MURI, muri("a", "0", "1"), muri("b", "0", "0.5"))
    assert_rejected(file, 3, "duration", ["'0.5'", "at least a millisecond"], others=1)


@needs_traces
@pytest.mark.parametrize("number", range(1, 5))
def test_real_muri_file(number: int) -> None:
    file = f"muri/trace{number}.csv"
    rows = real_rows(file)
    trace = read_trace(TRACES / file)
    assert (trace.format, len(trace), trace.skipped.total) == ("tiresias-csv", len(rows), 0)
    assert trace.num_gpus.tolist() == [int(row["num_gpu"]) for row in rows]
    # The unit shows in the file itself: iterations times milliseconds of an iteration. One iteration's difference.
    for seconds, row in zip(trace.run_time.tolist(), rows, strict=True):
        iteration = int(row["iteration_time"]) / 1000
        assert seconds == pytest.approx(int(row["iterations"]) * iteration, abs=2 * iteration)
    assert trace.arrival.tolist() == pytest.approx([int(row["submit_time"]) / 1000 for row in rows])


@needs_traces
def test_real_tiresias_file() -> None:
    rows = real_rows("tiresias/60_job.csv")
    trace = read_trace(TRACES / "tiresias" / "60_job.csv")
    assert (trace.format, len(trace), trace.skipped.total) == ("tiresias-csv", 60, 0)
    assert trace.run_time.tolist() == [float(row["duration"]) for row in rows]
    assert trace.arrival.tolist() == [float(row["submit_time"]) for row in rows]
