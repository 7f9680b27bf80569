"""What is learned: an environment with its settings, and how to make copies of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from pydantic import Field

from mlfs_gym.config import RewardWeights, Settings
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv
from mlfs_gym.envs.vector import VectorJobSchedulingEnv
from mlfs_gym.envs.wrappers import SkipForcedActions
from mlfs_gym.errors import SettingsError
from mlfs_gym.registration import register_environments
from mlfs_gym.workloads.traces.read import read_trace
from mlfs_gym.workloads.traces.trace import Trace

Part = Literal["training", "validation", "test"]

HELD_OUT: Mapping[Part, int] = {"validation": 1_000_000_000, "test": 2_000_000_000}
"""First seed of the episodes that choose the best policy, and of those that judge it. Training seeds are smaller."""

LARGEST_TRAINING_SEED = 1_000_000_000 - 1

TRACE_PARTS: Mapping[Part, tuple[float, float]] = {"training": (0.0, 0.7), "validation": (0.7, 0.8), "test": (0.8, 1.0)}
"""Which jobs of a trace each part draws windows from, by order of arrival."""


class TaskConfig(Settings):
    """The environment to learn in."""

    env: str = Field(default="mlfs_gym/JobScheduling-v0", description="id of a registered environment")
    load: float | None = Field(default=None, gt=0, le=1000, description="target load; None: the environment's own")
    jobs: int | None = Field(default=None, ge=1, le=1_000_000, description="jobs per episode; None: its own")
    sharing: bool | None = Field(default=None, description="may tasks share a GPU? None: the environment's own")
    preemption: bool = Field(default=False, description="may the policy preempt?")
    load_control: bool = Field(default=False, description="does MLF-C end jobs early, for all who play?")
    reward_weights: RewardWeights = Field(default_factory=RewardWeights, description="of the objective")
    trace: Path | None = Field(default=None, description="episodes are windows of this trace file")
    trace_format: str = Field(default="auto", description="format of the trace")
    trace_on_error: Literal["raise", "skip"] = Field(default="raise", description="what to do at a bad row of it")


class Task:
    """An environment to learn in.

    Args:
        config: which one.

    Raises:
        SettingsError: the id is unknown or not of this package.
        TraceError: the trace cannot be read, or holds too few jobs.
    """

    def __init__(self, config: TaskConfig) -> None:
        self.config = config
        register_environments()
        self._env_class, self._env_options = _environment(config.env)
        trace = None
        if config.trace is not None:
            trace = read_trace(config.trace, config.trace_format, config.trace_on_error)
        self._workloads: dict[Part, Trace | None] = {part: _part_of(trace, part) for part in TRACE_PARTS}

    def make(self, part: Part, render_mode: str | None = None) -> JobSchedulingEnv:
        """The environment itself, over one part of the jobs."""
        # Not gym.make: it copies arguments deeply, and there would be a trace in each copy of the environment.
        return self._env_class(**self._options(part), render_mode=render_mode)

    def make_for_learning(self, part: Part) -> SkipForcedActions:
        """The environment that asks only where there is a choice."""
        return SkipForcedActions(self.make(part))

    def make_vector(self, part: Part, copies: int) -> VectorJobSchedulingEnv:
        """Many copies of that one."""
        return VectorJobSchedulingEnv(
            copies, **self._options(part), autoreset_mode=AutoresetMode.SAME_STEP, skip_forced=True
        )

    def _options(self, part: Part) -> dict[str, Any]:
        given: dict[str, Any] = {"load": self.config.load, "jobs": self.config.jobs, "sharing": self.config.sharing}
        given["workload"] = self._workloads[part]
        return {
            **self._env_options,
            **{name: value for name, value in given.items() if value is not None},
            "preemption": self.config.preemption,
            "load_control": self.config.load_control,
            "reward_weights": self.config.reward_weights,
            # One logit that ends the round stands against a mass that is split over many placements, and argmax would
            # end most rounds.
            "end_round": "when_blocked",
        }


def core(env: gym.Env[Any, Any]) -> JobSchedulingEnv:
    """The environment inside all wrappers."""
    inside = env.unwrapped
    assert isinstance(inside, JobSchedulingEnv)
    return inside


def held_out_seeds(part: Part, count: int) -> list[int]:
    """Seeds of the episodes of a held-out part. No training episode has one of them."""
    return [HELD_OUT[part] + index for index in range(count)]


def training_seeds(rng: np.random.Generator, count: int) -> list[int]:
    """Seeds for training episodes."""
    return [int(seed) for seed in rng.integers(LARGEST_TRAINING_SEED + 1, size=count)]


def _environment(env_id: str) -> tuple[type[JobSchedulingEnv], dict[str, Any]]:
    """Class and options of a registered environment."""
    if env_id in gym.registry:
        spec = gym.spec(env_id)
        env_class = _loaded(spec.entry_point)
        if isinstance(env_class, type) and issubclass(env_class, JobSchedulingEnv):
            return env_class, spec.kwargs
    known = ", ".join(name for name in gym.registry if name.startswith("mlfs_gym/"))
    raise SettingsError(f"env: found {env_id!r}, expected one of {known}")


def _loaded(entry_point: Any) -> Any:
    return gym.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def _part_of(trace: Trace | None, part: Part) -> Trace | None:
    if trace is None:
        return None
    begin, end = (int(share * len(trace)) for share in TRACE_PARTS[part])
    if end <= begin:
        raise SettingsError(
            f"trace {trace.file}: found {len(trace)} jobs, expected enough for training and for tests (10)"
        )
    return trace.taking(slice(begin, end))
