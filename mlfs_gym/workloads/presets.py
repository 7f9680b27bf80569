"""Workloads by name, each with the cluster that it is made for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mlfs_gym.config import ClusterConfig
from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads.generator import SMALL_CLUSTER, TESTBED_CLUSTER, generate, paper_testbed, small
from mlfs_gym.workloads.philly import PHILLY_CLUSTER, PhillyConfig, generate_philly
from mlfs_gym.workloads.toy import TOY_CLUSTER, toy
from mlfs_gym.workloads.workload import Workload

Seed = int | np.random.Generator


@dataclass(frozen=True)
class WorkloadPreset:
    """A named way to make workloads.

    Attributes:
        make: from a seed and the options to a workload.
        options: names of the options.
        cluster: made for this cluster.
    """

    make: Callable[..., Workload]
    options: tuple[str, ...]
    cluster: ClusterConfig


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
    "small": WorkloadPreset(_small, ("load", "jobs"), SMALL_CLUSTER),
    "testbed": WorkloadPreset(_testbed, ("jobs", "load"), TESTBED_CLUSTER),
    "philly": WorkloadPreset(_philly, ("jobs", "load", "factor"), PHILLY_CLUSTER),
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
    return preset.make(seed, **options)


def default_cluster(name: str) -> ClusterConfig:
    """The cluster that a preset is made for."""
    return _preset(name).cluster


def _preset(name: str) -> WorkloadPreset:
    if name not in PRESETS:
        raise SettingsError(f"workload: found '{name}', expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
