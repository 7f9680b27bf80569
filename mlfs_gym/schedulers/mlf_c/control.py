"""Which jobs are to end: stop options, downgrades in overload, and work that adds little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from mlfs_gym.cluster.arrays import STOP_FIXED, STOP_OPTIMAL, STOP_REQUIRED_ACCURACY, Array, State
from mlfs_gym.cluster.bundle import Bundle, Of
from mlfs_gym.cluster.decisions import is_active, stop_job
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.mlf_c.overload_degree import cluster_overload_degree
from mlfs_gym.schedulers.mlf_c.params import PARAMS, MLFCParams
from mlfs_gym.schedulers.opt_stop.compiled import STOPPING, new_stopping, observe
from mlfs_gym.schedulers.opt_stop.decision import Reason
from mlfs_gym.sim.progress import REQUIREMENT_TOLERANCE
from mlfs_gym.sim.reports import report

RECENT = 0.1  # weight of the last iteration in the mean of recent loss reductions

# Values of learnt["reason"]: why MLF-C ended a job.
NOT_STOPPED: Final = 0
REQUIRED_ACCURACY: Final = 1
OPT_STOP: Final = 2
ADDS_LITTLE: Final = 3

LEARNT: Final = np.dtype(
    [
        ("iteration", np.int64),  # reports taken in
        ("first_loss", np.float64),  # after iteration 1
        ("last_loss", np.float64),
        ("recent_gain", np.float64),  # loss reduction per iteration, exponential mean
        ("best_accuracy", np.float64),
        ("opt_stop", np.int64),  # 1: OptStop ends the job
        ("reason", np.int64),  # why MLF-C ended the job
    ],
    align=True,
)

LAST_ITERATION: Final = int(Reason.LAST_ITERATION)

MEMORY: Final = np.dtype([("left_waiting", np.int32), ("overloaded", np.int32)], align=True)


@dataclass(frozen=True, eq=False, repr=False)
class LoadControl(Bundle):
    """What MLF-C knows.

    Attributes:
        params: shape (1,), dtype `params.PARAMS`.
        stopping: shape (J,), dtype `opt_stop.STOPPING`: the optimal-stopping form of OptStop of each job.
        learnt: shape (J,), dtype `LEARNT`.
        memory: shape (1,), dtype `MEMORY`: whether the last round left jobs waiting, and whether the cluster was
            overloaded at the last look.
    """

    params: Annotated[Array, Of(PARAMS)]
    stopping: Annotated[Array, Of(STOPPING)]
    learnt: Annotated[Array, Of(LEARNT)]
    memory: Annotated[Array, Of(MEMORY)]


def new_control(jobs: Array, params: MLFCParams) -> LoadControl:
    """For jobs that have not begun; `jobs` has shape (J,) and dtype `JOB`."""
    required = jobs["required_accuracy"] - REQUIREMENT_TOLERANCE
    stopping = new_stopping(jobs["max_iterations"], required if params.safe else None)
    return LoadControl(params.record(), stopping, np.zeros(len(jobs), LEARNT), np.zeros(1, MEMORY))


@kernel
def learn(control: LoadControl, jobs: Array, losses: Array, accuracies: Array) -> None:
    """Take in what jobs have reported: one entry per iteration of a job, its iterations in order.

    Args:
        control: changed in place.
        jobs: shape (n,), int64.
        losses: shape (n,).
        accuracies: shape (n,).
    """
    for index in range(jobs.shape[0]):
        _learn(control, jobs[index], losses[index], accuracies[index])


@kernel
def learn_all(state: State, control: LoadControl) -> None:
    """Take in all that jobs have reported in a simulation since the last time, as `learn` does.

    Args:
        state: the cluster, observed.
        control: changed in place.
    """
    for position in range(state.clock[0].num_active):
        job = state.active[position]
        while control.learnt[job].iteration < int(state.jobs[job].progress):
            loss, reached = report(state, job, control.learnt[job].iteration + 1)
            _learn(control, job, loss, reached)


@kernel
def _learn(control: LoadControl, job: int, loss: float, reached: float) -> None:
    """Take in the loss and the accuracy of a job's next iteration."""
    row = control.learnt[job]
    row.iteration += 1
    if row.iteration == 1:
        row.first_loss = loss
    else:
        gain = row.last_loss - loss
        weight = RECENT if row.iteration > 2 else 1.0  # the first difference starts the mean
        row.recent_gain += weight * (gain - row.recent_gain)
    row.last_loss = loss
    row.best_accuracy = max(row.best_accuracy, reached)
    if control.params[0].predict == 0:
        ends = observe(control.stopping, job, loss, reached)
        row.opt_stop = 1 if ends and control.stopping[job].reason != LAST_ITERATION else 0


