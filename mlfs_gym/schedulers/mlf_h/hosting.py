"""Which server is nearest to the ideal virtual server for one task (CoNEXT 2020, section 3.3.2; ToN 2022)."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import MILLI
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.mlf_h.survey import Survey, update
from mlfs_gym.schedulers.mlf_h.utilisation import RESOURCES


@kernel
def least_used_gpu(state: State, task: int, server: int, limit: float) -> int:
    """The least used GPU of a server that may take the task, NONE if none may.

    An empty GPU may always; a shared one only if the task leaves it below the limit.
    """
    row = state.tasks[task]
    host = state.servers[server]
    best = NONE
    for gpu in range(host.first_gpu, host.first_gpu + host.num_gpus):
        device = state.gpus[gpu]
        if device.memory_used + row.gpu_memory > device.memory or gpu == row.gpu:
            continue
        full = state.clock[0].sharing == 0 or device.used + row.gpu_demand > limit * MILLI
        if device.num_tasks > 0 and full:
            continue
        if best == NONE or device.used < state.gpus[best].used:
            best = gpu
    return best


@kernel
def may_host(state: State, task: int, server: int, limit: float, remote: bool) -> int:
    """The GPU that would take the task (a server's number for a parameter server), NONE if hosting overloads.

    Args:
        state: the cluster.
        task: the task.
        server: the server.
        limit: hr; inf on an idle cluster, which takes a job whatever hr says.
        remote: True if the task would talk to other servers.
    """
    row = state.tasks[task]
    host = state.servers[server]
    if host.memory_used + row.memory > host.memory:
        return NONE
    if host.num_tasks > 0:
        if host.cpu_used + row.cpu_demand > limit * host.cpu:
            return NONE
        if host.memory_used + row.memory > limit * host.memory:
            return NONE
        if remote and host.nic_used + row.nic_demand > limit * host.nic:
            return NONE
    if row.partition == NONE:
        return server
    return least_used_gpu(state, task, server, limit)


@kernel
def distances(state: State, params: Array, survey: Survey) -> None:
    """Euclidean distance of every server from the ideal virtual server.

    Ideal is, per resource, the lowest utilisation among underloaded servers and the largest communication
    volume between the task and any of those. The movement term is the same for all hosts of a queued task.

    Args:
        state: the cluster.
        params: shape (1,), dtype `PARAMS`.
        survey: with the task's `volumes`; receives the `distances`.
    """
    update(state, params, survey)
    servers = state.servers.shape[0]
    weight = params[0].bandwidth_weight
    most = 0.0
    for server in range(servers):
        if not survey.overloaded[server]:
            most = max(most, survey.volumes[server])
    survey.distances[:] = 0.0
    for resource in range(RESOURCES):
        ideal = np.inf
        for server in range(servers):
            if not survey.overloaded[server]:
                ideal = min(ideal, survey.use[server, resource])
        if ideal < np.inf:
            for server in range(servers):
                survey.distances[server] += (survey.use[server, resource] - ideal) ** 2
    for server in range(servers):
        if most > 0.0:
            survey.distances[server] += weight * (max(0.0, most - survey.volumes[server]) / most) ** 2
        survey.distances[server] = np.sqrt(survey.distances[server])
