"""What happens to a row that is not taken: an error, or skipped and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.errors import SettingsError, TraceError
from mlfs_gym.workloads.skips import SkipReport

OnError = Literal["raise", "skip"]

_LONGEST_QUOTE = 60


def check_on_error(on_error: str) -> None:
    """Raise `SettingsError` for anything but ``raise`` and ``skip``."""
    if on_error not in ("raise", "skip"):
        raise SettingsError(f"on_error: found {on_error!r}, expected 'raise' or 'skip'")


def quoted(value: object) -> str:
    """A value for an error message: one line, not too long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 4] + "...'"


class Rejects:
    """Collects unusable rows of a file.

    Args:
        file: the trace.
        on_error: ``raise``: the first unusable row raises `TraceError`; ``skip``: all are counted.
    """

    def __init__(self, file: object, on_error: OnError) -> None:
        self._file, self._on_error = file, on_error
        self._rows: dict[str, list[int]] = {}

    def reject(self, row: int, field: str | None, found: str, expected: str) -> None:
        """One row is unusable."""
        if self._on_error == "raise":
            raise TraceError(self._file, row, field, found, expected)
        reason = f"expected {expected}" if field is None else f"field '{field}': expected {expected}"
        self._rows.setdefault(reason, []).append(row)

    def leave_out(self, rows: Iterable[int], reason: str) -> None:
        """Rows that are as they should be, but no jobs to schedule here: counted, never an error."""
        left_out = list(rows)
        if left_out:
            self._rows.setdefault(reason, []).extend(left_out)

    def include(self, other: Rejects, file_name: str) -> None:
        """Count the rows of a second file that belongs to this one."""
        for reason, rows in other._rows.items():
            self._rows.setdefault(f"{file_name}: {reason}", []).extend(rows)

    def report(self) -> SkipReport:
        """All rows so far."""
        return SkipReport(tuple((reason, tuple(sorted(rows))) for reason, rows in self._rows.items()))


class RowChecks:
    """Checks whole columns; a row that fails one check is not looked at by the next.

    Attributes:
        keep: shape (N,), bool, the rows that passed all checks so far.
    """

    def __init__(self, rejects: Rejects, rows: Array) -> None:
        self.keep = np.ones(len(rows), bool)
        self._rejects, self._rows = rejects, rows

    def require(self, good: Array, field: str, found: Sequence[Any] | Array, expected: str) -> None:
        """Reject the rows, of those kept so far, that are not good."""
        bad = self.keep & ~good
        for index in np.flatnonzero(bad).tolist():
            self._rejects.reject(int(self._rows[index]), field, quoted(found[index]), expected)
        self.keep &= good

    def leave_out(self, which: Array, reason: str) -> None:
        """Leave out and count the rows, of those kept so far, that are no jobs to schedule here; never an error."""
        self._rejects.leave_out(self._rows[self.keep & which].tolist(), reason)
        self.keep &= ~which

    def require_unique(self, ids: Sequence[str], field: str) -> None:
        """Reject all but the first of the kept rows with the same id."""
        seen: set[str] = set()
        good = np.ones(len(ids), bool)
        for index in np.flatnonzero(self.keep).tolist():
            good[index] = ids[index] not in seen
            seen.add(ids[index])
        self.require(good, field, ids, "an id that no earlier row has")
