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
