"""Which format a file has, and that formats which hold the same jobs agree."""

from __future__ import annotations

import csv
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads import read_trace
from mlfs_gym.workloads.traces.read import _TABLES, FORMATS
from tests.repository.paths import ROOT
from tests.workloads.traces.files import TRACES, needs_traces, table

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
