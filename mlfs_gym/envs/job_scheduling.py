"""The Gymnasium adapter: spaces, reset, step, render. What happens is in the modules beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import say_if_first_compilation
from mlfs_gym.config import ClusterConfig, RewardWeights, SimulationConfig
from mlfs_gym.envs.encoder import new_buffers
from mlfs_gym.envs.features import observation_shapes
from mlfs_gym.envs.layout import Layout, WindowConfig
from mlfs_gym.envs.play import DECIDING, expert, pass_time, play, show
from mlfs_gym.envs.presets import Preset, WorkloadSource, preset_named, workload_source
from mlfs_gym.envs.rendering import EpisodeRenderer
from mlfs_gym.envs.reward import DenseReward, PaperReward, objective
from mlfs_gym.envs.window import new_window
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.sim.engine import DONE, LIMIT
from mlfs_gym.sim.simulated_cluster import SimulatedCluster

Observation = dict[str, Array]


class JobSchedulingEnv(gym.Env[Observation, np.int64]):
    """DOC"""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 10}

    def __init__(
        self,
        preset: str = "small",
        *,
        cluster: ClusterConfig | Mapping[str, Any] | None = None,
        simulation: SimulationConfig | Mapping[str, Any] | None = None,
        workload: WorkloadSource | None = None,
        load: float | None = None,
        jobs: int | None = None,
        sharing: bool | None = None,
        preemption: bool = False,
        end_round: Literal["always", "when_blocked"] = "always",
        reward: Literal["dense", "paper"] = "dense",
        reward_weights: RewardWeights | Mapping[str, Any] | None = None,
        window: WindowConfig | Mapping[str, Any] | None = None,
        mlf_h: MLFHParams | Mapping[str, Any] | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise SettingsError(f"render_mode: found {render_mode!r}, expected one of {self.metadata['render_modes']}")
        if end_round not in ("always", "when_blocked"):
            raise SettingsError(f"end_round: found {end_round!r}, expected 'always' or 'when_blocked'")
        if reward not in ("dense", "paper"):
            raise SettingsError(f"reward: found {reward!r}, expected 'dense' or 'paper'")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise SettingsError(f"max_episode_steps: found {max_episode_steps}, expected 1 or more, or None")
        chosen: Preset = preset_named(preset)
        changes = {} if sharing is None else {"sharing": sharing}
        self.cluster_config = ClusterConfig.parse(cluster if cluster is not None else chosen.cluster)
        self.simulation_config = SimulationConfig.parse(
            simulation if simulation is not None else chosen.simulation, **changes
        )
        self.reward_weights = RewardWeights.parse(reward_weights)
        self.window_config = WindowConfig.parse(window if window is not None else chosen.window)
        self.mlf_h_params = MLFHParams.parse(
            mlf_h, move_candidates=self.window_config.moves
        )  # so that the expert's move is always on offer
        self.max_episode_steps = max_episode_steps
        self.render_mode = render_mode
        self.layout = Layout.of(self.window_config, preemption)

        self._source = workload_source(workload, chosen, self.cluster_config, load=load, jobs=jobs)
        self._reward_type = DenseReward if reward == "dense" else PaperReward
        self._end_when_blocked = end_round == "when_blocked"
        self._params = self.mlf_h_params.record()
        self._mask = np.zeros(self.layout.size, np.bool_)
        self._buffers = new_buffers(self.layout)
        self._renderer: EpisodeRenderer | None = None
        self._cluster: SimulatedCluster | None = None

        self.action_space = spaces.Discrete(self.layout.size)
        self.observation_space = spaces.Dict(
            {name: spaces.Box(-1.0, 1.0, shape, np.float32) for name, shape in observation_shapes(self.layout).items()}
        )
        say_if_first_compilation(play)

    # --- Gymnasium ---------------------------------------------------------------------------------
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode with a new workload.

        Args:
            seed: of everything random; the same seed gives the same episode.
            options: ``workload`` (a `Workload`) plays that one instead of a new draw.

        Returns:
            The first observation, and info with ``action_mask``.
        """
        super().reset(seed=seed)
        workload = self._draw_workload(options or {})
        self._cluster = SimulatedCluster(
            workload, self.cluster_config, self.simulation_config, seed=int(self.np_random.integers(2**63))
        )
        state = self._cluster.state
        self._window = new_window(self.layout, len(state.jobs), int(state.jobs["partitions"].max()))
        self._facts = _facts(state)
        self._steps = 0
        self._invalid_actions = 0
        self._reward = self._reward_type(state, self.reward_weights)
        pass_time(state, self._window)
        show(state, self._window, self._params, self._facts, self._end_when_blocked, self._mask, self._buffers)
        # Nothing has been decided yet, but jobs may have waited for their first round.
        self._carried = self._reward.step(state)
        if self.render_mode is not None:
            self._renderer = EpisodeRenderer(self.render_mode, state, self.metadata["render_fps"])
            self._renderer.record(state)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out one action; see the class for what it means.

        Returns:
            Observation, reward, terminated, truncated, info.
        """
        state = self.cluster.state
        number = int(action)
        valid = 0 <= number < self.layout.size and bool(self._mask[number])
        if not valid:
            self._invalid_actions += 1
            number = self.layout.end
        reason = play(
            state,
            self._window,
            self._params,
            self._facts,
            number,
            self._end_when_blocked,
            self._mask,
            self._buffers,
        )
        self._steps += 1
        terms = self._reward.step(state)
        if self._carried is not None:
            terms = {name: value + self._carried[name] for name, value in terms.items()}
            self._carried = None
        terminated = reason == DONE
        truncated = not terminated and (
            reason == LIMIT or (self.max_episode_steps is not None and self._steps >= self.max_episode_steps)
        )
        info = self._info()
        info["reward_terms"] = terms
        info["invalid_action"] = not valid
        if terminated or truncated:
            info["metrics"] = metrics(state)
            info["objective"] = objective(state, self.reward_weights, self._reward.references)
        if self._renderer is not None and reason != DECIDING:
            self._renderer.record(state)
        if self.render_mode == "human":
            self.render()
        return self._observation(), sum(terms.values()), terminated, truncated, info

    def render(self) -> str | Array | None:  # type: ignore[override]
        """A text (``ansi``), an image of shape (H, W, 3), uint8 (``rgb_array``), or a window (``human``)."""
        if self._renderer is None:
            if self.render_mode is None:
                gym.logger.warn("render() was called without a render_mode; pass one to gym.make.")
                return None
            raise gym.error.ResetNeeded("Cannot call render() before reset()")
        return self._renderer.render(self.cluster.state)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # --- beyond Gymnasium --------------------------------------------------------------------------
    @property
    def cluster(self) -> SimulatedCluster:
        """The simulated cluster of this episode."""
        if self._cluster is None:
            raise gym.error.ResetNeeded("Call reset() before using the cluster")
        return self._cluster

    def action_masks(self) -> Array:
        """Which actions are valid now, shape (A,), bool. The name is what sb3-contrib looks for."""
        return self._mask.copy()

    def expert_action(self) -> int:
        """What MLF-H would do now, as an action of this environment. Always valid."""
        return int(expert(self.cluster.state, self._window, self._params))

    def fresh_cluster(self) -> SimulatedCluster:
        """This episode's cluster at time 0, to play the same episode with a scheduler."""
        cluster = self.cluster
        return SimulatedCluster(
            cluster.workload,
            self.cluster_config,
            self.simulation_config,
            seed=int(cluster.state.clock["seed"][0]),
        )

    # --- helpers -----------------------------------------------------------------------------------
    def _draw_workload(self, options: dict[str, Any]) -> Any:
        unknown = set(options) - {"workload"}
        if unknown:
            raise SettingsError(f"reset options: found {sorted(unknown)}, expected only 'workload'")
        if options.get("workload") is not None:
            return options["workload"]
        return self._source(self.np_random)

    def _observation(self) -> Observation:
        return {name: getattr(self._buffers, name).copy() for name in self.observation_space.spaces}

    def _info(self) -> dict[str, Any]:
        clock = self.cluster.state.clock[0]
        return {
            "action_mask": self._mask.astype(np.int8),
            "time": float(clock["time"]),
            "jobs_done": int(clock["num_done"]),
            "invalid_actions": self._invalid_actions,
        }


def _facts(state: State) -> Array:
    """Number of jobs, their mean ideal run time, and the load of the episode."""
    jobs = state.jobs
    run_time = jobs["max_iterations"] * jobs["ideal_iteration_time"]
    span = max(1.0, float(np.ptp(jobs["arrival"])))
    return np.array([len(jobs), run_time.mean(), (run_time * jobs["num_gpus"]).sum() / span / len(state.gpus)])
