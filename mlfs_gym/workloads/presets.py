"""Workloads by name, each with the cluster that it is made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from mlfs_gym.config import ClusterConfig, SimulationConfig
from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads.generator import SMALL_CLUSTER, TESTBED_CLUSTER, generate, paper_testbed, small
from mlfs_gym.workloads.philly import PHILLY_CLUSTER, PhillyConfig, generate_philly
from mlfs_gym.workloads.toy import TOY_CLUSTER, toy
from mlfs_gym.workloads.workload import Workload

Seed = int | np.random.Generator
HIGHEST_JOBS: Final = 10_000_000
HIGHEST_LOAD: Final = 1000.0
_NUMBERS: Final = (int, float, np.integer, np.floating)


@dataclass(frozen=True)
class WorkloadPreset:
    """A named way to make workloads.

    Attributes:
        make: from a seed and the options to a workload.
        options: names of the options.
        cluster: made for this cluster.
        simulation: and for time to pass like this.
    """

    make: Callable[..., Workload]
    options: tuple[str, ...]
    cluster: ClusterConfig
    simulation: SimulationConfig = field(default_factory=SimulationConfig)


def _toy(seed: Seed) -> Workload:
    del seed  # nothing in it is drawn
    return toy()


def _small(seed: Seed, **options: Any) -> Workload:
    return generate(small(**options), seed)


def _testbed(seed: Seed, **options: Any) -> Workload:
    return generate(paper_testbed(**options), seed)


def _philly(seed: Seed, **options: Any) -> Workload:
    return generate_philly(PhillyConfig.parse(options), seed)


PRESETS: Final[dict[str, WorkloadPreset]] = {
    "toy": WorkloadPreset(_toy, (), TOY_CLUSTER),
    # The order of jobs matters under load alone, and shared GPUs take most of that load away.
    "small": WorkloadPreset(_small, ("load", "jobs"), SMALL_CLUSTER, SimulationConfig(sharing=False)),
    "testbed": WorkloadPreset(_testbed, ("jobs", "load"), TESTBED_CLUSTER),
    "philly": WorkloadPreset(_philly, ("jobs", "load", "factor"), PHILLY_CLUSTER, SimulationConfig(sharing=False)),
}


def make_workload(name: str, seed: Seed = 0, **options: Any) -> Workload:
    """A workload of a preset.

    Args:
        name: ``toy``, ``small``, ``testbed`` or ``philly``.
        seed: a number, or a generator to draw from.
        options: of the preset: `load` and `jobs` of all but ``toy``, `factor` of ``philly``.

    Raises:
        SettingsError: an unknown name or option, or a value out of range.
    """
    preset = _preset(name)
    for option in options:
        if option not in preset.options:
            known = ", ".join(preset.options) or "none"
            raise SettingsError(f"workload '{name}': option '{option}' is unknown (known: {known})")
    check_size(options, f"workload '{name}': option '{{}}'")
    return preset.make(seed, **options)


def check_size(options: Mapping[str, Any], place: str = "{}") -> None:
    """Refuse numbers of jobs and loads that no workload can have, under the names that users give them.

    Args:
        options: by name.
        place: where a value stands, with a gap for its name.

    Raises:
        SettingsError: one line.
    """
    jobs, load = options.get("jobs"), options.get("load")
    if isinstance(jobs, _NUMBERS) and not (1 <= jobs <= HIGHEST_JOBS and jobs == int(jobs)):
        raise SettingsError(
            f"{place.format('jobs')}: found {jobs}, expected a whole number of 1 or more, {HIGHEST_JOBS:,} at most"
        )
    if isinstance(load, _NUMBERS) and not 0 < load <= HIGHEST_LOAD:
        raise SettingsError(
            f"{place.format('load')}: found {load}, expected a finite number greater than 0, {HIGHEST_LOAD:g} at most"
        )


def default_cluster(name: str) -> ClusterConfig:
    """The cluster that a preset is made for."""
    return _preset(name).cluster


def default_simulation(name: str) -> SimulationConfig:
    """How time passes where a preset is played: with exclusive GPUs for ``small``, with shared ones elsewhere."""
    return _preset(name).simulation


def _preset(name: str) -> WorkloadPreset:
    if name not in PRESETS:
        raise SettingsError(f"workload: found '{name}', expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
