"""Pollux: no run times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads import read_trace
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from mlfs_gym.workloads.traces.pollux_csv import GPU_HOURS
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, real_rows, table

HEADER = "name,time,application,num_replicas,batch_size"
CATEGORIES = {"cifar10": (0, 1), "ncf": (0, 1), "deepspeech2": (1, 10), "bert": (1, 10), "yolov3": (10, 100),
              "imagenet": (100, 1000)}  # fmt: skip


def test_run_times_come_from_the_category_of_the_application(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, HEADER, "b,60,bert,4,384", "a,0,imagenet,32,800"))
    assert trace.format == "pollux-csv"
    assert trace.run_time.tolist() == [320 * 3600 / 32, 3.2 * 3600 / 4]
    assert [FAMILY_NAMES[f] if f >= 0 else None for f in trace.family] == ["ResNet", None]


def test_what_is_taken_lies_in_the_published_range() -> None:
    assert GPU_HOURS.keys() == CATEGORIES.keys()
    assert all(low < GPU_HOURS[name] < high for name, (low, high) in CATEGORIES.items())


def test_gpu_hours_of_your_own(tmp_path: Path) -> None:
    file = table(tmp_path, HEADER, "a,0,bert,4,384", "b,1,gpt,2,8", "c,2,ncf,1,32768")
    trace = read_trace(file, gpu_hours={"bert": 1.0, "gpt": 6.0})
    assert trace.run_time.tolist() == [900.0, 10_800.0, 0.32 * 3600]
    with pytest.raises(SettingsError, match="gpu_hours: found 0 for 'bert'"):
        read_trace(file, gpu_hours={"bert": 0})
    other = table(tmp_path, "job_id,submission_time,duration,num_gpu", "a,0,1,1", name="itp.csv")
    with pytest.raises(SettingsError, match="itp-csv, expected pollux-csv"):
        read_trace(other, gpu_hours={"bert": 1.0})


def test_durations_of_your_own(tmp_path: Path) -> None:
    file = table(tmp_path, f"{HEADER},duration", "a,0,bert,4,384,77", "b,0,bert,4,384,", "c,0,gpt,1,8,99")
    assert read_trace(file).run_time.tolist() == [77.0, 3.2 * 3600 / 4, 99.0]


@pytest.mark.parametrize(
    ("row", "field", "mentions"),
    [
        ("b,0,gpt,1,8", "application", ["'gpt'", "one of cifar10, ncf"]),
        ("b,0,bert,0,8", "num_replicas", ["'0'"]),
        ("b,-1,bert,1,8", "time", ["'-1'"]),
        ("a,0,bert,1,8", "name", ["'a'"]),
    ],
)
def test_bad_row(row: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, HEADER, "a,0,bert,1,8", row), 3, field, mentions, others=1)


@needs_traces
@pytest.mark.parametrize("number", range(1, 9))
def test_real_file(number: int) -> None:
    file = f"pollux/workload-{number}.csv"
    rows = real_rows(file)
    trace = read_trace(TRACES / file)
    assert (len(trace), trace.skipped.total) == (len(rows), 0) == (160, 0)
    assert Counter(trace.num_gpus.tolist()) == Counter(int(row["num_replicas"]) for row in rows)
    first = min(int(row["time"]) for row in rows)
    assert trace.arrival.tolist() == sorted(float(row["time"]) - first for row in rows)
    gpu_hours = sum(GPU_HOURS[row["application"]] for row in rows)
    assert trace.gpu_seconds / 3600 == pytest.approx(gpu_hours)
