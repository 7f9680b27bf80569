"""The table of Alibaba's PAI simulator: instances, parts of GPUs, empty cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlfs_gym.workloads import read_trace
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, real_rows, table

HEADER = "job_id,user,num_inst,num_gpu,num_cpu,duration,submit_time,wait_time,gpu_type,vc,jobid,status"


def job(name: str, instances: str = "1", gpus: str = "1", duration: str = "60", submitted: str = "0") -> str:
    return f"{name},u,{instances},{gpus},4,{duration},{submitted},0,V100,v,{name},Pass"


@pytest.mark.parametrize(
    ("instances", "gpus", "num_gpus", "share"),
    [
        ("1", "1", 1, 1000),
        ("1", "0.5", 1, 500),
        ("3", "0.25", 3, 250),
        ("2", "1.5", 4, 750),  # two GPUs hold what an instance asks for
        ("2", "8", 16, 1000),
        ("", "0.1", 1, 100),
        ("1.0", "2.0", 2, 1000),
    ],
)
def test_gpus_are_those_of_each_instance(instances: str, gpus: str, num_gpus: int, share: int, tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, HEADER, job("a", instances, gpus)))
    assert trace.format == "pai-simulator-csv"
    assert (trace.num_gpus.tolist(), trace.gpu_share.tolist()) == ([num_gpus], [share])


def test_jobs_without_gpu_are_left_out_and_counted(tmp_path: Path) -> None:
    file = table(tmp_path, HEADER, job("a"), job("b", gpus="0"), job("c", gpus=""), job("d", gpus="0.0"))
    trace = read_trace(file)
    assert trace.ids.tolist() == ["a"]
    assert trace.skipped.rows == (("CPU job: no GPU", (3, 4, 5)),)


@pytest.mark.parametrize(
    ("row", "field", "mentions"),
    [
        (job("b", duration="0"), "duration", ["'0'", "above 0"]),
        (job("b", instances="0"), "num_inst", ["'0'", "from 1"]),
        (job("b", instances="1.5"), "num_inst", ["'1.5'", "whole number"]),
        (job("b", gpus="-0.5"), "num_gpu", ["'-0.5'"]),
        (job("b", gpus="many"), "num_gpu", ["'many'"]),
        (job("b", instances="99999", gpus="99999"), "num_inst", ["at most 100000 GPUs"]),
        (job("b", submitted="-5"), "submit_time", ["'-5'"]),
        (job("a"), "job_id", ["'a'"]),
    ],
)
def test_bad_row(row: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, HEADER, job("a"), row), 3, field, mentions, others=1)


@needs_traces
def test_real_file() -> None:
    file = "conformance/philly5k_pai.csv"
    rows = real_rows(file)
    trace = read_trace(TRACES / file)
    assert (trace.format, trace.skipped.total) == ("pai-simulator-csv", 0)
    assert trace.num_gpus.tolist() == [int(row["num_inst"]) * int(row["num_gpu"]) for row in rows]
    assert trace.run_time.tolist() == [float(row["duration"]) for row in rows]
    assert set(trace.gpu_share) == {1000}
    assert len(set(trace.users)) == len({row["user"] for row in rows})
