"""What was left out of a workload, and why: no job disappears without being counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SkipReport:
    """Rows that were skipped.

    Attributes:
        rows: row numbers, counted from 1, by reason.
    """

    rows: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def total(self) -> int:
        """Number of rows skipped."""
        return sum(len(rows) for _, rows in self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by reason."""
        return {reason: len(rows) for reason, rows in self.rows}

    def adding(self, reason: str, rows: tuple[int, ...]) -> SkipReport:
        """The report with further rows; no rows, no change."""
        if not rows:
            return self
        merged = dict(self.rows)
        merged[reason] = tuple(sorted((*merged.get(reason, ()), *rows)))
        return SkipReport(tuple(merged.items()))

    def lines(self, most_rows: int = 5) -> list[str]:
        """One line per reason, with the first row numbers."""
        text = []
        for reason, rows in self.rows:
            shown = ", ".join(str(row) for row in rows[:most_rows])
            if len(rows) > most_rows:
                shown += ", ..."
            text.append(f"{len(rows)} skipped: {reason} (row {shown})")
        return text
