"""What running jobs have reported since somebody last listened: loss and accuracy of each whole iteration."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.workloads.curves import accuracy, observed_loss


@kernel(allocates=True)
def new_reports(state: State, seen: Array) -> tuple[Array, Array, Array]:
    """Reports of active jobs after the iterations that are already known.

    Args:
        state: the cluster, observed.
        seen: shape (J,), whole iterations of each job that are known.

    Returns:
        Jobs (int64), losses and accuracies, each of shape (n,); the iterations of a job in order.
    """
    clock = state.clock[0]
    count = 0
    for position in range(clock.num_active):
        job = state.active[position]
        count += max(0, int(state.jobs[job].progress) - seen[job])
    jobs = np.empty(count, np.int64)
    losses = np.empty(count, np.float64)
    accuracies = np.empty(count, np.float64)
    index = 0
    for position in range(clock.num_active):
        job = state.active[position]
        row = state.jobs[job]
        for iteration in range(seen[job] + 1, int(row.progress) + 1):
            jobs[index] = job
            losses[index], accuracies[index] = report(state, job, iteration)
            index += 1
    return jobs, losses, accuracies


@kernel
def report(state: State, job: int, iteration: int) -> tuple[float, float]:
    """Loss and accuracy that a job reports after a whole iteration."""
    row = state.jobs[job]
    return observed_loss(state.clock[0].seed, job, row, iteration), accuracy(row, float(iteration))
