"""Partition graphs of the model families, one template per family and number of partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.workloads.profiles import FAMILIES, Graph


@dataclass(frozen=True, eq=False)
class GraphTemplate:
    """One replica, scaled so that its critical path takes one unit of time.

    Attributes:
        edges: shape (E, 2), source and target partition, sorted by target, then source; source < target.
        parameter_share: shape (P,), sums to 1.
        compute: shape (P,), compute time, critical path 1.
        degree: shape (P,), edges that touch the partition.
    """

    edges: Array
    parameter_share: Array
    compute: Array
    degree: Array


def graph_edges(graph: Graph, partitions: int) -> list[tuple[int, int]]:
    """Edges of a family's graph, sorted by target, then source.

    ``layers``: a single first and last partition, between them layers of two parallel parts, each of which needs
    all of the layer before.
    """
    if graph == "none":
        return []
    if graph == "chain":
        return [(p - 1, p) for p in range(1, partitions)]
    middle = list(range(1, partitions - 1))
    layers = [[0], *(middle[i : i + 2] for i in range(0, len(middle), 2))]
    if partitions > 1:
        layers.append([partitions - 1])
    return [(source, target) for before, after in pairwise(layers) for target in after for source in before]


def critical_path(compute: Array, edges: Array) -> Array:
    """Length of the longest path, added up in the order of the simulator.

    Args:
        compute: shape (..., P), times of the partitions.
        edges: shape (E, 2), sorted by target, source < target.
    """
    ready = np.zeros_like(compute)
    done = np.zeros_like(compute)
    incoming: dict[int, list[int]] = {}
    for source, target in edges.tolist():
        incoming.setdefault(target, []).append(source)
    for p in range(compute.shape[-1]):
        for source in incoming.get(p, ()):
            ready[..., p] = np.maximum(ready[..., p], done[..., source])
        done[..., p] = ready[..., p] + compute[..., p]
    longest: Array = done.max(axis=-1)
    return longest


@lru_cache(maxsize=4096)
def template(family: int, partitions: int, connected: bool = True) -> GraphTemplate:
    """The graph of a family cut into so many partitions.

    Args:
        family: index into `FAMILIES`.
        partitions: P.
        connected: False for a plain gang: equal partitions that need nothing of each other.
    """
    profile = FAMILIES[family]
    arrows = graph_edges(profile.graph if connected else "none", partitions)
    edges = np.array(arrows, np.int64).reshape(-1, 2)
    share = _tilted(partitions, profile.parameter_tilt if connected else 0.0)
    compute = _tilted(partitions, profile.compute_tilt if connected else 0.0) * partitions
    compute /= critical_path(compute, edges)
    degree = np.bincount(edges.ravel(), minlength=partitions)
    arrays = GraphTemplate(edges, share, compute, degree)
    for array in (edges, share, compute, degree):
        array.setflags(write=False)  # the cache hands them out again
    return arrays


def _tilted(partitions: int, tilt: float) -> Array:
    """Shares that rise or fall linearly along the partitions and sum to 1."""
    position = np.linspace(-1.0, 1.0, partitions) if partitions > 1 else np.zeros(1)
    weight = 1.0 + tilt * position
    shares: Array = weight / weight.sum()
    return shares
