"""The four decisions, compiled: place a replica as a gang, evict a job, move a task, stop a job.

A decision changes placements at once. Its effect on progress (`sim`) or on processes (`executor`)
follows when the round is over: the marks ``dirty``, ``restart_due`` and ``stall_due`` say what to do.
"""

from __future__ import annotations

from mlfs_gym.cluster.arrays import FINISHED, NONE, PENDING, QUEUED, RUNNING, STOPPED, Array, State
from mlfs_gym.cluster.booking import bind, mark, unbind, update_span
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.waiting import begin_waiting, end_waiting


@kernel
def is_active(state: State, job: int) -> bool:
    """True if the job has arrived and not ended."""
    status = state.jobs[job].status
    return status == QUEUED or status == RUNNING


@kernel
def next_replica(state: State, job: int) -> int:
    """The first replica that does not run, NONE if all do."""
    row = state.jobs[job]
    if row.running_replicas < row.replicas:
        for replica in range(row.replicas):
            if state.tasks[row.first_task + replica * row.partitions].server == NONE:
                return replica
    return NONE


@kernel
def needs_parameter_server(state: State, job: int) -> bool:
    """True if the next replica brings the job's parameter server with it."""
    row = state.jobs[job]
    return row.parameter_server == 1 and row.running_replicas == 0


@kernel
def fits_gpu(state: State, task: int, gpu: int) -> bool:
    """Hard limits: GPU memory, host memory, and one task per GPU unless GPUs are shared."""
    device = state.gpus[gpu]
    row = state.tasks[task]
    if device.num_tasks > 0 and state.clock[0].sharing == 0:
        return False
    if device.memory_used + row.gpu_memory > device.memory:
        return False
    return fits_host(state, task, device.server)


@kernel
def fits_host(state: State, task: int, server: int) -> bool:
    """Hard limit: host memory."""
    host = state.servers[server]
    return host.memory_used + state.tasks[task].memory <= host.memory


@kernel
def restart_seconds(state: State, job: int) -> float:
    """Time to restart a job after an eviction or a move, without the transfer of its checkpoint."""
    clock = state.clock[0]
    gpus = state.jobs[job].num_gpus
    if gpus <= 1:
        return clock.restart_one_gpu
    if gpus <= 8:
        return clock.restart_up_to_8
    return clock.restart_larger


@kernel
def place_replica(state: State, job: int, hosts: Array) -> bool:
    """Place the next replica of a job, all of it or nothing.

    Args:
        state: the cluster.
        job: an active job.
        hosts: shape (P + 1,) or more; the GPU of each partition, then the server of the parameter
            server (read only if the replica brings it).

    Returns:
        False, with nothing changed, if the job has no replica to place or a hard limit forbids a host.
    """
    if not is_active(state, job):
        return False
    replica = next_replica(state, job)
    if replica == NONE:
        return False
    row = state.jobs[job]
    first = row.first_task + replica * row.partitions
    with_server = needs_parameter_server(state, job)
    server_task = row.first_task + row.num_tasks - 1

    bound = 0
    possible = True
    if with_server:
        host = hosts[row.partitions]
        possible = 0 <= host < state.servers.shape[0] and fits_host(state, server_task, host)
        if possible:
            bind(state, server_task, host, NONE)
    while possible and bound < row.partitions:
        gpu = hosts[bound]
        possible = 0 <= gpu < state.gpus.shape[0] and fits_gpu(state, first + bound, gpu)
        if possible:
            bind(state, first + bound, state.gpus[gpu].server, gpu)
            bound += 1
    if not possible:
        for partition in range(bound):
            unbind(state, first + partition)
        if with_server and state.tasks[server_task].server != NONE:
            unbind(state, server_task)
        return False

    clock = state.clock[0]
    if row.running_replicas == 0:
        row.status = RUNNING
        clock.num_running += 1
        if row.restart_due == 1:
            row.restart_due = 0
            _charge(state, job, row.checkpoint_bytes, state.gpus[hosts[0]].server)
    row.running_replicas += 1
    if row.running_replicas == row.replicas:
        end_waiting(state, job)
    mark(state, job, 2)
    row.placed_round = clock.rounds
    update_span(state, job)
    return True


@kernel
def _charge(state: State, job: int, transferred: float, server: int) -> None:
    """Restart time and the transfer of a checkpoint to a server."""
    row = state.jobs[job]
    row.stall_due += restart_seconds(state, job) + transferred / state.servers[server].nic
    row.bytes_sent += transferred
    state.clock[0].bytes_sent += transferred


@kernel
def release_all(state: State, job: int) -> None:
    """Take all placed tasks of a job off their servers."""
    row = state.jobs[job]
    for task in range(row.first_task, row.first_task + row.num_tasks):
        if state.tasks[task].server != NONE:
            unbind(state, task)
    if row.running_replicas > 0:
        state.clock[0].num_running -= 1
        if row.running_replicas == row.replicas:
            begin_waiting(state, job)
    row.running_replicas = 0
    row.spans_servers = 0
    mark(state, job, 2)


@kernel
def evict_job(state: State, job: int) -> bool:
    """Take a running job off the cluster; it queues, and pays a restart when placed again."""
    row = state.jobs[job]
    if row.status != RUNNING:
        return False
    release_all(state, job)
    row.status = QUEUED
    row.restart_due = 1
    row.placed_round = state.clock[0].rounds
    row.preemptions += 1
    state.clock[0].preemptions += 1
    return True


@kernel
def move_task(state: State, task: int, server: int, gpu: int) -> bool:
    """Move one placed task to a GPU (the parameter server: to a server). False if it may not.

    The job stalls for its restart and the transfer of the task's share of the checkpoint.
    """
    row = state.tasks[task]
    if row.server == NONE or server < 0 or server >= state.servers.shape[0]:
        return False
    if row.partition == NONE:
        if server == row.server or not fits_host(state, task, server):
            return False
        gpu = NONE
    else:
        if gpu < 0 or gpu >= state.gpus.shape[0] or gpu == row.gpu or state.gpus[gpu].server != server:
            return False
        device = state.gpus[gpu]
        if device.num_tasks > 0 and state.clock[0].sharing == 0:
            return False
        if device.memory_used + row.gpu_memory > device.memory:
            return False
        if server != row.server and not fits_host(state, task, server):
            return False
    job = row.job
    unbind(state, task)
    bind(state, task, server, gpu)
    share = row.parameter_share if row.partition != NONE else 1.0
    _charge(state, job, state.jobs[job].checkpoint_bytes * share, server)
    clock = state.clock[0]
    row.moved_at = clock.time
    state.jobs[job].migrations += 1
    clock.migrations += 1
    mark(state, job, 2)
    state.jobs[job].placed_round = clock.rounds
    update_span(state, job)
    return True


@kernel
def stop_job(state: State, job: int) -> bool:
    """End an active job now, whatever it has learned. It counts as completed."""
    if not is_active(state, job):
        return False
    release_all(state, job)
    end_waiting(state, job)
    state.clock[0].changed = 1  # its room is free: others may want it in the next round
    state.jobs[job].status = STOPPED
    return True


@kernel
def has_ended(state: State, job: int) -> bool:
    """True if the job finished or was stopped."""
    status = state.jobs[job].status
    return status == FINISHED or status == STOPPED


@kernel
def has_arrived(state: State, job: int) -> bool:
    """True if the job is no longer in the future."""
    return state.jobs[job].status != PENDING
