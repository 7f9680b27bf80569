"""Helios: jobs without GPU, jobs of every state, rows out of order."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlfs_gym.workloads import read_trace
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, real_rows, table

HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
STATES = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL")


def job(name: str, gpus: str = "1", submitted: str = "2020-09-01 00:00:00", duration: str = "60", **other: str) -> str:
    state = other.get("state", "COMPLETED")
    return f"{name},u1,vc1,{gpus},4,1,{state},{submitted},{submitted},None,{duration},0"


def test_jobs_without_gpu_are_left_out_and_counted(tmp_path: Path) -> None:
    # What else is wrong with a CPU job does not matter.
    file = table(tmp_path, HEADER, job("a"), job("b", gpus="0"), job("c", gpus="0", duration="-1"), job("d", gpus="8"))
    for on_error in ("raise", "skip"):
        trace = read_trace(file, on_error=on_error)  # type: ignore[arg-type]
        assert trace.format == "helios-csv"
        assert (trace.ids.tolist(), trace.num_gpus.tolist()) == (["a", "d"], [1, 8])
        assert trace.skipped.rows == (("CPU job: no GPU", (3, 4)),)


def test_jobs_of_every_state_are_taken(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, HEADER, *(job(state, state=state) for state in STATES)))
    assert trace.ids.tolist() == list(STATES)
    assert (set(trace.users), set(trace.virtual_clusters)) == ({"u1"}, {"vc1"})


def test_jobs_come_in_order_of_arrival(tmp_path: Path) -> None:
    file = table(tmp_path, HEADER, job("late", submitted="2020-09-01 00:01:00"), job("early"))
    trace = read_trace(file)
    assert (trace.ids.tolist(), trace.arrival.tolist(), trace.rows.tolist()) == (["early", "late"], [0.0, 60.0], [3, 2])


@pytest.mark.parametrize(
    ("row", "field", "mentions"),
    [
        (job("b", duration="0"), "duration", ["'0'", "above 0"]),
        (job("b", duration=""), "duration", ["''"]),
        (job("b", submitted="None"), "submit_time", ["'None'", "a time"]),
        (job("b", submitted="2020-09-31 00:00:00"), "submit_time", ["2020-09-31"]),
        (job("b", gpus="-1"), "gpu_num", ["'-1'", "0 to"]),
        (job("b", gpus="0.5"), "gpu_num", ["'0.5'", "whole number"]),
        (job("b", gpus=""), "gpu_num", ["''"]),
        (job("a"), "job_id", ["'a'", "no earlier row"]),
    ],
)
def test_bad_row(row: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, HEADER, job("a"), row), 3, field, mentions, others=1)


@needs_traces
def test_real_file() -> None:
    file = "conformance/philly5k_helios.csv"
    rows = [row for row in real_rows(file) if int(row["gpu_num"]) > 0]
    trace = read_trace(TRACES / file)
    assert trace.skipped.total == 0
    assert trace.ids.tolist() == [row["job_id"] for row in rows]  # the file is in order
    assert trace.num_gpus.tolist() == [int(row["gpu_num"]) for row in rows]
    assert trace.run_time.tolist() == [float(row["duration"]) for row in rows]
    assert trace.virtual_clusters.tolist() == [row["vc"] for row in rows]
