"""Microsoft ITP."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlfs_gym.workloads import read_trace
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, real_rows, table

HEADER = "job_id,submission_time,duration,num_gpu"
WITH_MODELS = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"


def test_jobs(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, HEADER, "a,500,600,64", "b,100,700,1"))
    assert (trace.format, trace.ids.tolist()) == ("itp-csv", ["b", "a"])
    assert (trace.arrival.tolist(), trace.run_time.tolist()) == ([0.0, 400.0], [700.0, 600.0])
    assert trace.num_gpus.tolist() == [1, 64]


def test_models(tmp_path: Path) -> None:
    file = table(tmp_path, WITH_MODELS, "a,0,9,resnet50,5,32,1,10", "b,0,9,gpt2,5,32,1,10")
    assert [FAMILY_NAMES[f] if f >= 0 else None for f in read_trace(file).family] == ["ResNet", None]


@pytest.mark.parametrize(
    ("row", "field", "mentions"),
    [
        ("b,-1,600,1", "submission_time", ["'-1'", "from 0"]),
        ("b,,600,1", "submission_time", ["''"]),
        ("b,1,0,1", "duration", ["'0'", "above 0"]),
        ("b,1,1e9,1", "duration", ["'1e9'"]),
        ("b,1,600,0", "num_gpu", ["'0'", "from 1"]),
        ("a,1,600,1", "job_id", ["'a'"]),
    ],
)
def test_bad_row(row: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, HEADER, "a,0,600,1", row), 3, field, mentions, others=1)


@needs_traces
@pytest.mark.parametrize("name", [*(f"cluster0{number}" for number in range(1, 7)), "195job"])
def test_real_file(name: str) -> None:
    rows = real_rows(f"itp/{name}.csv")
    trace = read_trace(TRACES / "itp" / f"{name}.csv")
    assert (trace.format, len(trace), trace.skipped.total) == ("itp-csv", len(rows), 0)
    assert dict(zip(trace.ids, trace.run_time, strict=True)) == {row["job_id"]: float(row["duration"]) for row in rows}
    assert trace.num_gpus.sum() == sum(int(row["num_gpu"]) for row in rows)
    first = min(int(row["submission_time"]) for row in rows)
    assert trace.arrival.tolist() == sorted(float(row["submission_time"]) - first for row in rows)
