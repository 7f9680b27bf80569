"""The partition graphs of many jobs, laid end to end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.bundle import F8, I8, Bundle, Of
from mlfs_gym.workloads.graphs import template
from mlfs_gym.workloads.job_columns import JobColumns


@dataclass(frozen=True, eq=False, repr=False)
class Graphs(Bundle):
    """The templates that occur, laid end to end, and where each job's template begins.

    Attributes:
        compute: shape (sum of P,), compute times, critical path 1.
        share: shape (sum of P,), of the parameters.
        degree: shape (sum of P,), edges that touch a partition.
        edges: shape (sum of E, 2), source and target.
        first_partition: shape (J,).
        first_edge: shape (J,).
        num_edges: shape (J,).
    """

    compute: Annotated[Array, Of(F8)]
    share: Annotated[Array, Of(F8)]
    degree: Annotated[Array, Of(I8)]
    edges: Annotated[Array, Of(I8, 2)]
    first_partition: Annotated[Array, Of(I8)]
    first_edge: Annotated[Array, Of(I8)]
    num_edges: Annotated[Array, Of(I8)]


def graphs_of(columns: JobColumns, connected: bool) -> Graphs:
    """The graphs of jobs; without connections, for plain gangs, of equal partitions that exchange nothing."""
    stride = int(columns.partitions.max(initial=1)) + 1
    distinct, which = np.unique(columns.family * stride + columns.partitions, return_inverse=True)
    kinds = tuple(divmod(code, stride) for code in distinct.tolist())
    compute, share, degree, edges, first_partition, first_edge, num_edges = _laid_end_to_end(kinds, connected)
    return Graphs(compute, share, degree, edges, first_partition[which], first_edge[which], num_edges[which])


@lru_cache(maxsize=256)
def _laid_end_to_end(kinds: tuple[tuple[int, int], ...], connected: bool) -> tuple[Array, ...]:
    templates = [template(family, partitions, connected) for family, partitions in kinds]
    lengths = np.array([len(graph.compute) for graph in templates], np.int64)
    edge_counts = np.array([len(graph.edges) for graph in templates], np.int64)
    return (
        _joined([graph.compute for graph in templates], np.float64),
        _joined([graph.parameter_share for graph in templates], np.float64),
        _joined([graph.degree for graph in templates], np.int64),
        _joined([graph.edges.ravel() for graph in templates], np.int64).reshape(-1, 2),
        np.cumsum(lengths) - lengths,
        np.cumsum(edge_counts) - edge_counts,
        edge_counts,
    )


def _joined(parts: list[Array], dtype: type) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
