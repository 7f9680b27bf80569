"""Clusters and workloads by name, and where an episode's jobs come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mlfs_gym.config import ClusterConfig, SimulationConfig
from mlfs_gym.envs.layout import WindowConfig
from mlfs_gym.errors import SettingsError
from mlfs_gym.workloads import default_cluster, default_simulation, make_workload
from mlfs_gym.workloads.philly.generator import PhillyWindows, window_config
from mlfs_gym.workloads.traces.trace import Trace
from mlfs_gym.workloads.workload import Workload

Draw: TypeAlias = Callable[[np.random.Generator], Workload]
WorkloadSource: TypeAlias = str | Workload | Trace | Draw

HIGHEST_SEED = 2**63
WINDOW_JOBS = 100  # of a trace, where no number is given


@dataclass(frozen=True)
class Preset:
    """A cluster with the workload that is meant for it.

    Attributes:
        workload: a name that `mlfs_gym.workloads.make_workload` knows.
        cluster: the servers.
        simulation: how time passes.
        window: what an agent sees of it.
        load: ideal GPU-seconds per GPU-second of the arrival span; None: given by the number of jobs.
        jobs: number of jobs; None: drawn per episode.
    """

    workload: str
    cluster: ClusterConfig
    simulation: SimulationConfig
    window: WindowConfig = field(default_factory=WindowConfig)
    load: float | None = None
    jobs: int | None = None


PRESETS: dict[str, Preset] = {
    # The order of jobs matters under load alone, and GPU sharing takes most of that load away: at 1.6 the best simple
    # order is 18% below MLF-H in JCT with exclusive GPUs, 2% with shared ones.
    "small": Preset("small", default_cluster("small"), default_simulation("small"), load=1.6),
    "testbed": Preset(
        "testbed",
        default_cluster("testbed"),
        default_simulation("testbed"),
        window=WindowConfig(slots=16, candidates=8, moves=4, running=32),
        jobs=620,
    ),
    "philly": Preset(
        "philly",
        default_cluster("philly"),
        default_simulation("philly"),
        window=WindowConfig(slots=32, candidates=8, moves=4, running=64),
        load=1.0,
    ),
}


def preset_named(name: str) -> Preset:
    """The preset of that name.

    Raises:
        SettingsError: if there is none.
    """
    if name not in PRESETS:
        raise SettingsError(f"preset: found {name!r}, expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def workload_source(
    given: WorkloadSource | None, preset: Preset, cluster: ClusterConfig, load: float | None, jobs: int | None
) -> Draw:
    """A function that draws an episode's workload from a random generator.

    Args:
        given: a workload (the same in each episode), a trace (a random window of it in each episode), a name that
            `make_workload` knows, a function of a generator, or None for the preset's.
        preset: supplies what is not given.
        cluster: the servers, which bound what a trace's jobs may ask for.
        load: target load, for named workloads and traces.
        jobs: number of jobs, likewise.
    """
    if isinstance(given, Workload):
        return FixedWorkload(given)
    chosen_load = load if load is not None else preset.load
    chosen_jobs = jobs if jobs is not None else preset.jobs
    if isinstance(given, Trace):
        return TraceWindows(given, cluster, chosen_load, chosen_jobs or WINDOW_JOBS)
    if callable(given):
        return given
    name = given if given is not None else preset.workload
    if name == "philly" and chosen_jobs is not None:
        return PhillyWindows(window_config(chosen_jobs, load=chosen_load))
    return NamedWorkload(name, chosen_load, chosen_jobs)


# Classes, not closures: environments must be picklable.
@dataclass(frozen=True)
class FixedWorkload:
    """The same workload in each episode."""

    workload: Workload

    def __call__(self, rng: np.random.Generator) -> Workload:
        """The workload."""
        del rng
        return self.workload


@dataclass(frozen=True)
class NamedWorkload:
    """A new draw of a generator in each episode."""

    name: str
    load: float | None
    jobs: int | None

    def __call__(self, rng: np.random.Generator) -> Workload:
        """A workload for a seed that the generator gives."""
        options: dict[str, float | int] = {}
        if self.load is not None:
            options["load"] = self.load
        if self.jobs is not None:
            options["jobs"] = self.jobs
        return make_workload(self.name, seed=int(rng.integers(HIGHEST_SEED)), **options)


@dataclass(frozen=True)
class TraceWindows:
    """A random window of a trace in each episode, brought to a load."""

    trace: Trace
    cluster: ClusterConfig
    load: float | None
    jobs: int

    def __call__(self, rng: np.random.Generator) -> Workload:
        """So many consecutive jobs from a random place of the trace."""
        return self.trace.sample_window(rng, jobs=self.jobs, cluster=self.cluster, load=self.load)
