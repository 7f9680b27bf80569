"""Alibaba GPU 2023: parts of GPUs, pods without GPU, pods that never ran, lists without times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlfs_gym.errors import TraceError
from mlfs_gym.workloads import describe_trace, read_trace
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, real_rows, skipped_rows, table

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PENDING = "p,4000,15258,1,1000,,BE,Pending,10,70,"


def pod(name: str, gpus: str, milli: str, created: str = "0", deleted: str = "160", scheduled: str = "60") -> str:
    return f"{name},4000,15258,{gpus},{milli},V100M16|V100M32,LS,Running,{created},{deleted},{scheduled}"


def test_parts_of_gpus(tmp_path: Path) -> None:
    file = table(tmp_path, HEADER, pod("half", "1", "500"), pod("whole", "1", "1000"), pod("eight", "8", "1000"))
    trace = read_trace(file)
    assert trace.format == "openb-csv"
    assert trace.num_gpus.tolist() == [1, 1, 8]
    assert trace.gpu_share.tolist() == [500, 1000, 1000]
    assert describe_trace(file).shared_gpu_jobs == 1
    workload = trace.to_workload(0)
    assert (workload.tasks["gpu_demand"][workload.tasks["job"] == 0] == 500).all()
    workers = workload.tasks[(workload.tasks["job"] == 2) & (workload.tasks["replica"] >= 0)]
    assert workers["gpu_demand"].tolist() == [1000] * 8


def test_a_pod_arrives_when_created_and_runs_from_when_scheduled(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, HEADER, pod("a", "1", "500", "100", "1000", "400"), pod("b", "1", "500")))
    assert (trace.ids.tolist(), trace.arrival.tolist(), trace.run_time.tolist()) == (["b", "a"], [0, 100], [100, 600])


def test_cpu_pods_and_pending_ones_are_left_out_and_counted(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, HEADER, pod("a", "1", "500"), pod("cpu", "0", "0"), PENDING))
    assert trace.ids.tolist() == ["a"]
    assert trace.skipped.rows == (("CPU job: no GPU", (3,)), ("pending pod: it never ran", (4,)))


def test_a_list_without_times_is_an_error(tmp_path: Path) -> None:
    file = table(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli", "a,12000,16384,1,1000")
    for on_error in ("raise", "skip"):
        with pytest.raises(TraceError, match="row 1, field 'creation_time': found a list of pods without times"):
            read_trace(file, on_error=on_error)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "field", "mentions"),
    [
        (pod("b", "1", "1500"), "gpu_milli", ["'1500'", "1 to 1000"]),
        (pod("b", "1", "0"), "gpu_milli", ["'0'", "1 to 1000"]),
        (pod("b", "1", "0.5"), "gpu_milli", ["'0.5'"]),
        (pod("b", "1", "500.5"), "gpu_milli", ["'500.5'", "whole number"]),
        (pod("b", "2", "500"), "gpu_milli", ["'500'", "1000 where num_gpu is above 1"]),
        (pod("b", "0.5", "500"), "num_gpu", ["'0.5'", "whole number"]),
        (pod("b", "1", "500", scheduled=""), "scheduled_time", ["''"]),  # its phase is Running
        (pod("b", "1", "500", deleted="60"), "deletion_time", ["'60'", "after scheduled_time"]),
        (pod("b", "1", "500", created="x"), "creation_time", ["'x'"]),
        (pod("a", "1", "500"), "name", ["'a'"]),
    ],
)
def test_bad_row(row: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, HEADER, pod("a", "1", "500"), row), 3, field, mentions, others=1)


@needs_traces
@pytest.mark.parametrize("name", ["default", "gpushare100", "gpuspec33"])
def test_real_file(name: str) -> None:
    file = f"openb/openb_pod_list_{name}.csv"
    rows = real_rows(file)
    taken = {row["name"]: row for row in rows if int(row["num_gpu"]) and row["scheduled_time"]}
    trace = read_trace(TRACES / file)
    assert len(trace) + len(skipped_rows(trace)) == len(rows) == 8152
    assert set(trace.ids) == set(taken)
    assert trace.skipped.counts["CPU job: no GPU"] == sum(row["num_gpu"] == "0" for row in rows)
    for index, pod_name in enumerate(trace.ids):
        row = taken[pod_name]
        assert trace.run_time[index] == float(row["deletion_time"]) - float(row["scheduled_time"])
        assert (trace.num_gpus[index], trace.gpu_share[index]) == (int(row["num_gpu"]), int(row["gpu_milli"]))
    assert (np.diff(trace.arrival) >= 0).all()


@needs_traces
def test_real_list_without_times() -> None:
    with pytest.raises(TraceError, match="without times"):
        read_trace(TRACES / "openb" / "openb_pod_list_multigpu50.csv", on_error="skip")
