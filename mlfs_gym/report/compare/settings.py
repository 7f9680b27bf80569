"""What a comparison compares."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from mlfs_gym.config import ClusterConfig, Settings
from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.ablations import ablated_names
from mlfs_gym.schedulers.registry import make_scheduler, scheduler_names
from mlfs_gym.workloads.presets import PRESETS, check_size, default_cluster

Gpus = Literal["shared", "exclusive"]
SizeIs = Literal["jobs", "load"]

PAPER_JOBS: Final = (155.0, 310.0, 620.0, 1240.0, 1860.0)
"""Jobs per week on the paper's testbed (CoNEXT 2020, section 4.1)."""
DEFAULT_LOADS: Final = (0.7, 1.0, 1.3, 1.8)


class CompareConfig(Settings):
    """Every scheduler plays every workload: each size, each seed, shared and exclusive GPUs."""

    schedulers: tuple[str, ...] = Field(min_length=1, description="names that make_scheduler knows")
    workload: str = Field(default="testbed", description="a generated workload: testbed, small, toy or philly")
    size_is: SizeIs = Field(default="jobs", description="what the sizes count: jobs, or load")
    sizes: tuple[float, ...] = Field(default=PAPER_JOBS, min_length=1, description="numbers of jobs, or loads")
    seeds: tuple[int, ...] = Field(default=tuple(range(10)), min_length=1, description="of workload and simulation")
    gpus: tuple[Gpus, ...] = Field(default=("shared", "exclusive"), min_length=1, description="settings to compare")
    cluster: ClusterConfig = Field(default_factory=ClusterConfig, description="the servers")

    def same_question(self, other: CompareConfig) -> str | None:
        """Name of a field that makes results of the two incomparable, None if there is none."""
        for field in ("workload", "size_is", "cluster"):
            if getattr(self, field) != getattr(other, field):
                return field
        return None


def default_schedulers() -> list[str]:
    """All there are, and MLF-H under load control."""
    return [*scheduler_names()[: 1 + scheduler_names().index("mlf_h")], "mlf_h+mlf_c", *_after_mlf_h()]


def _after_mlf_h() -> list[str]:
    names = scheduler_names()
    return names[1 + names.index("mlf_h") :]


def compare_config(
    schedulers: list[str] | None = None,
    *,
    workload: str = "testbed",
    jobs: list[int] | None = None,
    loads: list[float] | None = None,
    seeds: int = 10,
    first_seed: int = 0,
    gpus: Literal["shared", "exclusive", "both"] = "both",
    ablations: bool = False,
    **cluster: int | None,
) -> CompareConfig:
    """Settings from what a user says.

    Args:
        schedulers: names; None for all.
        workload: ``testbed``, ``small``, ``toy`` or ``philly``.
        jobs: numbers of jobs.
        loads: or loads; without either, the workload's own: the paper's numbers of jobs for the testbed.
        seeds: how many, from `first_seed` on.
        first_seed: the first of them.
        gpus: one setting, or both side by side.
        ablations: add the schedulers that the ablations need.
        **cluster: fields of `ClusterConfig` that differ from the workload's own cluster; None: do not differ.

    Raises:
        SettingsError: a wrong value, or an unknown name.
    """
    if workload not in PRESETS:
        raise SettingsError(f"workload: found {workload!r}, expected one of {', '.join(PRESETS)}")
    if jobs and loads:
        raise SettingsError("jobs and loads: found both, expected one of them")
    if seeds < 1:
        raise SettingsError(f"seeds: found {seeds}, expected 1 or more")
    names = list(dict.fromkeys([*(schedulers or default_schedulers()), *(ablated_names() if ablations else [])]))
    for name in names:
        make_scheduler(name)  # a wrong name is found at once
    size_is, sizes = _sizes(workload, jobs, loads)
    changes: dict[str, Any] = {name: value for name, value in cluster.items() if value is not None}
    return CompareConfig.parse(
        {
            "schedulers": tuple(names),
            "workload": workload,
            "size_is": size_is,
            "sizes": sizes,
            "seeds": tuple(range(first_seed, first_seed + seeds)),
            "gpus": ("shared", "exclusive") if gpus == "both" else (gpus,),
            "cluster": ClusterConfig.parse(default_cluster(workload), **changes),
        }
    )


def _sizes(workload: str, jobs: list[int] | None, loads: list[float] | None) -> tuple[SizeIs, tuple[float, ...]]:
    known = PRESETS[workload].options
    for option, given in (("jobs", jobs), ("load", loads)):
        if given and option not in known:
            raise SettingsError(f"{option}: found {given}, expected none: the workload '{workload}' has one size")
        for size in given or []:
            check_size({option: size})
    if jobs:
        return "jobs", tuple(float(count) for count in jobs)
    if loads:
        return "load", tuple(loads)
    if workload == "testbed":
        return "jobs", PAPER_JOBS
    return ("load", DEFAULT_LOADS) if "load" in known else ("jobs", (0.0,))
