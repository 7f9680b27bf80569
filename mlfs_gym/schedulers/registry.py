"""Schedulers by name, yours included: ``my_module:MyScheduler``."""

from __future__ import annotations

import difflib
import importlib
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.ablations import MLF_H_WITHOUT
from mlfs_gym.schedulers.base import Scheduler

_BUILT_IN = {
    "fifo": "mlfs_gym.schedulers.fifo:FIFO",
    "sjf": "mlfs_gym.schedulers.sjf:SJF",
    "srtf": "mlfs_gym.schedulers.srtf:SRTF",
    "mlf_h": "mlfs_gym.schedulers.mlf_h.scheduler:MLFH",
    "tiresias": "mlfs_gym.schedulers.tiresias:Tiresias",
    "gittins": "mlfs_gym.schedulers.gittins:Gittins",
    "las": "mlfs_gym.schedulers.las:LAS",
    "srsf": "mlfs_gym.schedulers.srsf:SRSF",
    "edf": "mlfs_gym.schedulers.edf:EDF",
    "themis": "mlfs_gym.schedulers.themis:Themis",
    "pollux": "mlfs_gym.schedulers.pollux.scheduler:Pollux",
    "fair": "mlfs_gym.schedulers.fair:Fair",
    "slaq": "mlfs_gym.schedulers.slaq:SLAQ",
    "gandiva": "mlfs_gym.schedulers.gandiva.scheduler:Gandiva",
    "graphene": "mlfs_gym.schedulers.graphene:Graphene",
    "hypersched": "mlfs_gym.schedulers.hypersched:HyperSched",
    "optimus": "mlfs_gym.schedulers.optimus:Optimus",
}

_LOAD_CONTROL = "+mlf_c"


def scheduler_names() -> list[str]:
    """Names that `make_scheduler` knows."""
    return list(_BUILT_IN)


def make_scheduler(name: str) -> Scheduler:
    """A new scheduler.

    Args:
        name: one of `scheduler_names` or of `mlfs_gym.schedulers.ablations`, or ``module:Class`` for a class of your
            own without required arguments; with ``+mlf_c`` behind it, load control around that scheduler.

    Raises:
        SettingsError: if there is no such scheduler.
    """
    if name.endswith(_LOAD_CONTROL):
        from mlfs_gym.schedulers.mlf_c.scheduler import MLFC

        return MLFC(make_scheduler(name.removesuffix(_LOAD_CONTROL)))
    if name in MLF_H_WITHOUT:
        from mlfs_gym.schedulers.mlf_h.scheduler import MLFH

        ablated = MLFH(MLF_H_WITHOUT[name])
        ablated.name = name
        return ablated
    if name not in _BUILT_IN and ":" not in name:
        raise SettingsError(_unknown(name))
    try:
        made = _class_of(name)()
    except SettingsError:  # which is a ValueError
        raise
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise SettingsError(f"scheduler: '{name}' cannot be made: {error}") from error
    if not isinstance(made, Scheduler):
        raise SettingsError(f"scheduler: '{name}' is no subclass of mlfs_gym.schedulers.Scheduler")
    return made


def own_class(name: str) -> type | None:
    """The class behind ``module:Class``, under load control too; None for a scheduler of this package.

    Raises:
        SettingsError: if there is no such class.
    """
    plain = name.removesuffix(_LOAD_CONTROL)
    return None if ":" not in plain else _class_of(plain)


def _class_of(name: str) -> Any:
    """What a name stands for; whoever makes one finds out whether it is a scheduler's class."""
    module_name, _, class_name = _BUILT_IN.get(name, name).partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there; one that it imports is not
        raise SettingsError(f"scheduler: found no module {module_name} for '{name}'; looked {_places()}") from None
    found = getattr(module, class_name, None)
    if found is None:
        there = ", ".join(_schedulers_in(module)) or "none"
        file = getattr(module, "__file__", None) or module_name
        raise SettingsError(f"scheduler: found no class '{class_name}' for '{name}'; schedulers in {file}: {there}")
    return found


def _unknown(name: str) -> str:
    known = f"{', '.join(_BUILT_IN)}, or module:Class, each also with {_LOAD_CONTROL} behind it"
    names = [*_BUILT_IN, *MLF_H_WITHOUT]
    alike = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.6)
    guess = f" (did you mean {alike[0]}?)" if alike else ""
    return f"scheduler: found '{name}'{guess}, expected one of {known}"


def _places() -> str:
    """Where modules are looked for, without what comes with Python."""
    installed = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders = [Path(entry or ".").resolve() for entry in sys.path]
    own = [folder for folder in folders if folder.is_dir() and not installed & {folder, *folder.parents}]
    return f"in {', '.join(dict.fromkeys(map(str, own)))} and among installed packages"


def _schedulers_in(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Scheduler) and value.__module__ == module.__name__
    ]
