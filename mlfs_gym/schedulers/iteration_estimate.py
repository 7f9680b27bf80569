"""How long an iteration takes with more or fewer replicas: the profile of the job, corrected by what was measured."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import RUNNING, State
from mlfs_gym.cluster.jit import kernel


@kernel
def measured_overhead(state: State, job: int) -> float:
    """Seconds per iteration beyond the profile: gradient exchange and contention. 0 while the job does not run."""
    row = state.jobs[job]
    if row.status != RUNNING or not np.isfinite(row.iteration_time):
        return 0.0
    profile = row.replicas / row.running_replicas * row.ideal_iteration_time
    return max(0.0, row.iteration_time - profile)


@kernel
def expected_iteration_time(state: State, job: int, replicas: int) -> float:
    """Seconds per iteration with so many replicas: compute in proportion, and the overhead as it is now.

    The form of the speed function of Optimus for synchronous training (Peng et al., EuroSys 2018, section 3.2),
    with the compute time from the job's profile.
    """
    row = state.jobs[job]
    return float(row.replicas / replicas * row.ideal_iteration_time + measured_overhead(state, job))
