"""What mlfs-gym raises when the input is wrong: one line that names the place and the fix."""

from __future__ import annotations


class MlfsError(ValueError):
    """A mistake in the input, not in the program. The command line prints it and exits with 2."""


class SettingsError(MlfsError):
    """A setting is unknown, of the wrong type or out of range."""


class WorkloadError(MlfsError):
    """A job, or the set of jobs, cannot be simulated (cyclic graph, duplicate id, too many GPUs, ...)."""


class TraceError(MlfsError):
    """A trace file cannot be read.

    Args:
        file: the trace.
        row: line or entry number, counted from 1; None when the whole file is meant.
        field: column or key; None when the whole row is meant.
        found: what stands there.
        expected: what should.
    """

    def __init__(self, file: object, row: int | None, field: str | None, found: str, expected: str) -> None:
        place = str(file)
        if row is not None:
            place += f", row {row}"
        if field is not None:
            place += f", field '{field}'"
        super().__init__(f"{place}: found {found}, expected {expected}")
        self.file, self.row, self.field, self.found, self.expected = file, row, field, found, expected


class SchedulerError(RuntimeError):
    """A scheduler asked for the impossible or left a cluster idle for ever."""
