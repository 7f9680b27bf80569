"""What MLF-H knows of the servers, kept up to date server by server, and room for its plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.bundle import B1, F8, I8, Bundle, Of
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.overload import server_overloaded
from mlfs_gym.schedulers.mlf_h.utilisation import RESOURCES, utilisation

UNKNOWN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Survey(Bundle):
    """The servers as MLF-H last saw them, and arrays to plan with. Made for one state and one set of parameters.

    Attributes:
        use: shape (S, 4), utilisation of GPU compute, CPU, host memory and NIC.
        overloaded: shape (S,), bool, above the hosting threshold.
        versions: shape (S,), int64, the ``servers["version"]`` that these are of.
        order: shape (S,), int64, servers by their distance for a task that exchanges nothing yet.
        order_known: shape (1,), bool, False if `order` must be found anew.
        nearest: shape (S,), int64, servers by their distance for the task in hand.
        volumes: shape (S,), bytes per iteration between the task in hand and what a server hosts.
        distances: shape (S,), from the ideal virtual server of the task in hand; sorted along with `nearest`.
        planned: shape (largest P + 1,), int64, servers of the replica in hand.
        partitions: shape (largest P,), int64, partitions of the replica in hand, in order of placement.
        priorities: shape (largest P,), of the partitions of the job in hand.
        hosts: shape (largest P + 1,), int64, of the replica in hand.
        jobs: shape (J,), int64, to put jobs in order.
        job_keys: shape (J,), by which.
        tasks: shape (T,), int64, to put tasks in order.
        task_keys: shape (T,), by which.
        ranked: shape (S, move candidates), int64, the best tasks to move of each server.
        movers: shape (move candidates,), int64, the best of them all.
        targets: shape (S,), int64, servers that may take one.
    """

    use: Annotated[Array, Of(F8, 2)]
    overloaded: Annotated[Array, Of(B1)]
    versions: Annotated[Array, Of(I8)]
    order: Annotated[Array, Of(I8)]
    order_known: Annotated[Array, Of(B1)]
    nearest: Annotated[Array, Of(I8)]
    volumes: Annotated[Array, Of(F8)]
    distances: Annotated[Array, Of(F8)]
    planned: Annotated[Array, Of(I8)]
    partitions: Annotated[Array, Of(I8)]
    priorities: Annotated[Array, Of(F8)]
    hosts: Annotated[Array, Of(I8)]
    jobs: Annotated[Array, Of(I8)]
    job_keys: Annotated[Array, Of(F8)]
    tasks: Annotated[Array, Of(I8)]
    task_keys: Annotated[Array, Of(F8)]
    ranked: Annotated[Array, Of(I8, 2)]
    movers: Annotated[Array, Of(I8)]
    targets: Annotated[Array, Of(I8)]


def new_survey(state: State, params: Array) -> Survey:
    """Nothing is known yet.

    Args:
        state: the cluster.
        params: shape (1,), dtype `params.PARAMS`.
    """
    jobs, tasks, servers = len(state.jobs), len(state.tasks), len(state.servers)
    candidates = int(params["move_candidates"][0])
    largest = max(1, int(state.jobs["partitions"].max(initial=1)))
    return Survey(
        use=np.zeros((servers, RESOURCES)),
        overloaded=np.zeros(servers, np.bool_),
        versions=np.full(servers, UNKNOWN, np.int64),
        order=np.zeros(servers, np.int64),
        order_known=np.zeros(1, np.bool_),
        nearest=np.zeros(servers, np.int64),
        volumes=np.zeros(servers),
        distances=np.zeros(servers),
        planned=np.zeros(largest + 1, np.int64),
        partitions=np.zeros(largest, np.int64),
        priorities=np.zeros(largest),
        hosts=np.zeros(largest + 1, np.int64),
        jobs=np.zeros(jobs, np.int64),
        job_keys=np.zeros(jobs),
        tasks=np.zeros(tasks, np.int64),
        task_keys=np.zeros(tasks),
        ranked=np.zeros((servers, candidates), np.int64),
        movers=np.zeros(candidates, np.int64),
        targets=np.zeros(servers, np.int64),
    )


class SurveyOf:
    """The survey of the cluster that a scheduler plays on, made when it is first needed.

    Args:
        params: shape (1,), dtype `params.PARAMS`.
    """

    def __init__(self, params: Array) -> None:
        self._params = params
        self._cluster: Cluster | None = None

    def __call__(self, cluster: Cluster) -> Survey:
        """The survey of this cluster."""
        if cluster is not self._cluster:
            self._cluster, self._survey = cluster, new_survey(cluster.state, self._params)
        return self._survey


@kernel
def forget(survey: Survey) -> None:
    """Look at every server again; versions mean nothing after the state has been set back."""
    survey.versions[:] = UNKNOWN
    survey.order_known[0] = False


@kernel
def update(state: State, params: Array, survey: Survey) -> None:
    """Look at the servers that have changed since the last time.

    Args:
        state: the cluster.
        params: shape (1,), dtype `params.PARAMS`.
        survey: receives utilisations.
    """
    for server in range(state.servers.shape[0]):
        version = state.servers[server].version
        if survey.versions[server] == version:
            continue
        survey.versions[server] = version
        survey.order_known[0] = False
        for resource in range(RESOURCES):
            survey.use[server, resource] = utilisation(state, server, resource)
        survey.overloaded[server] = server_overloaded(state, server, params[0].overload_threshold)
