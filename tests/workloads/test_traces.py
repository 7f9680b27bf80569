"""What readers make of good files, and workloads of traces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from mlfs_gym.config import ClusterConfig
from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads import Trace, describe_trace, read_trace
from mlfs_gym.workloads.profiles import FAMILY_NAMES

TRACES = Path(os.environ.get("MLFS_TRACES", Path(__file__).resolve().parents[2].parent / "shared" / "traces"))
CLUSTER = ClusterConfig(servers=2, gpus_per_server=4)


def attempt(start: str, end: str, *gpus: int) -> dict[str, object]:
    return {
        "start_time": f"2017-10-01 {start}",
        "end_time": f"2017-10-01 {end}",
        "detail": [
            {"ip": f"m{number}", "gpus": [f"gpu{g}" for g in range(count)]} for number, count in enumerate(gpus)
        ],
    }


def philly_log(tmp_path: Path) -> Path:
    def job(name: str, submitted: str, vc: str, *attempts: dict[str, object]) -> dict[str, object]:
        stamp = f"2017-10-01 {submitted}"
        return {
            "jobid": name,
            "submitted_time": stamp,
            "vc": vc,
            "user": "u",
            "status": "Pass",
            "attempts": list(attempts),
        }

    file = tmp_path / "log.json"
    file.write_text(
        json.dumps(
            [
                job("late", "00:30:00", "x", attempt("00:40:00", "01:40:00", 1)),
                # Run time is the sum over attempts, GPUs are those of the first one, on two machines.
                job(
                    "twice", "00:00:00", "y", attempt("00:10:00", "00:20:00", 2, 1), attempt("00:30:00", "00:35:00", 8)
                ),
            ]
        )
    )
    return file


def table(tmp_path: Path, jobs: int = 50) -> Path:
    file = tmp_path / "t.csv"
    rows = [f"j{n},{(1, 2, 4, 16)[n % 4]},{60 * n},100,{('resnet50', 'vgg16')[n % 2]},{600 + n},0" for n in range(jobs)]
    file.write_text("job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n" + "\n".join(rows) + "\n")
    return file


def test_philly_log(tmp_path: Path) -> None:
    trace = read_trace(philly_log(tmp_path))
    assert trace.format == "philly-json"
    assert trace.ids.tolist() == ["twice", "late"]  # in order of arrival
    assert trace.rows.tolist() == [2, 1]
    assert trace.arrival.tolist() == [0.0, 1800.0]
    assert trace.run_time.tolist() == [900.0, 3600.0]
    assert trace.num_gpus.tolist() == [3, 1]
    assert trace.virtual_clusters.tolist() == ["y", "x"]


def test_more_gpus_than_machine_lists_give_a_server(tmp_path: Path) -> None:
    """The lists that came with Philly are older than the log: allocations above them are right."""
    job = {"jobid": "a", "submitted_time": "2017-10-01 00:00:00", "attempts": [attempt("00:00:00", "00:01:00", 16)]}
    file = tmp_path / "log.json"
    file.write_text(json.dumps([job]))
    assert read_trace(file).num_gpus.tolist() == [16]


def test_tiresias_table(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, 5))
    assert trace.format == "tiresias-csv"
    assert trace.num_gpus.tolist() == [1, 2, 4, 16, 1]
    assert trace.run_time.tolist() == [600.0, 601.0, 602.0, 603.0, 604.0]
    assert [FAMILY_NAMES[f] if f >= 0 else None for f in trace.family] == ["ResNet", None, "ResNet", None, "ResNet"]


def test_both_philly_formats_tell_the_same(tmp_path: Path) -> None:
    log = read_trace(philly_log(tmp_path))
    reduced = tmp_path / "reduced.csv"
    reduced.write_text(
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-01 00:30:00,3600,1,3600,x\n"
        "2017-10-01 00:00:00,900,3,2700,y\n"
    )
    other = read_trace(reduced)
    for field in ("arrival", "run_time", "num_gpus", "virtual_clusters"):
        assert getattr(log, field).tolist() == getattr(other, field).tolist()


def test_what_a_trace_lacks_comes_from_the_seed(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path))
    one, same, other = (trace.to_workload(seed) for seed in (1, 1, 2))
    assert one.jobs.tobytes() == same.jobs.tobytes()
    assert one.tasks.tobytes() == same.tasks.tobytes()
    assert not np.array_equal(one.jobs["deadline"], other.jobs["deadline"])
    for field, expected in (("arrival", trace.arrival), ("num_gpus", trace.num_gpus)):
        assert np.array_equal(one.jobs[field], expected)
    run_time = one.jobs["max_iterations"] * one.jobs["ideal_iteration_time"]
    assert np.allclose(run_time, trace.run_time, rtol=1e-9)
    known = trace.family >= 0
    assert np.array_equal(one.jobs["model"][known], trace.family[known])
    assert (one.jobs["replicas"] * one.jobs["partitions"] == trace.num_gpus).all()
    assert (one.jobs["deadline"] >= one.jobs["arrival"] + 1.1 * trace.run_time - 1e-6).all()
    assert ((one.jobs["required_accuracy"] > 0) & (one.jobs["required_accuracy"] < 1)).all()


def test_more_gpus_than_the_cluster(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path, 8))
    with pytest.raises(TraceError, match=r"t\.csv, row 5, field 'num_gpus': found 16, expected at most 8 GPUs"):
        trace.to_workload(0, cluster=CLUSTER)
    workload = trace.to_workload(0, cluster=CLUSTER, on_error="skip")
    assert len(workload) == 6
    assert workload.skipped.total == 2


@pytest.mark.parametrize("load", [0.5, 1.6])
def test_load(tmp_path: Path, load: float) -> None:
    workload = read_trace(table(tmp_path)).to_workload(0, cluster=CLUSTER, load=load, on_error="skip")
    assert workload.load(CLUSTER) == pytest.approx(load, rel=1e-6)


def test_windows_are_consecutive_jobs_from_anywhere(tmp_path: Path) -> None:
    trace = read_trace(table(tmp_path))
    rng = np.random.default_rng(0)
    fitting = [name for name, gpus in zip(trace.ids, trace.num_gpus, strict=True) if gpus <= 8]
    starts = set()
    for _ in range(40):
        workload = trace.sample_window(rng, 10, cluster=CLUSTER, load=1.0)
        start = fitting.index(workload.job_ids[0])
        assert list(workload.job_ids) == fitting[start : start + 10]
        assert workload.jobs["arrival"][0] == 0.0
        starts.add(start)
    assert len(starts) > 10
    assert len(trace.sample_window(rng, 1000, cluster=CLUSTER)) == len(fitting)
    with pytest.raises(SettingsError, match="jobs: found 0"):
        trace.sample_window(rng, 0, cluster=CLUSTER)


def test_description(tmp_path: Path) -> None:
    found = describe_trace(philly_log(tmp_path))
    assert (found.jobs, found.span_seconds, found.gpu_hours) == (2, 1800.0, 1.75)
    assert found.average_busy_gpus == 3.5
    assert found.jobs_by_gpus == {1: 1, 3: 1}
    assert found.run_time_seconds[50] == 2250.0
    assert (found.virtual_clusters, found.users, found.skipped.total) == (2, 1, 0)


needs_traces = pytest.mark.skipif(
    not TRACES.is_dir(), reason=f"no traces at {TRACES}: set MLFS_TRACES to the folder that has them"
)


@needs_traces
def test_real_philly_table() -> None:
    trace: Trace = read_trace(TRACES / "philly" / "philly.csv", on_error="skip")
    with (TRACES / "philly" / "philly.csv").open() as file:
        lines = sum(1 for line in file if line.strip()) - 1
    assert len(trace) + trace.skipped.total == lines
    assert (np.diff(trace.arrival) >= 0).all()
    assert trace.run_time.min() > 0
    assert trace.num_gpus.min() >= 1


@needs_traces
def test_real_formats_agree() -> None:
    log, table_ = (read_trace(TRACES / "conformance" / f"philly5k_{kind}") for kind in ("philly.json", "tiresias.csv"))
    assert np.array_equal(log.num_gpus, table_.num_gpus)
    assert np.array_equal(log.run_time, table_.run_time)
    assert np.array_equal(log.arrival, table_.arrival)
