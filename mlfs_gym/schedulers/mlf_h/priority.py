"""Task and job priorities, eqs 2 to 6 (CoNEXT 2020, section 3.3.1; ToN 2022). Times are in hours."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.sorting import sort_with

HOUR = 3600.0
SMALLEST_TIME_HOURS = 1e-6  # where the letter would divide by zero


@kernel
def loss_progress(state: State, job: int) -> float:
    """The share of the loss reduction so far that the last iteration brought: dl_{I-1} / sum_{j<I} dl_j.

    1 before the second iteration (everything there is to gain lies ahead), 0 if the loss has not fallen.
    """
    row = state.jobs[job]
    if row.progress < 1.0:
        return 1.0
    so_far = row.first_loss - row.loss
    if so_far <= 0.0:
        return 0.0
    return (row.previous_loss - row.loss) / so_far


@kernel
def base_ml_priority(state: State, job: int, params: Array) -> float:
    """P0_ML of a partition that holds the whole model: L_J * (1/I) * loss progress (eq. 2 without S_k / S_J)."""
    row = state.jobs[job]
    iteration = np.floor(row.progress) + 1.0
    urgency = row.urgency if params[0].use_urgency == 1 else 1.0
    return urgency / iteration * loss_progress(state, job)


@kernel
def base_computation_priority(state: State, job: int, params: Array) -> float:
    """P0_C = gd / (d - t) + gr / r + gw * w, hours (eq. 4)."""
    row = state.jobs[job]
    p = params[0]
    to_deadline = (row.deadline - state.clock[0].time) / HOUR
    if p.deadline_floor_hours > 0.0:
        to_deadline = max(to_deadline, p.deadline_floor_hours)
    if abs(to_deadline) < SMALLEST_TIME_HOURS:
        to_deadline = SMALLEST_TIME_HOURS
    remaining = (row.max_iterations - row.progress) * row.ideal_iteration_time / HOUR
    remaining = max(remaining, SMALLEST_TIME_HOURS)
    waiting = row.waiting_time / HOUR
    return p.gamma_deadline / to_deadline + p.gamma_remaining / remaining + p.gamma_waiting * waiting


@kernel
def partition_priorities(state: State, job: int, params: Array, priorities: Array) -> float:
    """Priority of each partition's task (eqs 3, 5, 6) and of the job, which is that of its most urgent task.

    The same for all replicas. The parameter server comes before all of them by rule, not by number.

    Args:
        state: the cluster, observed.
        job: an active job.
        params: shape (1,), dtype `PARAMS`.
        priorities: shape (P,) or more; receives the priorities.

    Returns:
        The priority of the job, per GPU if the parameters say so.
    """
    row = state.jobs[job]
    p = params[0]
    ml = base_ml_priority(state, job, params)
    computation = base_computation_priority(state, job, params)
    # Both recursions are linear in the task's own term, so their blend (eq. 6) can be summed in one pass.
    for partition in range(row.partitions):
        share = state.tasks[row.first_task + partition].parameter_share
        priorities[partition] = p.alpha * ml * share + (1.0 - p.alpha) * computation
    # Edges are sorted by target: backwards, a partition's children are complete before it is added to a parent.
    for edge in range(row.first_edge + row.num_edges - 1, row.first_edge - 1, -1):
        arrow = state.edges[edge]
        priorities[arrow.source] += p.gamma * priorities[arrow.target]
    highest = -np.inf
    for partition in range(row.partitions):
        highest = max(highest, priorities[partition])
    if p.per_gpu == 1:
        highest /= row.num_gpus
    return highest


@kernel
def waiting_by_priority(state: State, params: Array, scratch: Array, jobs: Array, keys: Array) -> int:
    """Waiting jobs, the highest priority first; the earlier arrival among equals.

    Args:
        state: the cluster, observed.
        params: shape (1,), dtype `PARAMS`.
        scratch: shape (largest P,), float64.
        jobs: shape (J,), int64, receives the jobs.
        keys: shape (J,), float64, receives their priorities times -1.

    Returns:
        How many.
    """
    count = state.clock[0].num_waiting
    for position in range(count):
        jobs[position] = state.waiting[position]
        keys[position] = -partition_priorities(state, jobs[position], params, scratch)
    sort_with(keys[:count], jobs[:count])
    return count
