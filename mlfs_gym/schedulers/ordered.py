"""Serve a queue in a given order with consolidated placement."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.consolidated import consolidated_hosts
from mlfs_gym.cluster.decisions import place_replica
from mlfs_gym.cluster.jit import kernel


@kernel
def place_what_fits(state: State, job: int, hosts: Array) -> bool:
    """Place replicas of a job until all run or one does not fit. True if all run."""
    while state.jobs[job].running_replicas < state.jobs[job].replicas:
        if not consolidated_hosts(state, job, hosts) or not place_replica(state, job, hosts):
            return False
    return True


@kernel
def serve_until_blocked(state: State, order: Array, hosts: Array) -> None:
    """Walk the queue and stop at the first job that cannot be placed in full (head-of-line blocking).

    Args:
        state: the cluster.
        order: shape (n,), active jobs, the most important first.
        hosts: shape (largest P + 1,), scratch.
    """
    for job in order:
        if not place_what_fits(state, job, hosts):
            return


@kernel
def serve_first_come(state: State, hosts: Array) -> None:
    """The same in order of arrival, from the list of waiting jobs.

    Args:
        state: the cluster.
        hosts: shape (largest P + 1,), scratch.
    """
    while state.clock[0].num_waiting > 0:
        if not place_what_fits(state, state.waiting[0], hosts):
            return
