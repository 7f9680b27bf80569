"""The event loop: lets time pass until a scheduler must decide.

Between two events every speed is constant. Events at the same time are taken in a fixed order:
completions, demand redraw, arrivals, then the scheduling round; among equals the lower job first.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import NONE, QUEUED, Array, State
from mlfs_gym.cluster.booking import redraw
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.overload import any_overloaded, count_overloads
from mlfs_gym.cluster.waiting import begin_waiting
from mlfs_gym.sim.finishing import next_to_finish
from mlfs_gym.sim.grid import snap
from mlfs_gym.sim.progress import begin_learning, complete_job, settle
from mlfs_gym.sim.refresh import refresh

# What `advance` stopped for.
ROUND: Final = 0  # the scheduler decides
DONE: Final = 1  # all jobs have ended
LIMIT: Final = 2  # the time limit is reached
STUCK: Final = 3  # nothing runs, nothing will arrive, and the scheduler placed nothing
EVENT: Final = 4  # one event has been processed (only when asked to stop after each)

# Kinds of event.
COMPLETION: Final = 0
REDRAW: Final = 1
ARRIVAL: Final = 2

OVERLOADED_ABOVE = 1.0  # capacity: beyond it tasks slow each other down, and a round may help


@kernel
def advance(state: State, scratch: Array, wake_every: float, one_event: bool) -> int:
    """Process events until the next round, the end, or (if asked) for one event.

    Args:
        state: the cluster, up to date (`refresh`).
        scratch: shape (largest P,), float64.
        wake_every: s; while jobs are active there is a round at least this often. inf: only when
            something has changed that a scheduler could react to.
        one_event: stop after each event (to compare trajectories).
    """
    clock = state.clock[0]
    while clock.num_done < state.jobs.shape[0]:
        time, kind, job = next_event(state)
        round_time = next_round(state, wake_every)
        if min(time, round_time) == np.inf:
            return STUCK
        if min(time, round_time) > clock.time_limit:
            _pass_time(state, clock.time_limit)
            _settle_all(state)
            return LIMIT
        if round_time < time:
            _pass_time(state, round_time)
            begin_round(state)
            return ROUND
        _pass_time(state, time)
        _process(state, kind, job)
        clock.changed = 1
        refresh(state, scratch)
        if one_event:
            return EVENT
    return DONE


@kernel
def next_event(state: State) -> tuple[float, int, int]:
    """Time, kind and job of the next completion, redraw or arrival; time inf if there is none."""
    clock = state.clock[0]
    time = np.inf
    kind = COMPLETION
    who = next_to_finish(state)
    if who != NONE:
        time = state.jobs[who].finish_at
    if clock.fluctuation > 0.0 and clock.num_running > 0:
        redraw_time = snap((clock.period + 1) * clock.redraw_seconds)
        if redraw_time < time:
            time = redraw_time
            kind = REDRAW
            who = NONE
    if clock.next_arrival < state.jobs.shape[0]:
        arrival = state.jobs[clock.next_arrival].arrival
        if arrival < time:
            time = arrival
            kind = ARRIVAL
            who = clock.next_arrival
    return time, kind, who


@kernel
def next_round(state: State, wake_every: float) -> float:
    """Time of the next round, inf if there is nothing to decide until something happens."""
    clock = state.clock[0]
    time = np.inf
    if clock.changed == 1 and clock.num_active > 0:
        if clock.num_waiting > 0 or any_overloaded(state, OVERLOADED_ABOVE):
            time = _boundary(state, clock.time)
        else:
            clock.changed = 0  # looked at: ask again when something happens
    if clock.num_active > 0 and wake_every < np.inf and clock.last_round > -np.inf:
        # Not before now: there may have been nothing to wake up for, and time has passed.
        time = min(time, _boundary(state, max(clock.time, clock.last_round + wake_every)))
    return time


@kernel
def _boundary(state: State, earliest: float) -> float:
    """The first multiple of the round time not before `earliest`, and never the last round's again."""
    clock = state.clock[0]
    # Quotients of floats only come near: from a multiple that is surely too early on, the grid decides.
    number = max(0.0, np.floor(earliest / clock.round_seconds) - 1.0)
    while snap(number * clock.round_seconds) < earliest:
        number += 1.0
    if snap(number * clock.round_seconds) == clock.last_round:
        number += 1.0
    return snap(number * clock.round_seconds)


@kernel
def begin_round(state: State) -> None:
    """Open a scheduling round at the clock's time."""
    clock = state.clock[0]
    clock.rounds += 1
    clock.last_round = clock.time
    clock.changed = 0
    if clock.num_running == 0:
        clock.period = _present_period(state)
    count_overloads(state)


@kernel
def _present_period(state: State) -> int:
    """Number of the demand period that the clock's time lies in; periods begin on the grid."""
    clock = state.clock[0]
    period = max(0, int(np.floor(clock.time / clock.redraw_seconds)) - 1)
    while snap((period + 1) * clock.redraw_seconds) <= clock.time:
        period += 1
    return period


@kernel
def _pass_time(state: State, time: float) -> None:
    clock = state.clock[0]
    clock.jct_integral += clock.num_active * (time - clock.time)
    clock.time = time


@kernel
def _settle_all(state: State) -> None:
    clock = state.clock[0]
    for position in range(clock.num_active):
        settle(state, state.active[position], clock.time, False)


@kernel
def _process(state: State, kind: int, job: int) -> None:
    clock = state.clock[0]
    if kind == COMPLETION:
        complete_job(state, job)
    elif kind == REDRAW:
        clock.period += 1
        for position in range(clock.num_active):
            if state.jobs[state.active[position]].running_replicas > 0:
                redraw(state, state.active[position])
        count_overloads(state)
    else:
        row = state.jobs[job]
        row.status = QUEUED
        row.settled_at = clock.time
        begin_learning(state, job)
        state.active[clock.num_active] = job
        clock.num_active += 1
        begin_waiting(state, job)
        clock.next_arrival += 1
