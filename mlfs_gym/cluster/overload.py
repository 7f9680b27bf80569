"""Utilisation of servers, and when a server is overloaded."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.jit import kernel


@kernel
def server_overloaded(state: State, server: int, threshold: float) -> bool:
    """True if a resource is used above the threshold and more than one task is to blame.

    A single task whose demand fluctuates above the threshold on its own cannot be helped by moving it,
    so a GPU with one task, or a server with one, is never overloaded.
    """
    host = state.servers[server]
    if host.num_tasks < 2:
        return False
    if host.cpu_used > threshold * host.cpu or host.nic_used > threshold * host.nic:
        return True
    if host.memory_used > threshold * host.memory:
        return True
    for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
        if gpu_overloaded(state, gpu, threshold):
            return True
    return False


@kernel
def gpu_overloaded(state: State, gpu: int, threshold: float) -> bool:
    """True if two or more tasks use the GPU above the threshold."""
    device = state.gpus[gpu]
    return bool(device.num_tasks >= 2 and device.used > threshold * MILLI)


@kernel
def any_overloaded(state: State, threshold: float) -> bool:
    """True if some server is overloaded."""
    for server in range(state.servers.shape[0]):
        if server_overloaded(state, server, threshold):
            return True
    return False


@kernel
def count_overloads(state: State) -> None:
    """Add to the clock's count each server that has become overloaded since the last count."""
    clock = state.clock[0]
    for server in range(state.servers.shape[0]):
        now = 1 if server_overloaded(state, server, clock.overload_threshold) else 0
        if now == 1 and state.servers[server].overloaded == 0:
            clock.overloads += 1
        state.servers[server].overloaded = now
