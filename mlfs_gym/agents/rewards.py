"""Rewards in the learner's units."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym


class ScaledReward(gym.RewardWrapper[Any, Any]):
    """Rewards times a factor. Put it outside of a monitor, so that curves keep the objective's units."""

    def __init__(self, env: gym.Env[Any, Any], scale: float) -> None:
        super().__init__(env)
        self._scale = scale

    def reward(self, reward: SupportsFloat) -> float:
        """The scaled reward."""
        return float(reward) * self._scale
