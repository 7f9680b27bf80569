"""How full a server is, resource by resource."""

from __future__ import annotations

from typing import Final

from mlfs_gym.cluster.arrays import State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.jit import kernel

RESOURCES: Final = 4  # GPU, CPU, memory, bandwidth


@kernel
def utilisation(state: State, server: int, resource: int) -> float:
    """Utilisation of a server: 0 GPU compute, 1 CPU, 2 host memory, 3 NIC; 1.0 is full."""
    host = state.servers[server]
    if resource == 0:
        return host.gpu_used / (MILLI * host.num_gpus)
    if resource == 1:
        return host.cpu_used / host.cpu
    if resource == 2:
        return host.memory_used / host.memory
    return host.nic_used / host.nic
