"""The neutral format: what is written comes back, to the last bit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads import Trace, read_trace, write_trace
from mlfs_gym.workloads.skips import SkipReport
from tests.workloads.traces.files import TRACES, assert_rejected, needs_traces, table

HEADER = "job_id,submit_time_s,run_time_s,num_gpus,gpu_share_milli,model_family,virtual_cluster,user,format"
FIELDS = ("ids", "arrival", "run_time", "num_gpus", "family", "gpu_share", "virtual_clusters", "users")
REAL = [
    "conformance/philly5k_helios.csv",
    "conformance/philly5k_pai.csv",
    "conformance/philly5k_philly.json",
    "conformance/philly5k_tiresias.csv",
    "itp/195job.csv",
    "itp/cluster04.csv",
    "muri/trace3.csv",
    "openb/openb_pod_list_default.csv",
    "openb/openb_pod_list_gpushare100.csv",
    "philly/philly.csv",
    "pollux/workload-6.csv",
    "tiresias/60_job.csv",
]

text = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
jobs = st.tuples(
    text.map(str.strip).filter(bool),
    st.floats(0, 4e9),
    st.floats(1e-3, 1e8),
    st.integers(1, 100_000),
    st.integers(-1, 4),
    st.one_of(st.just(-1), st.integers(1, 1000)),
    text,
    text,
)


def trace_of(rows: list[tuple[str, float, float, int, int, int, str, str]]) -> Trace:
    rows = sorted(rows, key=lambda row: row[1])
    ids, arrival, run_time, gpus, family, share, clusters, users = (list(column) for column in zip(*rows, strict=True))
    return Trace(
        file=Path("made-up"),
        format="none",
        rows=np.arange(1, len(rows) + 1),
        ids=np.array(ids, object),
        arrival=np.array(arrival) - arrival[0],
        run_time=np.array(run_time),
        num_gpus=np.array(gpus),
        family=np.array(family),
        gpu_share=np.array(share),
        virtual_clusters=np.array(clusters, object),
        users=np.array(users, object),
        skipped=SkipReport(),
    )


def assert_same(one: Trace, other: Trace) -> None:
    for field in FIELDS:
        before, after = getattr(one, field), getattr(other, field)
        assert before.tolist() == after.tolist(), field
    for field in ("arrival", "run_time"):
        assert getattr(one, field).tobytes() == getattr(other, field).tobytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(jobs, min_size=1, max_size=8, unique_by=lambda row: row[0]))
def test_any_trace_comes_back(rows: list[tuple[str, float, float, int, int, int, str, str]], tmp_path: Path) -> None:
    trace = trace_of(rows)
    write_trace(trace, tmp_path / "t.csv")
    again = read_trace(tmp_path / "t.csv")
    assert again.format == "mlfs-csv"
    assert_same(trace, again)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(rows=st.lists(jobs, min_size=1, max_size=8, unique_by=lambda row: row[0]))
def test_any_trace_comes_back_from_parquet(
    rows: list[tuple[str, float, float, int, int, int, str, str]], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    trace = trace_of(rows)
    write_trace(trace, tmp_path / "t.parquet")
    again = read_trace(tmp_path / "t.parquet")
    assert again.format == "mlfs-parquet"
    assert_same(trace, again)


@needs_traces
@pytest.mark.parametrize("file", REAL)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_real_trace_comes_back(file: str, suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    trace = read_trace(TRACES / file)
    write_trace(trace, tmp_path / f"t{suffix}")
    again = read_trace(tmp_path / f"t{suffix}")
    assert_same(trace, again)
    if len(trace) < 10_000:  # what is filled in follows from the jobs and the seed
        assert trace.to_workload(3).tasks.tobytes() == again.to_workload(3).tasks.tobytes()
    write_trace(again, tmp_path / f"second{suffix}")
    assert (tmp_path / f"second{suffix}").read_bytes() == (tmp_path / f"t{suffix}").read_bytes()


def row(name: str = "b", **other: str) -> str:
    cells = {
        "submit_time_s": "1.5",
        "run_time_s": "60.0",
        "num_gpus": "2",
        "gpu_share_milli": "500",
        "model_family": "LSTM",
        "virtual_cluster": "v",
        "user": "u",
        "format": "mlfs-1",
    }
    return ",".join((name, *(cells | other).values()))


def test_a_file_by_hand(tmp_path: Path) -> None:
    file = table(tmp_path, HEADER, "a,0,60,1,,,,,mlfs-1", row())
    trace = read_trace(file)
    assert (trace.format, trace.ids.tolist(), trace.arrival.tolist()) == ("mlfs-csv", ["a", "b"], [0.0, 1.5])
    assert (trace.gpu_share.tolist(), trace.family.tolist()) == ([-1, 500], [-1, 3])
    assert (trace.virtual_clusters.tolist(), trace.users.tolist()) == (["", "v"], ["", "u"])


@pytest.mark.parametrize(
    ("bad", "field", "mentions"),
    [
        (row(format="mlfs-2"), "format", ["'mlfs-2'", "mlfs-1"]),
        (row(gpu_share_milli="1001"), "gpu_share_milli", ["'1001'", "1 to 1000"]),
        (row(gpu_share_milli="-1"), "gpu_share_milli", ["'-1'"]),
        (row(gpu_share_milli="0.5"), "gpu_share_milli", ["'0.5'"]),
        (row(model_family="Transformer"), "model_family", ["'Transformer'", "AlexNet, ResNet"]),
        (row(submit_time_s="-1"), "submit_time_s", ["'-1'"]),
        (row(run_time_s="0"), "run_time_s", ["'0'"]),
        (row(num_gpus="0"), "num_gpus", ["'0'"]),
        (row("a"), "job_id", ["'a'"]),
    ],
)
def test_bad_row(bad: str, field: str, mentions: list[str], tmp_path: Path) -> None:
    assert_rejected(table(tmp_path, HEADER, row("a"), bad), 3, field, mentions, others=1)


@pytest.mark.parametrize("name", ["zero \0 byte", "half of a pair \ud800"])
def test_a_name_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    trace = trace_of([(name, 0.0, 1.0, 1, -1, -1, "", "")])
    with pytest.raises(TraceError, match="made-up, row 1, field 'job_id'"):
        write_trace(trace, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    trace = trace_of([("a", 0.0, 1.0, 1, -1, -1, "", "")])
    for path in (tmp_path, tmp_path / "nowhere" / "t.csv"):
        with pytest.raises(SettingsError, match="a file in a folder that exists"):
            write_trace(trace, path)


def test_without_pyarrow_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    trace = trace_of([("a", 0.0, 1.0, 1, -1, -1, "", "")])
    with pytest.raises(SettingsError, match=r"pip install 'mlfs-gym\[parquet\]'"):
        write_trace(trace, tmp_path / "t.parquet")
    (tmp_path / "u.parquet").write_bytes(b"PAR1")
    with pytest.raises(SettingsError, match=r"pip install 'mlfs-gym\[parquet\]'"):
        read_trace(tmp_path / "u.parquet")


def test_parquet_files_that_are_no_traces(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(broken)
    other = tmp_path / "other.parquet"
    parquet.write_table(pyarrow.table({"job_id": ["a"], "n": [1]}), other)
    with pytest.raises(TraceError, match="field 'submit_time_s': found the columns 'job_id, n'"):
        read_trace(other)
    bad = tmp_path / "bad.parquet"
    write_trace(trace_of([("a", 0.0, 1.0, 1, -1, -1, "", "")]), bad)
    columns = parquet.read_table(bad).to_pydict() | {"num_gpus": [0]}
    parquet.write_table(pyarrow.table(columns), bad)
    with pytest.raises(TraceError, match="row 1, field 'num_gpus': found '0'"):
        read_trace(bad)
    with pytest.raises(TraceError, match="no such file"):
        read_trace(tmp_path / "nowhere.parquet", "mlfs-parquet")
