"""One decision of MLF-H at a time, and a whole round of them."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.decisions import move_task, place_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.mlf_h.benefit import move_pays
from mlfs_gym.schedulers.mlf_h.migration import move_candidates, move_host, move_targets
from mlfs_gym.schedulers.mlf_h.placement import ideal_hosts
from mlfs_gym.schedulers.mlf_h.priority import waiting_by_priority
from mlfs_gym.schedulers.mlf_h.survey import Survey


@kernel
def next_move(state: State, params: Array, survey: Survey) -> tuple[int, int]:
    """The migration that MLF-H makes now: task and server, (NONE, NONE) if none pays."""
    if params[0].migrate == 0:
        return NONE, NONE
    for index in range(move_candidates(state, params, survey.movers, survey)):
        task = survey.movers[index]
        if move_targets(state, task, params, survey) == 0:
            continue
        server = survey.targets[0]
        gpu = move_host(state, task, server, params)
        if state.tasks[task].partition == NONE:
            gpu = NONE
        if params[0].cost_benefit == 0 or move_pays(state, task, server, gpu, params, survey):
            return task, server
    return NONE, NONE


@kernel
def carry_out_move(state: State, task: int, server: int, params: Array) -> bool:
    """Move a task to a server, on the GPU that MLF-H would take there."""
    host = move_host(state, task, server, params)
    if host == NONE:
        return False
    if state.tasks[task].partition == NONE:
        return move_task(state, task, server, NONE)
    return move_task(state, task, server, host)


@kernel
def mlf_h_round(state: State, params: Array, survey: Survey) -> None:
    """A whole round: place by priority what fits, then migrate while it pays.

    Within a round placements only take room away, so a job that does not fit need not be tried again.

    Args:
        state: the cluster, observed.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster.
    """
    count = waiting_by_priority(state, params, survey.priorities, survey.jobs, survey.job_keys)
    for position in range(count):
        job = survey.jobs[position]
        while ideal_hosts(state, job, params, survey):
            if not place_replica(state, job, survey.hosts):
                break
    migrate(state, params, survey)


@kernel
def migrate(state: State, params: Array, survey: Survey) -> None:
    """Move tasks out of overloaded servers while it pays."""
    while True:
        task, server = next_move(state, params, survey)
        if task == NONE or not carry_out_move(state, task, server, params):
            return
