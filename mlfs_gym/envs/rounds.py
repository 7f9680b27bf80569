"""From one round with something to decide to the next, with MLF-C at work in between if it is on."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.overload import any_overloaded
from mlfs_gym.schedulers.mlf_c.control import LoadControl, control_load, end_round, learn_all
from mlfs_gym.sim.engine import DONE, LIMIT, OVERLOADED_ABOVE, ROUND, STUCK, advance, begin_round
from mlfs_gym.sim.progress import observe
from mlfs_gym.sim.refresh import refresh


@kernel
def pass_time(state: State, control: LoadControl, scratch: Array) -> int:
    """End the round: decisions take effect, and time passes until the next round or the end.

    With MLF-C, jobs are looked at in between and may be stopped, as `mlf_c.scheduler.MLFC` does around a scheduler.

    Args:
        state: the cluster.
        control: MLF-C; without jobs if it is off.
        scratch: shape (largest P,), float64.

    Returns:
        Why time stopped (`sim.engine`): ROUND, DONE or LIMIT.
    """
    refresh(state, scratch)
    if control.learnt.shape[0] == 0:
        reason = _next_round(state, scratch, np.inf)
        observe(state)
        return reason
    clock = state.clock[0]
    ended, arrived, period = clock.num_done, clock.next_arrival, clock.period
    while True:
        reason = _next_round(state, scratch, end_round(state, control))
        observe(state)
        if reason != ROUND:
            return reason
        learn_all(state, control)
        stopped = control_load(state, control)
        news = stopped > 0 or clock.num_done > ended or clock.next_arrival > arrived or clock.period > period
        if stopped > 0:
            refresh(state, scratch)
            ended += stopped  # what they leave is offered now, or nobody wants it
            if clock.num_done == state.jobs.shape[0]:
                return DONE
        if news and (clock.num_waiting > 0 or any_overloaded(state, OVERLOADED_ABOVE)):
            clock.changed = 0
            return ROUND


@kernel
def _next_round(state: State, scratch: Array, wake_every: float) -> int:
    reason = advance(state, scratch, wake_every, False)
    if reason != STUCK:
        return reason
    # Only an agent that ignores its mask gets here. It gets a round later what it could have had now.
    clock = state.clock[0]
    later = clock.time + clock.round_seconds
    if later > clock.time_limit:
        return LIMIT
    clock.jct_integral += clock.num_active * clock.round_seconds
    clock.time = later
    begin_round(state)
    return ROUND
