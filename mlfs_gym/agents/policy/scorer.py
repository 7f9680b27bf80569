"""The actor: scores every action from its own features and a pooled context, with the same weights for all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mlfs_gym.agents.policy.pooling import RowEncoder, pool

Observations = dict[str, Tensor]


class Scorer(nn.Module):
    """Logits of all actions.

    No weight depends on the number of slots, candidates, moves or servers, and none on the position of a row, so
    the network is indifferent to their order and runs on a window of any size.

    Args:
        features: size of the last axis of each part of the observation.
        hidden: width.
    """

    def __init__(self, features: dict[str, int], hidden: int) -> None:
        super().__init__()
        cluster = features["cluster"]
        self.with_running = "running" in features
        self.jobs = RowEncoder(features["jobs"], cluster, hidden)
        self.moves = RowEncoder(features["moves"], cluster, hidden)
        pooled = 2 * (2 + self.with_running) * hidden
        self.context = nn.Sequential(
            nn.Linear(pooled + cluster, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.place = _PairScorer(features["pairs"], hidden)
        self.move = _PairScorer(features["move_pairs"], hidden)
        self.end = nn.Linear(hidden, 1)
        if self.with_running:
            self.running = RowEncoder(features["running"], cluster, hidden)
            self.preempt = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        _small_last_layers(self)

    def forward(self, observations: Observations) -> Tensor:
        """Logits of shape (B, A), in the order of `mlfs_gym.envs.layout.Layout`."""
        cluster = observations["cluster"]
        jobs = self.jobs(observations["jobs"], cluster)
        moves = self.moves(observations["moves"], cluster)
        parts = [pool(jobs), pool(moves)]
        running = self.running(observations["running"], cluster) if self.with_running else None
        if running is not None:
            parts.append(pool(running))
        context = self.context(torch.cat([*parts, cluster], dim=1))
        logits = [
            self.place(jobs, observations["pairs"], context).flatten(1),
            self.move(moves, observations["move_pairs"], context).flatten(1),
        ]
        if running is not None:
            around = context.unsqueeze(1).expand(-1, running.shape[1], -1)
            logits.append(self.preempt(torch.cat([running, around], dim=2)).squeeze(2))
        logits.append(self.end(context))
        return torch.cat(logits, dim=1)


class _PairScorer(nn.Module):
    """Scores (row, candidate server) pairs."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        # One linear layer over (row, pair, context), cut in three so that rows and context are multiplied only once.
        self.of_row = nn.Linear(hidden, hidden)
        self.of_pair = nn.Linear(features, hidden, bias=False)
        self.of_context = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, 1))

    def forward(self, rows: Tensor, pairs: Tensor, context: Tensor) -> Tensor:
        """(B, N, hidden), (B, N, C, features), (B, hidden) to (B, N, C)."""
        row = self.of_row(rows) + self.of_context(context).unsqueeze(1)
        score: Tensor = self.score(row.unsqueeze(2) + self.of_pair(pairs))
        return score.squeeze(3)


def _small_last_layers(scorer: Scorer) -> None:
    """At first all actions are about equally likely."""
    heads = [scorer.place.score[-1], scorer.move.score[-1], scorer.end]
    if scorer.with_running:
        heads.append(scorer.preempt[-1])
    with torch.no_grad():
        for head in heads:
            for parameter in head.parameters():
                parameter.mul_(0.01)
