"""The critic: a trunk of its own, which alone sees how far the episode is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mlfs_gym.agents.policy.pooling import RowEncoder, pool
from mlfs_gym.agents.policy.scorer import Observations


class Critic(nn.Module):
    """Value of a state.

    Args:
        features: size of the last axis of each part of the observation.
        hidden: width.
    """

    def __init__(self, features: dict[str, int], hidden: int) -> None:
        super().__init__()
        cluster = features["cluster"]
        self.jobs = RowEncoder(features["jobs"], cluster, hidden)
        self.with_running = "running" in features
        if self.with_running:
            self.running = RowEncoder(features["running"], cluster, hidden)
        pooled = 2 * (1 + self.with_running) * hidden
        self.trunk = nn.Sequential(
            nn.Linear(pooled + cluster + features["progress"], 2 * hidden),
            nn.ReLU(),
            nn.Linear(2 * hidden, hidden),
            nn.ReLU(),
        )

    def forward(self, observations: Observations) -> Tensor:
        """Features of the value, shape (B, hidden)."""
        cluster = observations["cluster"]
        parts = [pool(self.jobs(observations["jobs"], cluster))]
        if self.with_running:
            parts.append(pool(self.running(observations["running"], cluster)))
        result: Tensor = self.trunk(torch.cat([*parts, cluster, observations["progress"]], dim=1))
        return result
