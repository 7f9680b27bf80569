"""Acme: two clusters in two time zones, jobs without GPU, run times without the wait in the queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlfs_gym.workloads import read_trace
from tests.workloads.traces.files import assert_rejected, table

SEREN = "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time"
KALOS = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,"
    "fail_time,stop_time,duration,queue,gpu_time"
)


def seren(
    name: str,
    gpus: str = "8",
    submitted: str = "2023-03-01 00:00:00+08:00",
    started: str = "2023-03-01 00:00:30+08:00",
    ended: str = "2023-03-01 00:02:30+08:00",
    state: str = "COMPLETED",
) -> str:
    return f"{name},u1,1,{gpus},128,Other,{state},{submitted},{started},{ended},120,30,960.0"


def kalos(name: str, submitted: str, started: str, ended: str, duration: str) -> str:
    return (
        f"{name},u2,8,64,960,1000,100.0,Pretrain,FAILED,{submitted},{started},{ended},{ended},,{duration},10.0,1152.0"
    )


def test_seren(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, SEREN, seren("a"), seren("b", submitted="2023-03-01 00:00:01+08:00")))
    assert (trace.format, trace.ids.tolist()) == ("acme-csv", ["a", "b"])
    assert (trace.arrival.tolist(), trace.run_time.tolist()) == ([0.0, 1.0], [120.0, 120.0])
    assert (trace.num_gpus.tolist(), set(trace.users), set(trace.virtual_clusters)) == ([8, 8], {"u1"}, {""})


def test_the_wait_that_kalos_counts_as_duration_is_no_run_time(tmp_path: Path) -> None:
    first = kalos("a", "2023-05-17 11:00:58+00:00", "2023-05-17 11:01:08+00:00", "2023-05-17 11:01:16+00:00", "18")
    trace = read_trace(table(tmp_path, KALOS, first))
    assert (trace.format, trace.run_time.tolist(), trace.num_gpus.tolist()) == ("acme-csv", [8.0], [64])


def test_offsets_are_taken_into_account(tmp_path: Path) -> None:
    file = table(
        tmp_path,
        SEREN,
        seren("utc", submitted="2023-02-28 16:00:10+00:00"),  # ten seconds after the one at +08:00
        seren("local"),
        seren("west", submitted="2023-02-28 10:30:20-05:30", ended="2023-02-28 16:02:30+0000"),
    )
    trace = read_trace(file)
    assert (trace.ids.tolist(), trace.arrival.tolist()) == (["local", "utc", "west"], [0.0, 10.0, 20.0])
    assert trace.run_time.tolist() == [120.0, 120.0, 120.0]


def test_times_without_any_offset_are_read(tmp_path: Path) -> None:
    times = ("2023-03-01 00:00:00", "2023-03-01 00:00:30", "2023-03-01 00:02:30")
    assert read_trace(table(tmp_path, SEREN, seren("a", "8", *times))).run_time.tolist() == [120.0]


def test_cpu_jobs_and_running_ones_are_left_out_and_counted(tmp_path: Path) -> None:
    running = seren("c", ended="", state="RUNNING")
    trace = read_trace(table(tmp_path, SEREN, seren("a"), seren("b", gpus="0", ended=""), running))
    assert trace.ids.tolist() == ["a"]
    assert trace.skipped.counts == {"CPU job: no GPU": 1, "still running or waiting when the trace ends": 1}


@pytest.mark.parametrize(
    ("row", "field", "mentions"),
    [
        (seren("b", submitted="2023-03-01 00:00:00"), "submit_time", ["00:00:00'", "in all rows or in none"]),
        (seren("b", submitted="2023-03-01 00:00:00+0800h"), "submit_time", ["+0800h"]),
        (seren("b", submitted="2023-03-01 00:00:00+99:00"), "submit_time", ["+99:00"]),
        (seren("b", started=""), "start_time", ["''"]),
        (seren("b", ended="None"), "end_time", ["'None'"]),
        (seren("b", ended="2023-03-01 00:00:29+08:00"), "end_time", ["a time after start_time"]),
        (seren("b", ended="2023-03-01 00:00:30+08:00"), "end_time", ["a time after start_time"]),
        (seren("b", ended="2033-03-01 00:00:30+08:00"), "end_time", ["at most 1e+08 s"]),
        (seren("b", gpus="8 GPUs"), "gpu_num", ["'8 GPUs'"]),
        (seren(" "), "job_id", ["an id"]),
    ],
)  # fmt: skip
def test_bad_row(row: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, SEREN, seren("a"), row), 3, field, mentions, others=1)
