"""Schedulers by name, yours included: ``my_module:MyScheduler``."""

from __future__ import annotations

import importlib

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
    path = _BUILT_IN.get(name, name)
    module_name, _, class_name = path.partition(":")
    if not class_name:
        known = f"{', '.join(_BUILT_IN)}, or module:Class, each also with {_LOAD_CONTROL} behind it"
        raise SettingsError(f"scheduler: found '{name}', expected one of {known}")
    try:
        made = getattr(importlib.import_module(module_name), class_name)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"scheduler: '{name}' cannot be made: {error}") from error
    if not isinstance(made, Scheduler):
        raise SettingsError(f"scheduler: '{name}' is no subclass of mlfs_gym.schedulers.Scheduler")
    return made