@kernel
def is_overloaded(state: State, control: LoadControl) -> bool:
    """True if the last round left tasks queued, or the cluster's overload degree exceeds hs."""
    if control.memory[0].left_waiting == 1:
        return True
    return cluster_overload_degree(state) > control.params[0].overload_degree


@kernel
def stop_option_now(state: State, job: int, control: LoadControl) -> int:
    """What the owner picked; in overload the furthest downgrade that the owner permits (i -> ii -> iii)."""
    row = state.jobs[job]
    if control.memory[0].overloaded == 1 and control.params[0].downgrade == 1:
        return max(row.stop_option, row.stop_option_limit)
    return row.stop_option


@kernel
def adds_little(state: State, job: int, control: LoadControl) -> bool:
    """True if the iterations to come, at the pace of the last ones, would add only a small part to what was gained.

    Losses fall ever more slowly, so this bounds what they can add.
    """
    row = control.learnt[job]
    gained = row.first_loss - row.last_loss
    to_come = state.jobs[job].max_iterations - row.iteration
    return gained > 0.0 and row.recent_gain * to_come < control.params[0].least_gain * gained


@kernel
def reason_to_stop(state: State, job: int, control: LoadControl) -> int:
    """Why an active job should end now; NOT_STOPPED if it should go on."""
    option = stop_option_now(state, job, control)
    row = control.learnt[job]
    if option == STOP_FIXED or row.iteration == 0:
        return NOT_STOPPED
    reached = row.best_accuracy >= state.jobs[job].required_accuracy - REQUIREMENT_TOLERANCE
    if option == STOP_REQUIRED_ACCURACY and reached:
        return REQUIRED_ACCURACY
    if control.params[0].safe == 1 and not reached:
        return NOT_STOPPED
    if option == STOP_OPTIMAL and row.opt_stop == 1:
        return OPT_STOP
    if control.memory[0].overloaded == 1 and adds_little(state, job, control):
        return ADDS_LITTLE
    return NOT_STOPPED


@kernel
def control_load(state: State, control: LoadControl) -> int:
    """Look at the load, and end the jobs that are to end. Returns how many.

    Args:
        state: the cluster, observed.
        control: has learnt all that jobs have reported; remembers whether the cluster is overloaded.
    """
    control.memory[0].overloaded = 1 if is_overloaded(state, control) else 0
    stopped = 0
    for position in range(state.clock[0].num_active):
        job = state.active[position]
        if not is_active(state, job):
            continue
        reason = reason_to_stop(state, job, control)
        if reason != NOT_STOPPED and stop_job(state, job):
            control.learnt[job].reason = reason
            stopped += 1
    return stopped


@kernel
def end_round(state: State, control: LoadControl) -> float:
    """Remember whether the round leaves jobs waiting.

    Returns:
        Seconds until the next look: `check_seconds` if some job may be stopped as things are, else inf.
    """
    memory = control.memory[0]
    memory.left_waiting = 1 if state.clock[0].num_waiting > 0 else 0
    memory.overloaded = 1 if is_overloaded(state, control) else 0
    for position in range(state.clock[0].num_active):
        job = state.active[position]
        running = is_active(state, job) and state.jobs[job].running_replicas > 0
        if running and stop_option_now(state, job, control) != STOP_FIXED:
            return control.params[0].check_seconds
    return np.inf
