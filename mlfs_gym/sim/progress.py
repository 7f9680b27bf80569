"""What a job has done since it was last looked at: iterations, accuracy, bytes, service, waiting."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, State
from mlfs_gym.cluster.decisions import release_all
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.waiting import end_waiting, position_of
from mlfs_gym.sim.finishing import set_finish
from mlfs_gym.workloads.curves import accuracy, best_iteration, observed_loss

REQUIREMENT_TOLERANCE = 1e-9


@kernel
def settle(state: State, job: int, time: float, complete: bool) -> None:
    """Bring one job's progress and accounts up to a time, at the speed it has had since the last time.

    Args:
        state: the cluster.
        job: an active job.
        time: s, not before the job's ``settled_at``.
        complete: True if the job reaches its last iteration exactly now.
    """
    row = state.jobs[job]
    begin = row.settled_at
    row.settled_at = time
    if row.held_gpus == 0:
        row.waiting_time += time - begin
        return
    row.attained_service += (time - begin) * row.held_gpus
    moving_from = max(begin, row.stalled_until)
    before = row.progress
    if complete:
        row.progress = row.max_iterations
    elif time > moving_from:
        row.progress = min(float(row.max_iterations), before + (time - moving_from) / row.iteration_time)
    gained = row.progress - before
    if gained == 0.0:
        return
    sent = gained * row.bytes_per_iteration
    row.bytes_sent += sent
    state.clock[0].bytes_sent += sent
    row.accuracy = accuracy(row, row.progress)
    if np.floor(row.progress) > np.floor(before):
        _report_losses(state, job)
    if time <= row.deadline:
        _learn_in_time(state, job, before, row.progress)
    elif begin < row.deadline:
        at_deadline = before + max(0.0, row.deadline - moving_from) / row.iteration_time
        _learn_in_time(state, job, before, min(at_deadline, row.progress))


@kernel
def _learn_in_time(state: State, job: int, before: float, after: float) -> None:
    """Account for iterations that were done by the deadline."""
    row = state.jobs[job]
    clock = state.clock[0]
    reached = row.accuracy if after == row.progress else accuracy(row, after)
    clock.accuracy_sum += reached - row.accuracy_by_deadline
    row.accuracy_by_deadline = reached
    if row.requirement_met == 1:
        return
    # Overfitting may have taken away again what had been reached in between.
    peak = min(max(best_iteration(row), before), after)
    best = reached if peak == after else accuracy(row, peak)
    if best >= row.required_accuracy - REQUIREMENT_TOLERANCE:
        row.requirement_met = 1
        clock.requirements_met += 1


@kernel
def observe(state: State) -> None:
    """Settle all active jobs now."""
    clock = state.clock[0]
    for position in range(clock.num_active):
        settle(state, state.active[position], clock.time, False)


@kernel
def begin_learning(state: State, job: int) -> None:
    """What a job that has just arrived reports before its first iteration."""
    row = state.jobs[job]
    _report_losses(state, job)
    row.first_loss = row.loss
    if state.clock[0].time <= row.deadline:
        _learn_in_time(state, job, 0.0, 0.0)  # a requirement of 0 is met at once


@kernel
def _report_losses(state: State, job: int) -> None:
    """Losses after the last whole iteration and the one before it, as a user would see them."""
    row = state.jobs[job]
    seed = state.clock[0].seed
    iteration = int(np.floor(row.progress))
    row.loss = observed_loss(seed, job, row, iteration)
    row.previous_loss = observed_loss(seed, job, row, max(0, iteration - 1))


@kernel
def end_job(state: State, job: int, status: int) -> None:
    """Take a job that ends now out of the active list and count it."""
    clock = state.clock[0]
    row = state.jobs[job]
    row.status = status
    row.finish = clock.time
    set_finish(state, job, np.inf)
    row.iteration_time = np.inf
    row.bytes_per_iteration = 0.0
    row.held_gpus = 0
    row.dirty = 0
    if row.finish <= row.deadline:
        clock.deadlines_met += 1
    clock.num_done += 1
    position = position_of(state.active, clock.num_active, job)
    for later in range(position + 1, clock.num_active):
        state.active[later - 1] = state.active[later]
    clock.num_active -= 1


@kernel
def complete_job(state: State, job: int) -> None:
    """A job has reached its last iteration."""
    settle(state, job, state.clock[0].time, True)
    release_all(state, job)
    end_waiting(state, job)
    end_job(state, job, FINISHED)
