"""From the options of a command to jobs, the cluster that runs them and who decides.

Imports the simulator: import it late.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from mlfs_gym.config import ClusterConfig, SimulationConfig
from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.registry import make_scheduler
from mlfs_gym.workloads.presets import PRESETS, check_size, default_cluster, default_simulation, make_workload
from mlfs_gym.workloads.traces.read import read_trace
from mlfs_gym.workloads.workload import Workload

TRACE_CLUSTER = ClusterConfig(servers=64, gpus_per_server=8)
"""For traces, which do not say on what they ran: Philly's servers had up to 8 GPUs."""


def cluster_of(default: ClusterConfig, servers: int | None, gpus_per_server: int | None) -> ClusterConfig:
    """The default cluster with the user's changes; with any, all servers are equal."""
    changes = {"servers": servers, "gpus_per_server": gpus_per_server}
    given = {name: value for name, value in changes.items() if value is not None}
    return ClusterConfig.parse(default, **given, **({"smaller_servers": ()} if given else {}))


def simulation_of(workload: str, sharing: bool | None, contention: bool) -> SimulationConfig:
    """How time passes: as a named workload has it, with the user's changes."""
    default = default_simulation(workload) if workload in PRESETS else SimulationConfig()
    changes = {} if sharing is None else {"sharing": sharing}
    return SimulationConfig.parse(default, contention=contention, **changes)


def scheduler_named(name: str) -> Scheduler:
    """A scheduler by name; ``module:Class`` may lie in the folder where the command runs."""
    find_schedulers_here()
    return make_scheduler(name)


def find_schedulers_here() -> None:
    """Let modules of schedulers lie in the folder where the command runs."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file there must not stand in for an installed package


def generated_jobs(
    name: str, jobs: int | None, load: float | None, servers: int | None, gpus_per_server: int | None, seed: int
) -> tuple[Workload, ClusterConfig]:
    """A named workload and the cluster that it is made for, with the user's changes."""
    cluster = cluster_of(default_cluster(name), servers, gpus_per_server)
    options = {option: value for option, value in (("jobs", jobs), ("load", load)) if value is not None}
    return make_workload(name, seed, **options), cluster


def trace_jobs(
    file: Path,
    format_: str,
    on_error: Literal["raise", "skip"],
    parallelism: Literal["ml", "gang"],
    jobs: int | None,
    load: float | None,
    servers: int | None,
    gpus_per_server: int | None,
    seed: int,
) -> tuple[Workload, ClusterConfig]:
    """The first jobs of a trace (all by default), and the cluster to run them on."""
    cluster = cluster_of(TRACE_CLUSTER, servers, gpus_per_server)
    trace = read_trace(file, format_, on_error)
    check_size({"load": load})
    if jobs is not None and not 1 <= jobs <= len(trace):
        raise SettingsError(f"jobs: found {jobs}, expected 1 to {len(trace)}, which is what {file} holds")
    workload = trace.to_workload(
        seed,
        cluster=cluster,
        parallelism=parallelism,
        window=None if jobs is None else (0, jobs),
        load=load,
        on_error=on_error,
    )
    return workload, cluster
