"""Wrappers for libraries that want the environment in another form."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mlfs_gym.cluster.arrays import Array


class ActionMaskObservation(gym.ObservationWrapper[dict[str, Any], Any, Any], gym.utils.RecordConstructorArgs):
    """Puts the action mask into the observation: ``{"observations": ..., "action_mask": ...}``, as RLlib wants it.

    The mask is float32 of shape (A,), 1 for a valid action.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.ObservationWrapper.__init__(self, env)
        assert isinstance(env.action_space, spaces.Discrete)
        self.observation_space = spaces.Dict(
            {
                "observations": env.observation_space,
                "action_mask": spaces.Box(0.0, 1.0, (int(env.action_space.n),), np.float32),
            }
        )

    def observation(self, observation: Any) -> dict[str, Any]:
        """The observation with the mask beside it."""
        masks: Array = self.env.get_wrapper_attr("action_masks")()
        return {"observations": observation, "action_mask": masks.astype(np.float32)}


class SkipForcedActions(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Asks the agent only where it has a choice: a single valid action is carried out at once.

    Its reward is paid with the step before it, or with the next one at the start of an episode; so are the terms in
    ``info["reward_terms"]``. Most steps of a loaded cluster are of this kind: rounds in which nothing fits.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self._reward = 0.0
        self._terms: dict[str, float] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode, at its first choice. An episode without any choice is played from its beginning."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._reward, self._terms = 0.0, {}
        beginning = self.get_wrapper_attr("clone_state")()
        while (forced := self._forced_action()) is not None:
            observation, reward, terminated, truncated, info = self.env.step(forced)
            self._add(float(reward), info)
            if terminated or truncated:
                self._reward, self._terms = 0.0, {}
                observation, info = self.get_wrapper_attr("restore_state")(beginning)
                break
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out an action and all that are forced after it."""
        forced: Any = action
        while forced is not None:
            observation, reward, terminated, truncated, info = self.env.step(forced)
            self._add(float(reward), info)
            forced = None if terminated or truncated else self._forced_action()
        info["reward_terms"] = self._terms
        total, self._reward, self._terms = self._reward, 0.0, {}
        return observation, total, terminated, truncated, info

    def _add(self, reward: float, info: dict[str, Any]) -> None:
        self._reward += reward
        for name, value in info["reward_terms"].items():
            self._terms[name] = self._terms.get(name, 0.0) + value

    def _forced_action(self) -> int | None:
        valid = np.flatnonzero(self.get_wrapper_attr("action_masks")())
        return int(valid[0]) if len(valid) == 1 else None
