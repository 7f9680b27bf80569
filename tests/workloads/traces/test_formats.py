"""Which format a file has, and that formats which hold the same jobs agree."""

from __future__ import annotations

import csv
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads import read_trace, write_trace
from mlfs_gym.workloads.traces.read import _TABLES, FORMATS
from tests.repository.paths import ROOT
from tests.workloads.traces.files import TRACES, needs_traces, skipped_rows, table

CONFORMANCE = {
    "philly-json": "philly5k_philly.json",
    "helios-csv": "philly5k_helios.csv",
    "pai-simulator-csv": "philly5k_pai.csv",
    "tiresias-csv": "philly5k_tiresias.csv",
}


@pytest.mark.parametrize("name", _TABLES)
def test_every_table_is_told_by_its_columns(name: str, tmp_path: Path) -> None:
    """With a row that is all wrong: the error is that of the right reader."""
    columns = _TABLES[name]
    for order in (columns, columns[::-1]):
        file = table(tmp_path, ",".join((*order, "further")), ",".join("?" * (len(columns) + 1)))
        with pytest.raises(TraceError) as caught:
            read_trace(file)
        assert caught.value.field in columns
        with pytest.raises(TraceError) as asked_for:
            read_trace(file, name)
        assert str(caught.value) == str(asked_for.value)


def test_no_table_has_all_columns_of_another_but_few() -> None:
    contained = [(a, b) for a, b in permutations(_TABLES, 2) if set(_TABLES[a]) <= set(_TABLES[b])]
    assert contained == [("tiresias-csv", "pai-simulator-csv")]  # the larger one counts


