"""Goodput of a job by its number of replicas, and the speedup that the allocation is judged by.

Pollux (Qiao et al., OSDI 2021), section 3: GOODPUT = THROUGHPUT x EFFICIENCY. Every replica has a batch of fixed
size, and with r of R replicas running, each accumulates the gradients of R/r batches before they are exchanged. So a
step processes the same M = R batches whatever r is, and the statistical efficiency

    EFFICIENCY(M) = (phi + M0) / (phi + M)        (phi the gradient noise scale, M0 the batch that it refers to)

is the same for every allocation of a job. It cancels in the ratio of two goodputs of one job, the speedup,
which is all that the allocation looks at: what remains of the goodput is the throughput.
"""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import RUNNING, Array, State
from mlfs_gym.cluster.jit import kernel


@kernel
def exchange_seconds(state: State, job: int, replicas: float) -> float:
    """Seconds that the gradient exchange of so many replicas takes: T_sync of section 3.2.

    Nothing within a server, else what a ring or a parameter server moves through one network card.
    """
    row = state.jobs[job]
    if replicas <= 1.0 or replicas * row.partitions <= state.servers[0].num_gpus:
        return 0.0
    return 2.0 * (replicas - 1.0) / replicas * row.gradient_bytes / state.servers[0].nic


@kernel
def step_seconds(state: State, job: int, replicas: float, compute: float) -> float:
    """Seconds per iteration with so many replicas, which need not be a whole number.

    Args:
        state: the cluster.
        job: the job.
        replicas: r, above 0.
        compute: seconds of computation per iteration with all replicas, as observed; nan if the job has not run: then
            perfect scaling is assumed (Pollux's prior, section 4.1) and the unit is arbitrary.
    """
    row = state.jobs[job]
    if np.isnan(compute):
        return row.replicas / replicas
    return row.replicas / replicas * compute + exchange_seconds(state, job, replicas)


@kernel
def observe_compute(state: State, jobs: Array, compute: Array) -> None:
    """Take the computation per iteration out of the iteration times that running jobs show now.

    Args:
        state: the cluster.
        jobs: shape (n,), active jobs.
        compute: shape (J,), seconds with all replicas; the entries of running jobs are renewed.
    """
    for job in jobs:
        row = state.jobs[job]
        if row.status != RUNNING or row.iteration_time == np.inf:
            continue
        seconds = row.iteration_time
        if row.spans_servers == 1:
            exchange = exchange_seconds(state, job, float(row.running_replicas))
            seconds = max(0.1 * seconds, seconds - exchange)
        compute[job] = seconds * row.running_replicas / row.replicas


@kernel
def speedup(state: State, job: int, replicas: int, compute: float, fair_gpus: float) -> float:
    """Goodput with so many replicas over the goodput with a fair share of GPUs (section 4.2)."""
    row = state.jobs[job]
    fair = min(float(row.replicas), fair_gpus / row.partitions)
    return step_seconds(state, job, fair, compute) / step_seconds(state, job, float(replicas), compute)
