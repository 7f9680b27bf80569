"""Where every constant of the testbed comes from."""

from __future__ import annotations

from typing import Any, Final

from mlfs_gym.config import Settings, SimulationConfig
from mlfs_gym.report.compare.markdown import markdown_table
from mlfs_gym.workloads.fill import JobMix
from mlfs_gym.workloads.generator import TESTBED_CLUSTER, paper_testbed

_PAPER: Final = "the paper, CoNEXT 2020, section 4.1"
_PHILLY: Final = "Philly trace: Jeon et al., USENIX ATC 2019"
_SERVER: Final = "AWS p3.8xlarge, a server with four V100"
_ASSUMED: Final = "assumed"

SOURCES: Final[dict[str, dict[str, str]]] = {
    "ClusterConfig": {
        "servers": _PAPER,
        "gpus_per_server": _PAPER,
        "smaller_servers": _PAPER,
        "gpu_memory_gib": "V100",
        "gpu_speed": "the unit",
        "cpu_cores": _SERVER,
        "memory_gib": _SERVER,
        "nic_gbit_per_s": _SERVER,
    },
    "SimulationConfig": {
        "sharing": "both are played",
        "contention": "the physics; off for conformance with simulators that have none",
        "round_seconds": f"{_PAPER}: the scheduler runs every minute",
        "redraw_seconds": f"{_ASSUMED}: long against a round, short against a job",
        "fluctuation": _ASSUMED,
        "restart_one_gpu_seconds": "Helios simulator: Hu et al., SC 2021",
        "restart_up_to_8_seconds": "the same",
        "restart_larger_seconds": "the same",
        "overload_threshold": "hr = 0.9, the paper, section 3.3",
        "time_limit_seconds": "never reached",
    },
    "GeneratorConfig": {
        "name": "a label",
        "total_gpus": _PAPER,
        "min_jobs": "155 to 1860: the paper",
        "max_jobs": "the same",
        "load": "not set: the paper gives a span",
        "span_hours": "one week: the paper",
        "diurnal": f"{_PHILLY}: hourly factors between 0.82 and 1.21",
        "gpu_weights": f"{_PHILLY}, full log",
        "run_time_seconds": f"{_PHILLY}; cut off after a week, the span of the testbed's arrivals",
    },
    "JobMix": {
        "family_weights": f"five model families: the paper; {_ASSUMED}: equally often",
        "urgency": "the paper: L_J from 0 to m = 10",
        "deadline_factor": _PAPER,
        "deadline_hours": _PAPER,
        "max_iterations": f"{_ASSUMED}: epochs of common training recipes, ResNet's 90 among them",
        "required_at": f"{_ASSUMED}: with it MLF-C saves a fifth to a third of JCT; the paper has 28 to 42%",
        "link_megabytes": _PAPER,
        "exchange_seconds": f"{_ASSUMED}: with it traffic is hundreds of terabytes, as published",
        "data_megabytes": _PAPER,
        "max_partitions": f"{_ASSUMED}: a model within one server",
        "parameter_server_share": f"both exchanges: the paper; {_ASSUMED}: equally often",
        "overfit_share": f"{_ASSUMED}: OptStop, in the authors' code, looks for overfitting, so there must be some",
        "overfit_at": _ASSUMED,
        "overfit_rise": _ASSUMED,
        "loss_noise": f"{_ASSUMED}: losses of mini-batches scatter, those of epochs little",
    },
}


def constants() -> str:
    """A section: every setting of the testbed with its value and its source."""
    testbed = paper_testbed()
    tables = [
        markdown_table(["setting", "value", "source or reason"], list(_rows(settings)))
        for settings in (TESTBED_CLUSTER, SimulationConfig(), testbed, testbed.mix)
    ]
    return "\n\n".join(
        [
            "## Appendix: constants",
            "Every setting of the testbed and of the simulation, with its source; *assumed* where none is published. "
            "Sizes, demands and learning curves of the five model families have theirs beside each number, in "
            "[profiles.py](../mlfs_gym/workloads/profiles.py).",
            *tables,
        ]
    )


def _rows(settings: Settings) -> list[list[str]]:
    sources = SOURCES[type(settings).__name__]
    names = [name for name in type(settings).model_fields if not isinstance(getattr(settings, name), JobMix)]
    if set(names) != set(sources):
        raise ValueError(f"{type(settings).__name__}: sources of {set(names) ^ set(sources)} are missing or too many")
    return [[f"`{name}`", _value(name, getattr(settings, name)), sources[name]] for name in names]


def _value(name: str, value: Any) -> str:
    if name in {"min_jobs", "max_jobs"}:
        return "155 to 1860"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {number:g}" for key, number in value.items())
    if value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(f"{number:g}" for number in value)
    return f"{value:g}" if isinstance(value, float) else "not set" if value is None else str(value)
