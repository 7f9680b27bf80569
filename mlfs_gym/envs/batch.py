"""Episodes side by side: what `JobSchedulingEnv` has one of and the vector environment many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.jit import say_if_first_compilation
from mlfs_gym.config import RewardWeights
from mlfs_gym.envs.encoder import buffers_over, row_sizes
from mlfs_gym.envs.episode import Episode, new_episode
from mlfs_gym.envs.feature_cache import forget_features
from mlfs_gym.envs.layout import Layout
from mlfs_gym.envs.play import BEGIN, DECIDING, REST, RESULT, RULES, SHOW, experts, play_all
from mlfs_gym.envs.snapshot import Snapshot
from mlfs_gym.envs.window import Window, begin_looking
from mlfs_gym.schedulers.mlf_c.params import MLFCParams
from mlfs_gym.schedulers.mlf_h.survey import forget
from mlfs_gym.sim.simulated_cluster import SimulatedCluster


class Batch:
    """N episodes, played by one compiled call.

    Args:
        copies: N.
        layout: sizes of the window.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        weights: of the reward.
        paper_reward: True for eq. 7 as printed.
        load_control: MLF-C's settings; None: it is off.
        end_when_blocked: see `window.fill_mask`.
        skip_forced: True to carry out single valid actions at once.
        max_steps: truncates after so many; None: never.
        threads: copies are shared out to so many.

    Attributes:
        clusters: the cluster of each episode, None before its first.
        masks: shape (N, A), bool, valid actions.
        observations: shape (N, size), float32, the parts of the observations one after another.
        parts: where each part lies in a row of `observations`.
        views: each part of all observations, shape (N, its size).
        results: shape (N,), dtype `play.RESULT`, of the last step.
    """

    def __init__(
        self,
        copies: int,
        layout: Layout,
        params: Array,
        weights: RewardWeights,
        *,
        paper_reward: bool = False,
        load_control: MLFCParams | None = None,
        end_when_blocked: bool = False,
        skip_forced: bool = False,
        max_steps: int | None = None,
        threads: int = 1,
    ) -> None:
        say_if_first_compilation(play_all)
        self._layout, self._params, self._weights = layout, params, weights
        self._paper_reward, self._load_control = paper_reward, load_control
        self._rules = np.zeros(1, RULES)
        self._rules[0] = (end_when_blocked, skip_forced, max_steps or 0)
        self._threads = threads
        sizes = row_sizes(layout)
        ends = np.cumsum(list(sizes.values())).tolist()
        self.parts = {
            name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True) if size
        }
        self.clusters: list[SimulatedCluster | None] = [None] * copies
        self.masks = np.zeros((copies, layout.size), np.bool_)
        self.observations = np.zeros((copies, ends[-1]), np.float32)
        self.results = np.zeros(copies, RESULT)
        self._actions = np.full(copies, REST, np.int64)
        self._cut_out_views()
        self._episodes: list[Episode | None] = [None] * copies
        self._addresses = np.zeros(copies, np.int64)
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, clusters: dict[int, SimulatedCluster]) -> None:
        """Begin new episodes on fresh clusters, each in its own place, up to their first decision.

        Where forced actions are skipped, an episode without any choice begins at its first decision all the same.
        """
        self._begin(clusters)
        if self._rules["skip_forced"][0]:
            results = self.results
            whole = [copy for copy in clusters if results["terminated"][copy] or results["truncated"][copy]]
            if whole:
                self._rules["skip_forced"] = 0
                self._begin({copy: clusters[copy].again() for copy in whole})
                self._rules["skip_forced"] = 1

    def _begin(self, clusters: dict[int, SimulatedCluster]) -> None:
        for copy, cluster in clusters.items():
            self.clusters[copy] = cluster
            episode = new_episode(
                cluster.state,
                self._layout,
                self._params,
                self._weights,
                self._paper_reward,
                self._load_control,
                self.masks[copy],
                self._buffers[copy],
                before=self._episodes[copy],
            )
            self._seat(copy, episode)
        self._tell(dict.fromkeys(clusters, BEGIN))

    def step(self, actions: Array, playing: Array | None = None) -> None:
        """Carry out an action in each episode; see `results`, `masks` and `observations` for what came of it.

        Args:
            actions: shape (N,), numbers of actions; any other number is an invalid action.
            playing: shape (N,), bool; False to leave an episode as it is. None: all are played.
        """
        valid = (actions >= 0) & (actions < self._layout.size)
        self._actions[:] = np.where(valid, actions, DECIDING)
        if playing is not None:
            self._actions[~playing] = REST
        self._play()

    def step_one(self, action: int) -> None:
        """Carry out an action in the only episode."""
        self._actions[0] = action if 0 <= action < self._layout.size else DECIDING
        play_all(self._addresses, self._actions, self._params, self._rules, self.results, 0, 1)

    @property
    def result(self) -> tuple[Any, ...]:
        """Of the only episode: the fields of `play.RESULT`."""
        result: Any = self.results.item()
        return result

    def experts(self) -> Array:
        """What MLF-H would do now, shape (N,), as actions. Always valid."""
        actions = np.zeros(len(self.clusters), np.int64)
        experts(self._addresses, self._params, actions)
        return actions

    def window(self, copy: int) -> Window:
        """What an episode offers."""
        return self._episode(copy).window

    def clone(self, copy: int) -> Snapshot:
        """This point of an episode."""
        episode = self._episode(copy)
        return Snapshot(
            state=episode.state.copy(),
            blocked=episode.window.blocked.copy(),
            control=episode.control.copy(),
            account=episode.account.copy(),
            counts=episode.counts.copy(),
        )

    def restore(self, copy: int, snapshot: Snapshot) -> None:
        """Go back to a point of an episode."""
        episode = self._episode(copy)
        if len(snapshot.state.jobs) != len(episode.state.jobs):
            raise ValueError("restore_state: the snapshot is of another episode")
        episode.state.restore(snapshot.state)
        episode.control.restore(snapshot.control)
        episode.account[:] = snapshot.account
        episode.counts[:] = snapshot.counts
        begin_looking(episode.window)
        episode.window.blocked[:] = snapshot.blocked
        forget(episode.survey)
        forget_features(episode.cache)
        self._tell({copy: SHOW})

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _cut_out_views(self) -> None:
        self._buffers = [buffers_over(row, self._layout) for row in self.observations]
        self.views = {name: self.observations[:, part] for name, part in self.parts.items()}

    def _seat(self, copy: int, episode: Episode) -> None:
        self._episodes[copy] = episode  # keeps its arrays alive
        self._addresses[copy] = episode.address

    def _episode(self, copy: int) -> Episode:
        episode = self._episodes[copy]
        assert episode is not None, "no episode has begun"
        return episode

    def _tell(self, orders: dict[int, int]) -> None:
        self._actions[:] = REST
        for copy, order in orders.items():
            self._actions[copy] = order
        self._play()

    def _play(self) -> None:
        """One compiled call, or one for each thread."""
        copies = len(self._actions)
        if self._threads == 1:
            play_all(self._addresses, self._actions, self._params, self._rules, self.results, 0, copies)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1, thread_name_prefix="mlfs-gym")
        bounds = [copies * thread // self._threads for thread in range(self._threads + 1)]
        arguments = (self._addresses, self._actions, self._params, self._rules, self.results)
        waiting = [self._pool.submit(play_all, *arguments, first, last) for first, last in pairwise(bounds[1:])]
        play_all(*arguments, 0, bounds[1])
        for future in waiting:
            future.result()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None, "_addresses": None, "_buffers": None, "views": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cut_out_views()  # what was a view of the whole has become an array of its own on the way
        self._addresses = np.zeros(len(self._episodes), np.int64)
        for copy, episode in enumerate(self._episodes):
            if episode is not None:
                self._seat(copy, replace(episode, mask=self.masks[copy], observation=self._buffers[copy]))
