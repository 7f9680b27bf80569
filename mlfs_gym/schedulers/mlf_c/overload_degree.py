"""How loaded the cluster is (CoNEXT 2020, section 3.5; ToN 2022)."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.mlf_h.utilisation import RESOURCES, utilisation


@kernel
def server_overload_degree(state: State, server: int) -> float:
    """Euclidean norm of a server's utilisations of GPU, CPU, host memory and NIC; 2.0 if all four are full."""
    square = 0.0
    for resource in range(RESOURCES):
        square += utilisation(state, server, resource) ** 2
    return np.sqrt(square)


@kernel
def cluster_overload_degree(state: State) -> float:
    """Mean of the servers' overload degrees."""
    total = 0.0
    for server in range(state.servers.shape[0]):
        total += server_overload_degree(state, server)
    return total / state.servers.shape[0]
