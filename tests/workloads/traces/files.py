"""Trace files for tests: the real ones, where they are, and small ones of our own making."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from mlfs_gym.errors import TraceError
from mlfs_gym.workloads import Trace, read_trace
from tests.repository.paths import ROOT

TRACES = Path(os.environ.get("MLFS_TRACES", ROOT.parent / "shared" / "traces"))

needs_traces = pytest.mark.skipif(
    not TRACES.is_dir(), reason=f"no traces at {TRACES}: set MLFS_TRACES to the folder that has them"
)


def real_rows(file: str) -> list[dict[str, str]]:
    """Rows of a real table as the standard library reads them: an independent count of what a reader should find."""
    with (TRACES / file).open(newline="") as lines:
        return list(csv.DictReader(lines))


def table(folder: Path, header: str, *rows: str, name: str = "jobs.csv") -> Path:
    file = folder / name
    file.write_text("".join(f"{line}\n" for line in (header, *rows)))
    return file


def assert_rejected(file: Path, row: int, field: str, mentions: Sequence[str], others: int) -> Trace:
    """The row stops the reader with one line that says why; or it is skipped and counted, and the others are read."""
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    text = str(caught.value)
    assert "\n" not in text
    assert (caught.value.row, caught.value.field) == (row, field), text
    assert [mention for mention in (str(caught.value.file), *mentions) if mention not in text] == [], text
    trace = read_trace(file, on_error="skip")
    assert row in skipped_rows(trace)
    assert len(trace) == others
    return trace


def skipped_rows(trace: Trace) -> list[int]:
    return sorted(row for _, rows in trace.skipped.rows for row in rows)
