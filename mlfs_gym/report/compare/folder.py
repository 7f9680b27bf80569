"""The folder of a comparison: what is complete, and all of it as tables."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mlfs_gym.errors import SettingsError
from mlfs_gym.report.compare.one_run import QUANTILES
from mlfs_gym.report.compare.plan import Run, plan
from mlfs_gym.report.compare.settings import CompareConfig
from mlfs_gym.report.compare.traits import Traits, traits_of

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("scheduler", "gpus", "size", "seed")
_VERSIONS = ("mlfs-gym", "numpy", "numba", "pandas", "scipy")


class ComparisonFolder:
    """Files of a comparison.

    Args:
        path: of the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def open_for(self, config: CompareConfig) -> CompareConfig:
        """Make the folder, or go on with the one that is there. Returns the settings of all that it will hold.

        Raises:
            SettingsError: it holds a comparison on other workloads or another cluster.
        """
        if self.path.exists() and not self.path.is_dir():
            raise SettingsError(f"folder: found {self.path}, a file, expected a folder, new or of a comparison")
        file = self.path / "comparison.json"
        traits = traits_of(config.schedulers, {})
        if file.exists():
            traits = {**self.read_traits(), **traits}
            before = self.read_config()
            field = config.same_question(before)
            if field is not None:
                raise SettingsError(
                    f"{field}: found {_short(getattr(config, field))}, expected {_short(getattr(before, field))} as in "
                    f"{self.path}; choose another folder"
                )
            config = _union(before, config)
        for name in ("runs", "jobs", "failed"):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        document = {
            "settings": config.model_dump(mode="json"),
            "schedulers": {name: found.document() for name, found in traits.items()},
            "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            "versions": {"python": platform.python_version(), **{name: _version(name) for name in _VERSIONS}},
            "machine": {"processor": platform.machine(), "system": platform.system(), "cores": os.cpu_count()},
        }
        file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        return config

    def read_config(self) -> CompareConfig:
        """What the folder holds or will hold.

        Raises:
            SettingsError: it is no comparison's folder.
        """
        return CompareConfig.parse(self._document()["settings"])

    def read_traits(self) -> dict[str, Traits]:
        """Of schedulers that took part, as they were then.

        Raises:
            SettingsError: it is no comparison's folder.
        """
        return {name: Traits(**found) for name, found in self._document().get("schedulers", {}).items()}

    def record(self, run: Run) -> dict[str, Any] | None:
        """What is kept of a complete run; None if it has not been played."""
        try:
            found: dict[str, Any] = json.loads(self._record(run).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return found

    def forget(self, run: Run) -> None:
        """The run is to be played again, whenever the comparison goes on."""
        self._record(run).unlink(missing_ok=True)

    def collect(self, config: CompareConfig) -> list[dict[str, Any]]:
        """Records of all complete runs, in the order of schedulers, settings, sizes and seeds."""
        order = {name: position for position, name in enumerate(config.schedulers)}
        found = [record for run in plan(config) for record in [self.record(run)] if record is not None]
        return sorted(found, key=lambda r: (order[r["scheduler"]], config.gpus.index(r["gpus"]), r["size"], r["seed"]))

    def _record(self, run: Run) -> Path:
        return self.path / "runs" / f"{run.key}.json"

    def _document(self) -> dict[str, Any]:
        file = self.path / "comparison.json"
        try:
            document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            document["settings"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(
                f"{self.path}: found no comparison, expected a readable {file.name} ({error})"
            ) from None
        return document

    def write_tables(self, tables: Tables) -> None:
        """Each table in a file of its name; `timing.csv` alone differs from machine to machine."""
        for name, table in tables._asdict().items():
            table.to_csv(self.path / f"{name}.csv", index=False)

    def read_tables(self) -> Tables:
        """What `write_tables` has written.

        Raises:
            SettingsError: a file is missing or no table.
        """
        return Tables(*(_read(self.path / f"{name}.csv") for name in Tables._fields))


class Tables(NamedTuple):
    """Raw results, one row per run in each table.

    Attributes:
        runs: see `runs_table`.
        timing: see `timing_table`.
        jct_quantiles: see `quantiles_table`.
    """

    runs: pd.DataFrame
    timing: pd.DataFrame
    jct_quantiles: pd.DataFrame


def tables_of(records: list[dict[str, Any]]) -> Tables:
    """All tables of what was collected."""
    return Tables(runs_table(records), timing_table(records), quantiles_table(records))


def runs_table(records: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per run: scheduler, gpus, size, seed, metrics."""
    return _table([{**_keys(record), **record["metrics"]} for record in records])


def timing_table(records: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per run: scheduler, gpus, size, seed, wall-clock times."""
    return _table([{**_keys(record), **record["timing"]} for record in records])


def quantiles_table(records: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per run: scheduler, gpus, size, seed, JCT in seconds at 0%, 1%, ... 100% of the jobs."""
    names = [f"p{round(100 * quantile)}" for quantile in QUANTILES]
    rows = [{**_keys(r), **dict(zip(names, r["jct_quantiles_s"], strict=True))} for r in records]
    return _table(rows).round(1)


def _read(file: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file}: found no table of results ({error}); give the comparison again") from None


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(KEYS))


def _keys(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in KEYS}


def _union(before: CompareConfig, now: CompareConfig) -> CompareConfig:
    """What was there and what has come."""
    changes = {
        name: tuple(dict.fromkeys((*getattr(before, name), *getattr(now, name))))
        for name in ("schedulers", "sizes", "seeds", "gpus")
    }
    return CompareConfig.parse(before, **changes)


def _short(value: Any) -> str:
    dump = getattr(value, "model_dump", None)
    return repr(value) if dump is None else str(dump())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
