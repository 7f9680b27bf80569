"""Make decisions take effect: new speeds, stalls and finish times for every job that is marked."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import STOPPED, Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.sorting import sort_numbers
from mlfs_gym.sim.finishing import set_finish
from mlfs_gym.sim.grid import snap
from mlfs_gym.sim.progress import end_job, settle
from mlfs_gym.sim.speed import iteration_time_and_bytes


@kernel
def refresh(state: State, scratch: Array) -> None:
    """Bring all marked jobs up to date at the clock's time.

    Args:
        state: the cluster.
        scratch: shape (largest P,), float64.
    """
    clock = state.clock[0]
    marked = state.marked[: clock.num_marked]
    sort_numbers(marked)  # sums must not depend on the order of decisions
    clock.num_marked = 0
    for job in marked:
        if state.jobs[job].dirty == 0:
            continue  # it has ended since
        if state.jobs[job].status == STOPPED:
            settle(state, job, clock.time, False)
            end_job(state, job, STOPPED)
        else:
            _refresh_job(state, job, scratch)


@kernel
def _refresh_job(state: State, job: int, scratch: Array) -> None:
    row = state.jobs[job]
    now = state.clock[0].time
    seconds, sent = iteration_time_and_bytes(state, job, scratch)
    touched = row.dirty == 2
    row.dirty = 0
    if not touched and seconds == row.iteration_time and sent == row.bytes_per_iteration:
        return
    settle(state, job, now, False)
    row.iteration_time = seconds
    row.bytes_per_iteration = sent
    row.held_gpus = row.running_replicas * row.partitions
    if row.running_replicas == 0:
        row.stalled_until = -np.inf
        row.stall_due = 0.0
        set_finish(state, job, np.inf)
        return
    if row.stall_due > 0.0:
        row.stalled_until = max(row.stalled_until, now + row.stall_due)
        row.stall_due = 0.0
    if np.isnan(row.first_start):
        row.first_start = now
    left = (row.max_iterations - row.progress) * seconds
    set_finish(state, job, snap(max(now, row.stalled_until) + left))