@pytest.mark.parametrize("name", _TABLES)
@pytest.mark.parametrize(
    ("rows", "mentions"),
    [
        ("", ["no job"]),
        ("{short}\n", ["row 2", "1 cells", "cells as in the header"]),
        ('"{short}\n', ["row 2", "comma-separated values"]),
        ("{short}\0\n", ["row 2", "binary data"]),
    ],
    ids=["no rows", "short row", "open quote", "zero byte"],
)
def test_hostile_tables(name: str, rows: str, mentions: list[str], tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(",".join(_TABLES[name]) + "\n" + rows.format(short="x"))
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    text = str(caught.value)
    assert "\n" not in text
    assert [mention for mention in (str(file), *mentions) if mention not in text] == [], text


# By column; ids are drawn.
GOOD = {
    "timestamp": "2017-10-01 00:00:00",
    "submit_time": {"tiresias-csv": "5", "pai-simulator-csv": "5", "helios-csv": "2020-09-01 00:00:00",
                    "acme-csv": "2023-03-01 00:00:00+08:00"},
    "start_time": "2023-03-01 00:00:30+08:00",
    "end_time": "2023-03-01 00:02:30+08:00",
    "duration": "60", "num_gpus": "2", "num_gpu": "1", "gpu_num": "8", "num_inst": "2", "num_replicas": "4",
    "gpu_milli": "500", "creation_time": "0", "scheduled_time": "60", "deletion_time": "160", "submission_time": "7",
    "time": "9", "application": "bert", "vc": "v", "type": "Other", "submit_time_s": "0.5", "run_time_s": "60.5",
    "gpu_share_milli": "250", "model_family": "LSTM", "virtual_cluster": "v", "user": "u", "format": "mlfs-1",
    "state": "COMPLETED", "pod_phase": "Running",
}  # fmt: skip
HOSTILE = ["", " ", "0", "-1", "0.5", "nan", "inf", "1e300", "None", "2020-02-30 00:00:00", "2020-09-01 00:00:00",
           "1000", "RUNNING", "Pending"]  # fmt: skip


def cell(name: str, column: str, number: int) -> str:
    good = GOOD.get(column, f"id{number}")
    return good if isinstance(good, str) else good[name]


@pytest.mark.parametrize("name", _TABLES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.data())
def test_no_row_is_lost_whatever_it_holds(name: str, data: st.DataObject, tmp_path: Path) -> None:
    columns = (*_TABLES[name], "state", "pod_phase")
    spoil = st.tuples(st.integers(0, len(columns) - 1), st.sampled_from(HOSTILE))
    rows = [[cell(name, column, number) for column in columns] for number in range(data.draw(st.integers(1, 6)))]
    for row in rows[1:]:  # the first one stays good
        for place, hostile in data.draw(st.lists(spoil, max_size=2)):
            row[place] = hostile
        if data.draw(st.integers(0, 9)) == 0:
            row.pop()
    trace = read_trace(table(tmp_path, ",".join(columns), *map(",".join, rows)), on_error="skip")
    assert trace.format == name
    assert sorted([*trace.rows.tolist(), *skipped_rows(trace)]) == list(range(2, 2 + len(rows)))
    assert 2 in trace.rows
    assert (trace.run_time >= 1e-3).all()
    assert (trace.num_gpus >= 1).all()
    assert (np.diff(trace.arrival) >= 0).all()
    assert ((trace.gpu_share == -1) | ((trace.gpu_share >= 1) & (trace.gpu_share <= 1000))).all()
    write_trace(trace, tmp_path / "neutral.csv")
    assert len(read_trace(tmp_path / "neutral.csv")) == len(trace)


def test_names_of_columns_may_have_spaces_before_them(tmp_path: Path) -> None:
    assert len(read_trace(table(tmp_path, "job_id, submission_time, duration, num_gpu", "a,0,60,1"))) == 1


def test_unknown_table_names_the_formats(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        read_trace(table(tmp_path, "machineId, number of GPUs, single GPU mem", "m0,2, 12GB"))
    text = str(caught.value)
    assert "'machineId, number of GPUs, single GPU mem'" in text
    assert [name for name in _TABLES if name not in text] == []
    assert len(text) < 400 + len(str(tmp_path))


def test_unknown_format() -> None:
    with pytest.raises(SettingsError, match="format: found 'slurm', expected 'auto' or one of philly-json"):
        read_trace("any.csv", "slurm")


def test_every_format_is_documented() -> None:
    text = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if f"| `{name}`" not in text] == []
    assert [name for name, columns in _TABLES.items() if f"| `{name}` | `{','.join(columns)}` |" not in text] == []


def test_the_documented_example_is_a_trace(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```csv\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "example.csv"
    file.write_text(example)
    trace = read_trace(file)
    assert (trace.format, trace.ids.tolist(), trace.gpu_share.tolist()) == ("mlfs-csv", ["a", "b"], [500, -1])
    write_trace(trace, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == example


@needs_traces
def test_four_formats_hold_the_same_jobs() -> None:
    traces = {name: read_trace(TRACES / "conformance" / file) for name, file in CONFORMANCE.items()}
    with (TRACES / "conformance" / CONFORMANCE["tiresias-csv"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, trace in traces.items():
        assert (trace.format, len(trace), trace.skipped.total) == (name, 5000, 0)
        assert trace.num_gpus.tolist() == [int(row["num_gpu"]) for row in rows]
        assert trace.run_time.tolist() == [float(row["duration"]) for row in rows]
        assert trace.arrival.tolist() == [float(row["submit_time"]) for row in rows]


@needs_traces
@pytest.mark.parametrize("name", ["cluster_machine_list", "philly_vc.csv", "revised_machine_list.csv"])
def test_lists_of_machines_are_no_traces(name: str) -> None:
    with pytest.raises(TraceError, match="found the columns"):
        read_trace(TRACES / "philly_meta" / name)


@needs_traces
def test_real_philly_table() -> None:
    with (TRACES / "philly" / "philly.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["num_gpus"]]
    trace = read_trace(TRACES / "philly" / "philly.csv")
    assert len(trace) + trace.skipped.total == len(rows) == 82_247
    gpu_time = sum(float(row["duration"]) * int(row["num_gpus"]) for row in rows)
    assert np.isclose(trace.gpu_seconds, gpu_time, rtol=1e-12)
    assert len(set(trace.virtual_clusters)) == len({row["cluster"] for row in rows})
