"""The native vector environment: all copies in one compiled call."""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv, Observation
from mlfs_gym.envs.play import DECIDING
from mlfs_gym.envs.rendering import EpisodeRenderer
from mlfs_gym.envs.snapshot import Snapshot
from mlfs_gym.envs.vector_info import add_ends, add_states, add_steps
from mlfs_gym.errors import SettingsError
from mlfs_gym.sim.simulated_cluster import SimulatedCluster

ENOUGH_FOR_A_THREAD = 24
"""Copies: with fewer, waking a thread takes longer than it saves."""


class VectorJobSchedulingEnv(VectorEnv[Observation, Array, Array]):
    """Many copies of `JobSchedulingEnv`, stepped by one compiled call; each has workloads and seeds of its own.

    What a copy sees, earns and is told is the same to the bit as in a single environment with the same seed, and
    infos have the form that Gymnasium's `SyncVectorEnv` gives them::

        envs = gym.make_vec("mlfs_gym/JobScheduling-v0", num_envs=64, vectorization_mode="vector_entry_point")
        observations, infos = envs.reset(seed=0)
        masks = infos["action_mask"]  # (64, A)

    Args:
        num_envs: number of copies.
        preset: as for `JobSchedulingEnv`.
        autoreset_mode: when a copy whose episode has ended begins a new one: at the next step, whose action is then
            ignored (`NEXT_STEP`), or at once, with ``final_obs`` and ``final_info`` in the infos (`SAME_STEP`). With
            `DISABLED`, call ``reset(options={"reset_mask": ended})``.
        copy: False returns the same arrays at each step, for those who have done with them by then.
        threads: copies are shared out to so many; None: as many as there are cores, if there are copies enough.
        skip_forced: True to ask only where there is a choice, as the wrapper `SkipForcedActions` does.
        render_mode: ``ansi`` or ``rgb_array``; `render` gives one frame for each copy.
        **options: all other arguments of `JobSchedulingEnv`.

    Raises:
        SettingsError: if an argument is wrong; the message names the field and what is expected.
    """

    def __init__(
        self,
        num_envs: int = 1,
        preset: str = "small",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        threads: int | None = None,
        skip_forced: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise SettingsError(f"num_envs: found {num_envs}, expected 1 or more")
        if render_mode == "human":
            raise SettingsError("render_mode: found 'human', expected None, 'ansi' or 'rgb_array' for many copies")
        if threads is not None and threads < 1:
            raise SettingsError(f"threads: found {threads}, expected 1 or more, or None")
        self._template = JobSchedulingEnv(preset, render_mode=render_mode, **options)
        self.num_envs, self.render_mode, self.copy = num_envs, render_mode, copy
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**JobSchedulingEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.layout = self._template.layout
        self.single_action_space = self._template.action_space
        self.single_observation_space = self._template.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        used = threads if threads is not None else min(os.cpu_count() or 1, num_envs // ENOUGH_FOR_A_THREAD)
        self._batch = self._template.new_batch(num_envs, skip_forced, threads=max(1, min(used, num_envs)))
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.zeros(num_envs, np.bool_)
        self._renderers: list[EpisodeRenderer | None] = [None] * num_envs

    # --- Gymnasium ---------------------------------------------------------------------------------
    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: one for each copy; a number stands for itself and the numbers after it.
            options: ``workload`` as for a single environment; ``reset_mask``, shape (N,), bool: which copies.
        """
        options = dict(options or {})
        which = self._checked_mask(options.pop("reset_mask", None))
        seeds = self._seeds(seed)
        for copy in np.flatnonzero(which).tolist():
            if seeds[copy] is not None:
                self._rngs[copy], _ = seeding.np_random(seeds[copy])
        self._begin(which, options)
        infos: dict[str, Any] = {}
        add_states(infos, self._batch, which)
        return self._observations(), infos

    def step(self, actions: Array) -> tuple[Observation, Array, Array, Array, dict[str, Any]]:
        """Carry out one action in each copy.

        Args:
            actions: shape (N,), whole numbers.

        Returns:
            Observations, rewards, terminations and truncations, each with a row per copy, and infos.
        """
        actions = np.asarray(actions).reshape(self.num_envs)
        begins = self._ended if self.autoreset_mode == AutoresetMode.NEXT_STEP else np.zeros_like(self._ended)
        if self.autoreset_mode == AutoresetMode.DISABLED and self._ended.any():
            raise gym.error.ResetNeeded(f"reset copies {np.flatnonzero(self._ended).tolist()} before the next step")
        played = ~begins
        self._batch.step(actions, played)
        results = self._batch.results
        rewards = np.where(played, results["reward"], 0.0)
        terminations, truncations = played & (results["terminated"] == 1), played & (results["truncated"] == 1)
        ended = terminations | truncations
        self._record(played)
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and ended.any():
            self._add_finals(infos, ended)
            add_steps(infos, self._batch, ~ended)
            self._begin(ended, {})
            add_states(infos, self._batch, np.ones_like(ended))
        else:
            if begins.any():
                self._begin(begins, {})
            add_states(infos, self._batch, np.ones_like(ended))
            add_steps(infos, self._batch, played)
            if ended.any():
                add_ends(infos, self._batch, ended, self._template.reward_weights)
        self._ended = ended if self.autoreset_mode != AutoresetMode.SAME_STEP else np.zeros_like(ended)
        return self._observations(), rewards, terminations, truncations, infos

    def render(self) -> tuple[Any, ...] | None:
        """A text or an image for each copy."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render_mode; pass one to gym.make_vec.")
            return None
        frames = []
        for renderer, cluster in zip(self._renderers, self._batch.clusters, strict=True):
            if renderer is None or cluster is None:
                raise gym.error.ResetNeeded("Cannot call render() before reset()")
            frames.append(renderer.render(cluster.state))
        return tuple(frames)

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads go."""
        del kwargs
        self._batch.close()

    # --- beyond Gymnasium --------------------------------------------------------------------------
    @property
    def clusters(self) -> list[SimulatedCluster]:
        """The simulated cluster of each copy."""
        found = [cluster for cluster in self._batch.clusters if cluster is not None]
        if len(found) < self.num_envs:
            raise gym.error.ResetNeeded("Call reset() before using the clusters")
        return found

    def action_masks(self) -> Array:
        """Which actions are valid now, shape (N, A), bool."""
        return self._batch.masks.copy()

    def expert_actions(self) -> Array:
        """What MLF-H would do now in each copy, shape (N,). Always valid."""
        return self._batch.experts()

    def clone_state(self, copy: int) -> Snapshot:
        """This point of a copy's episode, to come back to with `restore_state`; for planning."""
        return self._batch.clone(copy)

    def restore_state(self, copy: int, snapshot: Snapshot) -> None:
        """Go back to a point of a copy's episode."""
        self._batch.restore(copy, snapshot)
        self._ended[copy] = False

    # --- helpers -----------------------------------------------------------------------------------
    def _seeds(self, seed: int | list[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + copy for copy in range(self.num_envs)]
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise SettingsError(f"seed: found {len(seeds)} seeds, expected one for each of {self.num_envs} copies")
        return seeds

    def _checked_mask(self, mask: Any) -> Array:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not (isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,) and mask.dtype == np.bool_):
            raise SettingsError(f"reset_mask: found {mask!r}, expected an array of bool of shape ({self.num_envs},)")
        return mask

    def _begin(self, which: Array, options: dict[str, Any]) -> None:
        clusters = {}
        for copy in np.flatnonzero(which).tolist():
            rng = self._rngs[copy]
            if rng is None:
                rng, _ = seeding.np_random()
                self._rngs[copy] = rng
            clusters[copy] = self._template.draw_cluster(rng, options)
        self._batch.begin(clusters)
        self._ended[which] = False
        if self.render_mode is not None:
            for copy, cluster in clusters.items():
                renderer = EpisodeRenderer(self.render_mode, cluster.state, self.metadata["render_fps"])
                renderer.record(cluster.state)
                self._renderers[copy] = renderer

    def _record(self, played: Array) -> None:
        if self.render_mode is None:
            return
        for copy in np.flatnonzero(played & (self._batch.results["reason"] != DECIDING)).tolist():
            renderer = self._renderers[copy]
            if renderer is not None:
                renderer.record(self.clusters[copy].state)

    def _add_finals(self, infos: dict[str, Any], ended: Array) -> None:
        """Last observations and infos of the episodes that have just ended."""
        finals = np.full(self.num_envs, None, object)
        for copy in np.flatnonzero(ended).tolist():
            row = self._batch.observations[copy].copy()
            finals[copy] = {name: row[part] for name, part in self._batch.parts.items()}
        infos["final_obs"], infos["_final_obs"] = finals, ended.copy()
        last: dict[str, Any] = {}
        add_states(last, self._batch, ended)
        add_steps(last, self._batch, ended)
        add_ends(last, self._batch, ended, self._template.reward_weights)
        infos["final_info"], infos["_final_info"] = last, ended.copy()

    def _observations(self) -> Observation:
        if self.copy:
            return {name: view.copy() for name, view in self._batch.views.items()}
        return self._batch.views
