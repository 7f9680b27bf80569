"""The Gymnasium adapter: spaces, reset, step, render. What happens is in the modules beside this one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import ClusterConfig, RewardWeights, SimulationConfig
from mlfs_gym.envs.batch import Batch
from mlfs_gym.envs.features import observation_shapes
from mlfs_gym.envs.layout import Layout, WindowConfig
from mlfs_gym.envs.play import DECIDING
from mlfs_gym.envs.presets import HIGHEST_SEED, Preset, WorkloadSource, preset_named, workload_source
from mlfs_gym.envs.rendering import EpisodeRenderer, available_modes, check_mode
from mlfs_gym.envs.reward import TERMS, References, objective
from mlfs_gym.envs.snapshot import Snapshot
from mlfs_gym.envs.window import Window
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads.workload import Workload

Observation = dict[str, Array]


class JobSchedulingEnv(gym.Env[Observation, np.int64]):
    """Schedule distributed machine-learning trainings on a GPU cluster.

    ## Description
    Jobs arrive over time. Each is a training of R data-parallel replicas, each cut into P model partitions that
    form a graph; it has an urgency, a deadline and an accuracy that its owner asks for. Once a minute of simulated
    time, if there is something to decide, the agent is the cluster's scheduler: it places replicas one by one,
    moves tasks out of overloaded servers and, where allowed, preempts jobs, until it ends the round. Then time
    passes: jobs train, slow each other down, learn, finish. The system, its heuristic and its objective are those
    of MLFS (Wang, Liu and Shen, CoNEXT 2020, doi 10.1145/3386367.3432588; IEEE/ACM ToN 2022, doi
    10.1109/TNET.2022.3190797).

    ## Action Space
    `Discrete(K * C + M * C + Q + 1)`, with the window sizes K = `slots`, C = `candidates`, M = `moves` and, with
    `preemption=True`, Q = `running` (else 0):

    | Number | Meaning |
    |---|---|
    | k * C + c | place a replica of the job in slot k, its first task on candidate server c, the rest as MLF-H would |
    | K * C + m * C + c | move candidate task m, from an overloaded server, to its candidate server c |
    | (K + M) * C + q | preempt job q of the running window |
    | (K + M) * C + Q | end the round |

    `env.unwrapped.layout` converts between numbers and meanings. Invalid actions are masked: `action_masks()` (bool,
    what sb3-contrib asks for) and `info["action_mask"]` (int8, what `action_space.sample(mask)` takes). An invalid
    action never raises: it ends the round and is counted in `info["invalid_actions"]`. Ending the round is masked while
    a placement is possible and nothing runs or will arrive; with `end_round="when_blocked"`, while any placement is
    possible. A job is preempted at most once a round and not in the round that placed it, so every round ends.

    Slots hold waiting jobs in order of arrival. If more than K wait, those that fit now and have the highest MLF-H
    priority are shown. Candidates are the C servers nearest to MLF-H's ideal virtual server, in order of their number.
    MLF-H's own choice, `env.unwrapped.expert_action()`, is always among them.

    ## Observation Space
    `Dict` of vectors, `Box(-1, 1, float32)`. Most hold a table row by row: `as_rows(observation)` of
    `mlfs_gym.envs.features` gives them these shapes, for batches too. Names and scales of all features stand there:

    | Key | Rows and features | Content |
    |---|---|---|
    | `cluster` | (12,) | utilisation, free GPUs, overload, queue |
    | `jobs` | (K, 31) | one row for each slot: request, progress, accuracy, times, model |
    | `pairs` | (K, C, 11) | candidate servers of each slot as that job sees them |
    | `moves` | (M, 12) | tasks that may leave overloaded servers |
    | `move_pairs` | (M, C, 11) | their candidate servers |
    | `running` | (Q, 31) | running jobs, only with `preemption=True`; `fits` means that it may be preempted |
    | `progress` | (6,) | how far the episode is; meant for critics |

    ## Rewards
    `reward="dense"` (default): the undiscounted sum over an episode equals, exactly, the blended objective

        - b1 * mean JCT / JCT_ref + b2 * deadline ratio + b4 * accuracy-guarantee ratio
        + b5 * mean accuracy - b3 * bytes / B_ref

    with b = (0.5, 0.55, 0.25, 0.15, 0.15) as published (eqs 1 and 7), JCT_ref the mean ideal run time and B_ref the
    largest possible traffic of the episode's own workload. `info["reward_terms"]` has the five terms of each step,
    `info["objective"]` the objective at the end. `reward="paper"`: eq. 7 as printed, over the jobs that ended in the
    step.

    ## Starting State
    An empty cluster at the first round, with the first job waiting. The workload is drawn anew from the seed.

    ## Episode End
    Terminates when all jobs have ended. Truncates at `simulation.time_limit_seconds` or after `max_episode_steps`. At
    the end `info["metrics"]` has every metric of the paper, see `mlfs_gym.report.metrics.METRICS`.

    ## Arguments
    ```python
    import gymnasium as gym
    import mlfs_gym

    env = gym.make("mlfs_gym/JobScheduling-v0", load=1.3, preemption=True)
    ```

    Args:
        preset: "small" (5 servers x 4 exclusive GPUs, 60 to 150 jobs at load 1.6), "testbed" (20 x 4 shared GPUs, one
            week, 620 jobs) or "philly" (550 servers with 2,474 exclusive GPUs, 117,325 jobs at load 1; with `jobs`, a
            new window of so many jobs in each episode).
        cluster: `ClusterConfig`, or a mapping of its fields.
        simulation: `SimulationConfig`, or a mapping: rounds, fluctuation, restart costs, time limit.
        workload: a `Workload` (the same in each episode), a `Trace` (a random window in each), a name ("small",
            "testbed", "toy", "philly"), or a function of a `numpy.random.Generator`; None for the preset's.
        load: ideal GPU-seconds per GPU-second of the arrival span.
        jobs: number of jobs.
        sharing: True if several tasks may share a GPU; None for the preset's setting.
        preemption: True to add preempt actions.
        load_control: True to let MLF-C end jobs early, as their owners permit, whatever the agent does.
        end_round: when the round may be ended, see above.
        reward: "dense" or "paper".
        reward_weights: `RewardWeights`, or a mapping: jct, deadline, bandwidth, guarantee, accuracy.
        window: `WindowConfig`, or a mapping: slots, candidates, moves, running.
        mlf_h: `MLFHParams` of the expert and of the placement rules, or a mapping.
        mlf_c: `MLFCParams` of the load control, or a mapping. Migration is the agent's own.
        max_episode_steps: truncates after so many steps, with metrics. (`gym.make` keeps the argument of this name for
            its own wrapper, which knows no metrics; construct the class, or read `report.metrics.metrics` yourself.)
        render_mode: "ansi", "rgb_array" or, with the extra `human` (pygame), "human".

    Raises:
        SettingsError: if an argument is wrong; the message names the field and what is expected.

    ## Version History
    * v0: initial version.
    """

    metadata: dict[str, Any] = {"render_modes": available_modes(), "render_fps": 10}  # noqa: RUF012 (Gymnasium's form)

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
        load_control: bool = False,
        end_round: Literal["always", "when_blocked"] = "always",
        reward: Literal["dense", "paper"] = "dense",
        reward_weights: RewardWeights | Mapping[str, Any] | None = None,
        window: WindowConfig | Mapping[str, Any] | None = None,
        mlf_h: MLFHParams | Mapping[str, Any] | None = None,
        mlf_c: MLFCParams | Mapping[str, Any] | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_mode(render_mode)
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
        self.load_control = load_control
        self.mlf_c_params = MLFCParams.parse(mlf_c)
        if self.mlf_c_params.opt_stop != "optimal_stopping":
            raise SettingsError("mlf_c.opt_stop: found 'learning_curve', expected 'optimal_stopping' in an environment")
        self.max_episode_steps = max_episode_steps
        self.render_mode = render_mode
        self.layout = Layout.of(self.window_config, preemption)

        self.end_round, self.reward = end_round, reward
        self._source = workload_source(workload, chosen, self.cluster_config, load=load, jobs=jobs)
        self._batch = self.new_batch(1)
        self._renderer: EpisodeRenderer | None = None

        self.action_space = spaces.Discrete(self.layout.size)
        shapes = observation_shapes(self.layout)
        # Flat: Stable-Baselines3 takes boxes of more than one dimension for images.
        space: Any = spaces.Dict(
            {name: spaces.Box(-1.0, 1.0, (math.prod(shape),), np.float32) for name, shape in shapes.items()}
        )
        self.observation_space = space
        self._parts = [(name, self._batch.parts[name]) for name in shapes]

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
        cluster = self.draw_cluster(self.np_random, options)
        self._batch.begin({0: cluster})
        if self.render_mode is not None:
            self._renderer = EpisodeRenderer(self.render_mode, cluster.state, self.metadata["render_fps"])
            self._renderer.record(cluster.state)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info(self._batch.result)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out one action; see the class for what it means.

        Returns:
            Observation, reward, terminated, truncated, info.
        """
        state = self.cluster.state
        self._batch.step_one(int(action))
        result = self._batch.result
        reward, terms, _, _, _, invalid, terminated, truncated, reason = result
        info = self._info(result)
        info["reward_terms"] = dict(zip(TERMS, terms.tolist(), strict=True))
        info["invalid_action"] = invalid == 1
        if terminated or truncated:
            info["metrics"] = metrics(state)
            info["objective"] = objective(info["metrics"], self.reward_weights, References.of(state))
        if self._renderer is not None and reason != DECIDING:
            self._renderer.record(state)
        if self.render_mode == "human":
            self.render()
        return self._observation(), reward, terminated == 1, truncated == 1, info

    def render(self) -> str | Array | None:
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
        cluster = self._batch.clusters[0]
        if cluster is None:
            raise gym.error.ResetNeeded("Call reset() before using the cluster")
        return cluster

    @property
    def window(self) -> Window:
        """What the numbers of the actions stand for now: jobs of the slots, candidate servers, tasks that may move."""
        return self._batch.window(0)

    def action_masks(self) -> Array:
        """Which actions are valid now, shape (A,), bool. The name is what sb3-contrib looks for."""
        return self._batch.masks[0].copy()

    def expert_action(self) -> int:
        """What MLF-H would do now, as an action of this environment. Always valid."""
        return int(self._batch.experts()[0])

    def fresh_cluster(self) -> SimulatedCluster:
        """This episode's cluster at time 0, to play the same episode with a scheduler."""
        return self.cluster.again()

    def clone_state(self) -> Snapshot:
        """This point of the episode, to come back to with `restore_state`; for planning."""
        return self._batch.clone(0)

    def restore_state(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Go back to a point of this episode. Returns observation and info as they were there."""
        self._batch.restore(0, snapshot)
        return self._observation(), self._info(self._batch.result)

    # --- for vector environments ---------------------------------------------------------------------
    def new_batch(self, copies: int, skip_forced: bool = False, threads: int = 1) -> Batch:
        """Room for episodes of this environment side by side.

        Args:
            copies: how many.
            skip_forced: True to carry out single valid actions at once.
            threads: copies are shared out to so many.
        """
        return Batch(
            copies,
            self.layout,
            self.mlf_h_params.record(),
            self.reward_weights,
            paper_reward=self.reward == "paper",
            load_control=self.mlf_c_params if self.load_control else None,
            end_when_blocked=self.end_round == "when_blocked",
            skip_forced=skip_forced,
            max_steps=self.max_episode_steps,
            threads=threads,
        )

    def draw_cluster(self, rng: np.random.Generator, options: dict[str, Any] | None = None) -> SimulatedCluster:
        """A fresh cluster with a new workload, all drawn from `rng`; options as for `reset`."""
        workload = self._draw_workload(rng, options or {})
        return SimulatedCluster(
            workload, self.cluster_config, self.simulation_config, seed=int(rng.integers(HIGHEST_SEED))
        )

    # --- helpers -----------------------------------------------------------------------------------
    def _draw_workload(self, rng: np.random.Generator, options: dict[str, Any]) -> Workload:
        unknown = set(options) - {"workload"}
        if unknown:
            raise SettingsError(f"reset options: found {sorted(unknown)}, expected only 'workload'")
        if options.get("workload") is not None:
            given: Workload = options["workload"]
            return given
        return self._source(rng)

    def _observation(self) -> Observation:
        row = self._batch.observations[0].copy()
        return {name: row[part] for name, part in self._parts}

    def _info(self, result: tuple[Any, ...]) -> dict[str, Any]:
        return {
            "action_mask": self._batch.masks[0].astype(np.int8),
            "time": result[2],
            "jobs_done": result[3],
            "invalid_actions": result[4],
        }
