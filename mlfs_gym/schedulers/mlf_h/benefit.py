"""Does a move pay? The speed that it gains on both servers, against the stall of the job that moves."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.booking import bind, unbind, update_span
from mlfs_gym.cluster.decisions import restart_seconds
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.sorting import sort_numbers
from mlfs_gym.schedulers.mlf_h.survey import Survey
from mlfs_gym.sim.speed import iteration_time_and_bytes


@kernel
def move_pays(state: State, task: int, server: int, gpu: int, params: Array, survey: Survey) -> bool:
    """Try a move, compare speeds of all jobs on the two servers, and undo it.

    The gain is in GPU-seconds of ideal run time over the horizon, at most the rest of the job's run; the
    cost is what the stalled job would have done meanwhile.

    Args:
        state: the cluster; placements are unchanged on return.
        task: the task.
        server: its new server.
        gpu: its new GPU, NONE for a parameter server.
        params: shape (1,), dtype `PARAMS`.
        survey: of this cluster.
    """
    row = state.tasks[task]
    job = state.jobs[row.job]
    affected = survey.jobs[: _find_jobs_on(state, row.server, server, survey.jobs)]
    before = _total_speed(state, affected, survey.priorities)
    own = _speed(state, row.job, survey.priorities)

    old_server = row.server
    old_gpu = row.gpu
    _shift(state, task, server, gpu)
    after = _total_speed(state, affected, survey.priorities)
    _shift(state, task, old_server, old_gpu)

    remaining = (job.max_iterations - job.progress) * job.ideal_iteration_time
    horizon = min(params[0].benefit_horizon_seconds, remaining)
    share = row.parameter_share if row.partition != NONE else 1.0
    stall = restart_seconds(state, row.job) + share * job.checkpoint_bytes / state.servers[server].nic
    return (after - before) * horizon > own * stall


@kernel
def _shift(state: State, task: int, server: int, gpu: int) -> None:
    unbind(state, task)
    bind(state, task, server, gpu)
    update_span(state, state.tasks[task].job)


@kernel
def _find_jobs_on(state: State, one: int, other: int, found: Array) -> int:
    """The different jobs that have tasks on either of two servers, in ascending order. Returns how many."""
    count = 0
    for side in range(2):
        task = state.servers[one if side == 0 else other].first_task
        while task != NONE:
            job = state.tasks[task].job
            known = False
            for index in range(count):
                known = known or found[index] == job
            if not known:
                found[count] = job
                count += 1
            task = state.tasks[task].next_on_server
    sort_numbers(found[:count])
    return count


@kernel
def _speed(state: State, job: int, scratch: Array) -> float:
    """GPUs' worth of ideal progress: 1 per GPU for a job that runs in full and without contention."""
    seconds, _ = iteration_time_and_bytes(state, job, scratch)
    return state.jobs[job].num_gpus * state.jobs[job].ideal_iteration_time / seconds


@kernel
def _total_speed(state: State, jobs: Array, scratch: Array) -> float:
    total = 0.0
    for job in jobs:
        total += _speed(state, job, scratch)
    return total
