"""Which jobs must be consolidated: Tiresias' profile-based placement (Gu et al., NSDI 2019, section 3.3)."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.preemptive import ONE_SERVER, SPREAD


@kernel
def needs_consolidation(state: State, job: int, skew: float, exchange: float) -> bool:
    """True if a job's traffic makes it pay to wait for one server.

    Tiresias profiles the messages of a model and consolidates those whose largest tensor stands out. Here
    a job's parameters are known by partition, and the traffic of the gradient exchange by size.

    Args:
        state: the cluster.
        job: the job.
        skew: consolidate if the largest partition has more than this times the mean of the parameters.
        exchange: consolidate if exchanging the largest partition's gradients over the network takes more
            than this part of an undisturbed iteration.
    """
    row = state.jobs[job]
    largest = 0.0
    for task in range(row.first_task, row.first_task + row.partitions):
        largest = max(largest, state.tasks[task].parameter_share)
    if largest * row.partitions > skew:
        return True
    seconds = 2.0 * largest * row.gradient_bytes / state.servers[0].nic
    return bool(seconds > exchange * row.ideal_iteration_time)


@kernel
def _fill_styles(state: State, jobs: Array, skew: float, exchange: float, styles: Array) -> None:
    for position in range(jobs.shape[0]):
        styles[position] = ONE_SERVER if needs_consolidation(state, jobs[position], skew, exchange) else SPREAD


def placement_styles(state: State, jobs: Array, skew: float, exchange: float) -> Array:
    """Styles of `mlfs_gym.schedulers.preemptive` for jobs, shape (n,); arguments as of `needs_consolidation`."""
    styles = np.empty(len(jobs), np.int64)
    _fill_styles(state, jobs, skew, exchange, styles)
    return styles
