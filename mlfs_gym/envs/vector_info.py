"""Infos of many copies in the form of Gymnasium's vector environments: ``name`` and ``_name``, who has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import RewardWeights
from mlfs_gym.envs.batch import Batch
from mlfs_gym.envs.reward import TERMS, References, objective
from mlfs_gym.report.metrics import metrics

Infos = dict[str, Any]


def add_states(infos: Infos, batch: Batch, which: Array) -> None:
    """What every info holds: the mask of valid actions, the time, jobs done and invalid actions so far."""
    results = batch.results
    masks = batch.masks.view(np.int8)
    _add(infos, "action_mask", np.where(which[:, None], masks, np.int8(0)), which)
    for name in ("time", "jobs_done", "invalid_actions"):
        _add(infos, name, np.where(which, results[name], 0), which)


def add_steps(infos: Infos, batch: Batch, which: Array) -> None:
    """What the infos of steps hold besides: the terms of the reward, and whether the action was invalid."""
    if not which.any():
        return
    terms: Infos = {}
    columns = np.where(which[:, None], batch.results["terms"], 0.0)
    for column, name in enumerate(TERMS):
        _add(terms, name, columns[:, column].copy(), which)
    _add(infos, "reward_terms", terms, which)
    _add(infos, "invalid_action", which & (batch.results["invalid_action"] == 1), which)


def add_ends(infos: Infos, batch: Batch, which: Array, weights: RewardWeights) -> None:
    """What the last infos of episodes hold besides: metrics and the objective."""
    table: Infos = {}
    objectives = np.zeros(len(which))
    for copy in np.flatnonzero(which).tolist():
        cluster = batch.clusters[copy]
        assert cluster is not None
        found = metrics(cluster.state)
        objectives[copy] = objective(found, weights, References.of(cluster.state))
        for name, value in found.items():
            if name not in table:
                _add(table, name, np.zeros(len(which), type(value)), which)
            table[name][copy] = value
    _add(infos, "metrics", table, which)
    _add(infos, "objective", objectives, which)


def _add(infos: Infos, name: str, values: Any, which: Array) -> None:
    infos[name], infos[f"_{name}"] = values, which.copy()
