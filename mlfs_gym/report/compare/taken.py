"""Which runs of a comparison are taken from its folder, and which are played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlfs_gym.report.compare.fingerprint import check_unchanged, package_code, source_of
from mlfs_gym.report.compare.folder import ComparisonFolder
from mlfs_gym.report.compare.plan import Run


@dataclass(frozen=True)
class Taken:
    """Runs of a comparison before it begins.

    Attributes:
        missing: to be played, in the order of the plan.
        complete: taken from the folder.
        edited: schedulers of one's own whose source is not the one that made some of their runs.
        other_code: complete runs that other code of this package made.
    """

    missing: list[Run]
    complete: int
    edited: list[str]
    other_code: int

    def lines(self, folder: Path) -> list[str]:
        """For people: where the runs come from, and what to know about them."""
        first = f"{self.complete:,} runs taken from {folder}, {len(self.missing):,} to play"
        if self.edited:
            first += f"; edited since they were played: {', '.join(self.edited)}"
        lines = [first]
        if self.other_code:
            lines.append(
                f"{self.other_code:,} of those taken were made by another state of mlfs-gym's own code; to play them "
                "anew: --fresh (from Python fresh=True)"
            )
        return lines


def take(home: ComparisonFolder, runs: Sequence[Run], fresh: bool) -> Taken:
    """Look through a folder, and forget what must be played again.

    Args:
        home: the folder.
        runs: that are asked for.
        fresh: play all of them.

    Raises:
        SettingsError: a scheduler's source has been edited after this process imported it.
    """
    sources = {name: source_of(name) for name in dict.fromkeys(run.scheduler for run in runs)}
    for name in sources:
        check_unchanged(name)
    missing, edited, other_code = [], set(), 0
    for run in runs:
        record = home.record(run)
        made_by = {} if record is None else record.get("made_by", {})
        is_edited = record is not None and made_by.get("source") != sources[run.scheduler]
        if is_edited:
            edited.add(run.scheduler)
        if is_edited or fresh:
            home.forget(run)  # now: interrupted, the comparison must not take it for a new one
        if record is None or is_edited or fresh:
            missing.append(run)
        elif made_by.get("package", package_code()) != package_code():
            other_code += 1
    return Taken(missing, len(runs) - len(missing), sorted(edited), other_code)


def is_of_old_source(scheduler: str, made_by: dict[str, str | None], asked: Sequence[str]) -> bool:
    """True for a run, asked for or not, that an earlier source of a scheduler made which is asked for now."""
    return scheduler in asked and made_by.get("source") != source_of(scheduler)
