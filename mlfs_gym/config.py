"""Validated settings. Frozen; units stand in the names. Errors name the field and the fix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.errors import SettingsError

_WORDINGS: Final = (
    (r"^Field required$", "a value"),
    (r"^Value error, ", ""),
    (r"^\w+ should (be|have) ", ""),
    (r"^(greater|less) than", r"a number \1 than"),
    (r" after validation, not \d+$", ""),
)

S = TypeVar("S", bound="Settings")


class Settings(BaseModel):
    """Base of all settings: frozen, no unknown keys, no infinities where they make no sense."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def parse(cls: type[S], values: S | Mapping[str, Any] | None = None, **changes: Any) -> S:
        """Settings from a mapping or from other settings, with changes.

        Raises:
            SettingsError: one line that names each wrong field, what was found and what is expected.
        """
        if isinstance(values, Settings):
            values = {name: getattr(values, name) for name in values.model_fields_set}
        try:
            return cls(**{**(values or {}), **changes})
        except ValidationError as error:
            raise SettingsError(_one_line(cls, error)) from None


def _one_line(settings: type[BaseModel], error: ValidationError) -> str:
    complaints = []
    for item in error.errors():
        field = ".".join(str(part) for part in item["loc"]) or "(all)"
        if item["type"] == "extra_forbidden":
            known = ", ".join(_fields_around(settings, item["loc"]))
            complaints.append(f"field '{field}' is unknown (known: {known})")
        else:
            found = "nothing" if item["type"] == "missing" else repr(item["input"])
            complaints.append(f"field '{field}': found {found}, expected {_expected(item['msg'])}")
    return f"{settings.__name__}: " + "; ".join(complaints)


def _expected(message: str) -> str:
    """What Pydantic says, to go on after "expected"."""
    for pattern, replacement in _WORDINGS:
        message = re.sub(pattern, replacement, message)
    return f"{message[:1].lower()}{message[1:]}"


def _fields_around(settings: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Fields that are known where an unknown one was found, in settings inside of settings."""
    for part in path[:-1]:
        field = settings.model_fields.get(str(part))
        inner = field.annotation if field is not None else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        settings = inner
    return list(settings.model_fields)


class ServerGroup(Settings):
    """Servers with the same number of GPUs."""

    servers: int = Field(ge=1, le=100_000, description="number of servers")
    gpus_per_server: int = Field(ge=1, le=64, description="GPUs in each server")


class ClusterConfig(Settings):
    """A cluster of servers that are equal but for the number of their GPUs."""

    servers: int = Field(default=5, ge=1, le=100_000, description="number of servers, but for smaller ones")
    gpus_per_server: int = Field(default=4, ge=1, le=64, description="GPUs in each of them")
    smaller_servers: tuple[ServerGroup, ...] = Field(
        default=(), description="groups of further servers with fewer GPUs, in falling order of GPUs"
    )
    gpu_memory_gib: float = Field(default=16.0, gt=0, le=4096, description="memory of one GPU (V100: 16 GiB)")
    gpu_speed: float = Field(default=1.0, gt=0, le=1000, description="compute relative to the profiles' V100")
    cpu_cores: float = Field(default=32.0, gt=0, le=100_000, description="CPU cores of a server (p3.8xlarge: 32)")
    memory_gib: float = Field(default=244.0, gt=0, le=1e6, description="host memory of a server (p3.8xlarge: 244 GiB)")
    nic_gbit_per_s: float = Field(
        default=10.0, gt=0, le=1e6, description="network bandwidth of a server (p3.8xlarge: 10 Gbit/s)"
    )

    @field_validator("smaller_servers")
    @classmethod
    def _check_order(cls, groups: tuple[ServerGroup, ...], info: ValidationInfo) -> tuple[ServerGroup, ...]:
        sizes = [info.data.get("gpus_per_server", 64), *(group.gpus_per_server for group in groups)]
        if any(size >= before for before, size in pairwise(sizes)):
            raise PydanticCustomError("order", "fewer GPUs in each group of servers than in the one before")
        return groups

    @property
    def server_sizes(self) -> tuple[int, ...]:
        """GPUs of each server, the largest first."""
        groups = ((self.servers, self.gpus_per_server), *((g.servers, g.gpus_per_server) for g in self.smaller_servers))
        return tuple(size for servers, size in groups for _ in range(servers))

    @property
    def total_servers(self) -> int:
        """Servers of the whole cluster."""
        return self.servers + sum(group.servers for group in self.smaller_servers)

    @property
    def total_gpus(self) -> int:
        """GPUs in the whole cluster."""
        smaller = sum(group.servers * group.gpus_per_server for group in self.smaller_servers)
        return self.servers * self.gpus_per_server + smaller

    def __str__(self) -> str:
        groups = [(self.servers, self.gpus_per_server), *((g.servers, g.gpus_per_server) for g in self.smaller_servers)]
        return " + ".join(f"{servers} x {gpus} GPUs" for servers, gpus in groups)


class SimulationConfig(Settings):
    """How time passes."""

    sharing: bool = Field(default=True, description="several tasks may share a GPU")
    contention: bool = Field(default=True, description="oversubscribed GPU, CPU and NIC slow down what runs on them")
    round_seconds: float = Field(
        default=60.0, gt=0, le=86_400, description="the scheduler decides at multiples of this time"
    )
    redraw_seconds: float = Field(default=600.0, gt=0, le=1e7, description="period of the demand fluctuation")
    fluctuation: float = Field(default=0.3, ge=0, lt=1, description="demand factors are uniform in [1 - f, 1 + f]")
    # Restart costs by size: the figures of the Helios simulator (Hu et al., SC 2021).
    restart_one_gpu_seconds: float = Field(
        default=7.0, ge=0, le=1e6, description="restart after eviction or move, 1 GPU"
    )
    restart_up_to_8_seconds: float = Field(default=30.0, ge=0, le=1e6, description="the same, 2 to 8 GPUs")
    restart_larger_seconds: float = Field(default=60.0, ge=0, le=1e6, description="the same, more than 8 GPUs")
    overload_threshold: float = Field(
        default=0.9, gt=0, le=10, description="hr: a server above it counts as overloaded"
    )
    time_limit_seconds: float = Field(default=1e9, gt=0, le=1e9, description="the simulation ends here at the latest")


class RewardWeights(Settings):
    """Weights of the objective, eq. 1 and 7 (CoNEXT 2020, sections 3.2 and 3.4; ToN 2022)."""

    jct: float = Field(default=0.5, ge=0, description="b1: average job completion time")
    deadline: float = Field(default=0.55, ge=0, description="b2: deadline guarantee ratio")
    bandwidth: float = Field(default=0.25, ge=0, description="b3: bytes between servers")
    guarantee: float = Field(default=0.15, ge=0, description="b4: accuracy guarantee ratio")
    accuracy: float = Field(default=0.15, ge=0, description="b5: average accuracy by the deadline")
