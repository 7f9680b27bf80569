"""Settings of a training run, and presets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.agents.task import TaskConfig
from mlfs_gym.config import Settings
from mlfs_gym.errors import SettingsError


class CloningConfig(Settings):
    """Behaviour cloning of the expert's demonstrations."""

    episodes: int = Field(
        default=150, ge=2, le=1_000_000, description="demonstrations of the expert, played to the end"
    )
    epochs: int = Field(default=12, ge=1, le=10_000, description="passes over all demonstrations")
    batch_size: int = Field(default=256, ge=2, le=1_000_000, description="decisions per gradient step")
    learning_rate: float = Field(default=1e-3, gt=0, le=1, description="at the beginning; falls to a tenth as a cosine")


class PPOConfig(Settings):
    """Fine-tuning by MaskablePPO."""

    steps: int = Field(default=400_000, ge=1, le=10**10, description="decisions, over all environments")
    num_envs: int = Field(default=16, ge=1, le=4096, description="environments")
    steps_per_env: int = Field(default=256, ge=8, le=100_000, description="decisions per environment and rollout")
    batch_size: int = Field(default=512, ge=2, le=1_000_000, description="decisions per gradient step")
    epochs: int = Field(default=4, ge=1, le=1000, description="passes over each rollout")
    learning_rate: float = Field(default=7e-4, gt=0, le=1, description="at the beginning; falls linearly to a tenth")
    gamma: float = Field(default=0.995, gt=0, le=1, description="discount per decision")
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="of generalised advantage estimation")
    clip_range: float = Field(default=0.2, gt=0, le=1, description="of the probability ratio")
    entropy: float = Field(default=0.002, ge=0, le=10, description="weight of the entropy bonus")
    target_kl: float | None = Field(default=0.05, gt=0, description="ends the passes over a rollout; None: never")
    max_gradient_norm: float = Field(default=0.5, gt=0, description="of actor and critic, each for itself")
    reward_scale: float = Field(default=50.0, gt=0, description="the learner sees rewards times this")
    value_warm_up: int = Field(default=16_384, ge=0, description="decisions in which only the critic learns")
    imitation: float = Field(default=0.1, ge=0, description="weight of the imitation term at the beginning")
    imitation_steps: int = Field(default=150_000, ge=0, description="decisions over which that weight fades to 0")


class EvaluationConfig(Settings):
    """Evaluation on held-out seeds."""

    validation_seeds: int = Field(default=16, ge=1, le=10_000, description="episodes that choose the best policy")
    every: int = Field(default=16_384, ge=1, description="decisions between two validations")
    test_seeds: int = Field(default=30, ge=1, le=10_000, description="episodes of the final comparison")
    compare_with: tuple[str, ...] = Field(
        default=("mlf_h", "fifo", "srtf"), min_length=1, description="schedulers; a text holds one, or some with commas"
    )

    @field_validator("compare_with", mode="before")
    @classmethod
    def _names_in_a_text(cls, given: Any) -> Any:
        return tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else given


class TrainConfig(Settings):
    """A whole training run."""

    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="of everything random")
    task: TaskConfig = Field(default_factory=TaskConfig)
    cloning: CloningConfig = Field(default_factory=CloningConfig)
    ppo: PPOConfig = Field(default_factory=PPOConfig)
    evaluation: EvaluationConfig = Field(default_factory=EvaluationConfig)
    hidden: int = Field(default=64, ge=4, le=4096, description="width of the networks")
    checkpoint_every: int = Field(default=16_384, ge=1, description="decisions between two checkpoints")
    device: str = Field(default="cpu", description="where PyTorch computes: cpu, cuda, auto. Small networks: cpu")

    @field_validator("device")
    @classmethod
    def _check_device(cls, device: str) -> str:
        if re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", device) is None:
            raise PydanticCustomError("device", "cpu, cuda, cuda:NUMBER, mps or auto")
        return device


PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    # About five minutes on two cores, compilation included.
    "quick": {
        "cloning": {"episodes": 100, "epochs": 6},
        "ppo": {"steps": 262_144, "value_warm_up": 8_192, "imitation_steps": 65_536},
        "evaluation": {"validation_seeds": 12, "every": 16_384, "test_seeds": 20},
    },
    "full": {},
    # The rival "RL" of the paper: the same pipeline, rewarded for JCT alone.
    "rl": {"task": {"reward_weights": {"jct": 0.5, "deadline": 0, "bandwidth": 0, "guarantee": 0, "accuracy": 0}}},
}
"""What differs from the defaults of `TrainConfig`."""


def train_config(preset: str = "full", **changes: Any) -> TrainConfig:
    """Settings of a preset.

    Args:
        preset: one of `PRESETS`.
        **changes: fields of `TrainConfig`; of a field that holds settings of its own, a mapping of those to change.

    Raises:
        SettingsError: one line that names the wrong field.
    """
    if preset not in PRESETS:
        raise SettingsError(f"preset: found {preset!r}, expected one of {', '.join(PRESETS)}")
    values = dict(PRESETS[preset])
    for name, change in changes.items():
        known = values.get(name)
        values[name] = {**known, **change} if isinstance(known, Mapping) and isinstance(change, Mapping) else change
    config = TrainConfig.parse(values)
    check_device_is_here(config.device)
    return config


def check_device_is_here(device: str) -> None:
    """Refuse a device that this machine lacks; PyTorch would do so late and at length.

    Raises:
        SettingsError: there is no such device.
    """
    if device in ("auto", "cpu"):
        return
    import torch

    if device == "mps":
        if not torch.backends.mps.is_available():
            raise SettingsError("device: found 'mps', expected cpu or auto: PyTorch finds no GPU of Apple's here")
        return
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        build = "is a build without CUDA" if torch.version.cuda is None else "finds no NVIDIA GPU here"
        raise SettingsError(f"device: found {device!r}, expected cpu or auto: PyTorch {torch.__version__} {build}")
    if int(device.partition(":")[2] or 0) >= count:
        raise SettingsError(f"device: found {device!r}, expected cuda:0 to cuda:{count - 1}, which PyTorch finds here")
