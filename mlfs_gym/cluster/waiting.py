"""The jobs that wait for a replica, in order of arrival."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel


@kernel
def begin_waiting(state: State, job: int) -> None:
    """A job has a replica that does not run, which it had not before."""
    clock = state.clock[0]
    position = position_of(state.waiting, clock.num_waiting, job)
    for later in range(clock.num_waiting, position, -1):
        state.waiting[later] = state.waiting[later - 1]
    state.waiting[position] = job
    clock.num_waiting += 1


@kernel
def end_waiting(state: State, job: int) -> None:
    """All replicas of a job run now, or it has ended."""
    clock = state.clock[0]
    clock.num_waiting -= 1
    for position in range(position_of(state.waiting, clock.num_waiting + 1, job), clock.num_waiting):
        state.waiting[position] = state.waiting[position + 1]


@kernel
def position_of(jobs: Array, count: int, job: int) -> int:
    """Where a job stands, or would stand, among the first `count` entries of an ascending list."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) // 2
        if jobs[middle] < job:
            low = middle + 1
        else:
            high = middle
    return low
