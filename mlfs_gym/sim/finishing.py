"""Which running job finishes next: a binary heap of jobs, so that the choice costs the same however many there are.

The order is by ``finish_at``, and among equals the lower job comes first. Each job knows its position in the heap, so
that it can be moved when its speed changes and taken out when it is preempted.
"""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, State
from mlfs_gym.cluster.jit import kernel


@kernel
def set_finish(state: State, job: int, finish_at: float) -> None:
    """A job finishes at this time if nothing changes; inf: it will not."""
    row = state.jobs[job]
    row.finish_at = finish_at
    if finish_at == np.inf:
        if row.heap_position != NONE:
            _remove(state, job)
        return
    if row.heap_position == NONE:
        clock = state.clock[0]
        _put(state, clock.num_finishing, job)
        clock.num_finishing += 1
    _restore_order(state, row.heap_position)


@kernel
def next_to_finish(state: State) -> int:
    """The job that finishes first, NONE if none will."""
    if state.clock[0].num_finishing == 0:
        return NONE
    return state.finishing[0]


@kernel
def _remove(state: State, job: int) -> None:
    """Take a job out; the last one fills its place."""
    clock = state.clock[0]
    position = state.jobs[job].heap_position
    state.jobs[job].heap_position = NONE
    clock.num_finishing -= 1
    if position < clock.num_finishing:
        _put(state, position, state.finishing[clock.num_finishing])
        _restore_order(state, position)


@kernel
def _restore_order(state: State, position: int) -> None:
    """Move the job at a position up or down until both its parent and its children are in order."""
    while position > 0 and _before(state, position, (position - 1) // 2):
        position = _swap(state, position, (position - 1) // 2)
    size = state.clock[0].num_finishing
    while 2 * position + 1 < size:
        child = 2 * position + 1
        if child + 1 < size and _before(state, child + 1, child):
            child += 1
        if not _before(state, child, position):
            return
        position = _swap(state, position, child)


@kernel
def _before(state: State, one: int, other: int) -> bool:
    """True if the job at one position finishes before the job at the other."""
    first = state.finishing[one]
    second = state.finishing[other]
    earlier = state.jobs[first].finish_at
    later = state.jobs[second].finish_at
    return bool(earlier < later or (earlier == later and first < second))


@kernel
def _swap(state: State, one: int, other: int) -> int:
    """Exchange the jobs at two positions. Returns the second position."""
    job = state.finishing[one]
    _put(state, one, state.finishing[other])
    _put(state, other, job)
    return other


@kernel
def _put(state: State, position: int, job: int) -> None:
    state.finishing[position] = job
    state.jobs[job].heap_position = position
