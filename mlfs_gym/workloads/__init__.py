"""Where jobs come from: generator, toy instance, trace readers, model profiles, learning curves.

The names below load what they need on first use: importing a kernel of this package reads no tables.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlfs_gym.workloads.generator import GeneratorConfig, generate
    from mlfs_gym.workloads.philly import PhillyConfig, PhillyWindows, generate_philly, philly_window
    from mlfs_gym.workloads.presets import default_cluster, default_simulation, make_workload
    from mlfs_gym.workloads.specs import JobSpec, workload_from_specs
    from mlfs_gym.workloads.traces.inspect import describe_trace
    from mlfs_gym.workloads.traces.read import read_trace
    from mlfs_gym.workloads.traces.trace import Trace
    from mlfs_gym.workloads.traces.write import write_trace
    from mlfs_gym.workloads.validation import validate
    from mlfs_gym.workloads.workload import Workload

__all__ = [
    "GeneratorConfig",
    "JobSpec",
    "PhillyConfig",
    "PhillyWindows",
    "Trace",
    "Workload",
    "default_cluster",
    "default_simulation",
    "describe_trace",
    "generate",
    "generate_philly",
    "make_workload",
    "philly_window",
    "read_trace",
    "validate",
    "workload_from_specs",
    "write_trace",
]

_HOMES = {
    "GeneratorConfig": "generator",
    "JobSpec": "specs",
    "PhillyConfig": "philly",
    "PhillyWindows": "philly",
    "Trace": "traces.trace",
    "Workload": "workload",
    "default_cluster": "presets",
    "default_simulation": "presets",
    "describe_trace": "traces.inspect",
    "generate": "generator",
    "generate_philly": "philly",
    "make_workload": "presets",
    "philly_window": "philly",
    "read_trace": "traces.read",
    "validate": "validation",
    "workload_from_specs": "specs",
    "write_trace": "traces.write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
