"""What tables need to know of a scheduler. Kept with its runs: one of your own may be gone when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.registry import make_scheduler


@dataclass(frozen=True)
class Traits:
    """Of one scheduler.

    Attributes:
        name: that it gives itself.
        shares_gpus: see `mlfs_gym.schedulers.Scheduler`.
    """

    name: str
    shares_gpus: bool

    @classmethod
    def of(cls, scheduler: str) -> Traits:
        """Of a scheduler by name.

        Raises:
            SettingsError: there is no such scheduler.
        """
        made = make_scheduler(scheduler)
        return cls(made.name, bool(made.shares_gpus))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def traits_of(schedulers: Iterable[str], known: Mapping[str, Traits]) -> dict[str, Traits]:
    """Of all these; of one that is neither known nor to be found, what a scheduler has unless it says otherwise."""
    return {name: known[name] if name in known else _found(name) for name in schedulers}


def labels_of(traits: Mapping[str, Traits]) -> dict[str, str]:
    """How tables call schedulers: a ``module:Class`` by the name that it gives itself, where no other has that."""
    own = {
        name: found.name for name, found in traits.items() if ":" in name and not found.name.startswith(Scheduler.name)
    }
    taken = [*own.values(), *(name for name in traits if name not in own)]
    return {name: own[name] if name in own and taken.count(own[name]) == 1 else name for name in traits}


def _found(name: str) -> Traits:
    try:
        return Traits.of(name)
    except SettingsError:
        return Traits(name, Scheduler.shares_gpus)
