"""How long a job has been served without interruption: what keeps preemptive schedulers from thrashing."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import RUNNING, State
from mlfs_gym.cluster.jit import kernel

TOLERANCE = 1e-6  # s, times are on a grid of microseconds


@kernel
def serving_since(state: State, job: int) -> float:
    """When a running job began to make progress after its last restart or move; s.

    Read off the state, so that schedulers need no books of their own. Where restarts cost nothing it is the
    job's first start: there is nothing to protect then.
    """
    row = state.jobs[job]
    if row.stalled_until > -np.inf:
        return float(row.stalled_until)
    return float(row.first_start)


@kernel
def had_its_quantum(state: State, job: int, quantum: float) -> bool:
    """True if a job runs and has made progress for so many seconds: it may be preempted.

    Every stay on the cluster thus brings a job forward, and however often jobs preempt each other, all of them end.
    """
    if state.jobs[job].status != RUNNING:
        return False
    return bool(state.clock[0].time - serving_since(state, job) >= quantum - TOLERANCE)
