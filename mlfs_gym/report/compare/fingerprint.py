"""What made a run: a run whose scheduler has been edited since must be played again."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final
from weakref import WeakKeyDictionary

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.registry import own_class

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_WHAT_PLAYS: Final = ("cluster", "schedulers", "sim", "workloads")
_LENGTH: Final = 16

# As the source was when this process first looked, which is the code that it runs: Python imports a module once.
_seen: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def source_of(scheduler: str) -> str | None:
    """Digest of the source of a scheduler of one's own, as this process runs it; None for those of this package."""
    own = own_class(scheduler)
    return None if own is None else _seen.setdefault(own, _digest(_sources_of(own)))


def check_unchanged(scheduler: str) -> None:
    """Refuse a scheduler whose source has been edited after this process imported it.

    Raises:
        SettingsError: it would be the old one that plays.
    """
    own = own_class(scheduler)
    if own is not None and source_of(scheduler) != _digest(_sources_of(own)):
        raise SettingsError(
            f"scheduler: the source of '{scheduler}' has changed since it was imported; start Python anew, or "
            "importlib.reload its module"
        )


@cache
def package_code() -> str:
    """Digest of the part of this package that decides what comes out of a run."""
    return _digest(path for folder in _WHAT_PLAYS for path in sorted((_PACKAGE / folder).rglob("*.py")))


def _sources_of(own: type) -> list[Path]:
    """The file of a class and those beside it, or in folders there, that it takes something from."""
    first = sys.modules[own.__module__]
    file = getattr(first, "__file__", None)
    if file is None:  # typed into an interpreter
        return []
    home = Path(file).resolve().parents[first.__name__.count(".")]
    found: dict[Path, None] = {}
    waiting = [first]
    while waiting:
        module = waiting.pop()
        path = getattr(module, "__file__", None)
        if path is None or home not in Path(path).resolve().parents or Path(path).resolve() in found:
            continue
        if _PACKAGE in Path(path).resolve().parents or "site-packages" in Path(path).resolve().relative_to(home).parts:
            continue
        found[Path(path).resolve()] = None
        waiting += _modules_in(module)
    return sorted(found)


def _modules_in(module: ModuleType) -> list[ModuleType]:
    """Modules that something in a module comes from."""
    names = {
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        for value in vars(module).values()
    }
    return [sys.modules[name] for name in names if isinstance(name, str) and name in sys.modules]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:_LENGTH]
