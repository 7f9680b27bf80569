"""Put tasks on servers and take them off: lists, sums and the marks of who is affected.

These are the only functions that change what a server or a GPU holds.
"""

from __future__ import annotations

from mlfs_gym.cluster.arrays import NONE, State
from mlfs_gym.cluster.demand import demand_factor, scaled
from mlfs_gym.cluster.jit import kernel

MILLI = 1000  # one GPU


@kernel
def mark(state: State, job: int, dirty: int) -> None:
    """The speed of a job must be computed again; `dirty` is 1 because of a neighbour, 2 because it was placed anew."""
    row = state.jobs[job]
    if row.dirty == 0:
        clock = state.clock[0]
        state.marked[clock.num_marked] = job
        clock.num_marked += 1
    row.dirty = max(row.dirty, dirty)


@kernel
def mark_server(state: State, server: int) -> None:
    """The speed of every job on this server must be computed again."""
    task = state.servers[server].first_task
    while task != NONE:
        mark(state, state.tasks[task].job, 1)
        task = state.tasks[task].next_on_server


@kernel
def book(state: State, task: int, gpu_used: int, cpu_used: int, nic_used: int) -> None:
    """Set what a placed task uses, and mark its neighbours if that slows them down or frees them.

    Nobody else is affected as long as no resource is oversubscribed, before or after.
    """
    row = state.tasks[task]
    server = state.servers[row.server]
    more_gpu = gpu_used - row.gpu_used
    more_cpu = cpu_used - row.cpu_used
    more_nic = nic_used - row.nic_used
    row.gpu_used = gpu_used
    row.cpu_used = cpu_used
    row.nic_used = nic_used
    server.version += 1

    affects = False
    if more_gpu != 0:
        gpu = state.gpus[row.gpu]
        affects = max(gpu.used, gpu.used + more_gpu) > MILLI
        gpu.used += more_gpu
        server.gpu_used += more_gpu
    if more_cpu != 0:
        affects = affects or max(server.cpu_used, server.cpu_used + more_cpu) > server.cpu
        server.cpu_used += more_cpu
    if more_nic != 0:
        affects = affects or max(server.nic_used, server.nic_used + more_nic) > server.nic
        server.nic_used += more_nic
    if affects and state.clock[0].contention == 1:
        mark_server(state, row.server)


@kernel
def count_on_gpu(state: State, gpu: int, change: int) -> None:
    """One task more (1) or less (-1) on a GPU, which may take it out of the free ones or back."""
    device = state.gpus[gpu]
    free_before = device.num_tasks == 0
    device.num_tasks += change
    freed = (device.num_tasks == 0) - free_before
    state.servers[device.server].free_gpus += freed
    state.clock[0].free_gpus += freed


@kernel
def bind(state: State, task: int, server: int, gpu: int) -> None:
    """Place one task: link it, reserve its memory, book its compute. Its NIC demand comes with `update_span`."""
    row = state.tasks[task]
    host = state.servers[server]
    row.server = server
    row.gpu = gpu
    row.previous_on_server = NONE
    row.next_on_server = host.first_task
    if host.first_task != NONE:
        state.tasks[host.first_task].previous_on_server = task
    host.first_task = task
    host.num_tasks += 1
    host.memory_used += row.memory
    if gpu != NONE:
        count_on_gpu(state, gpu, 1)
        state.gpus[gpu].memory_used += row.gpu_memory
    factor = demand_factor(state, task)
    gpu_used = scaled(row.gpu_demand, factor) if gpu != NONE else 0
    book(state, task, gpu_used, scaled(row.cpu_demand, factor), 0)


@kernel
def unbind(state: State, task: int) -> None:
    """Take one task off its server."""
    book(state, task, 0, 0, 0)
    row = state.tasks[task]
    host = state.servers[row.server]
    if row.previous_on_server == NONE:
        host.first_task = row.next_on_server
    else:
        state.tasks[row.previous_on_server].next_on_server = row.next_on_server
    if row.next_on_server != NONE:
        state.tasks[row.next_on_server].previous_on_server = row.previous_on_server
    host.num_tasks -= 1
    host.memory_used -= row.memory
    if row.gpu != NONE:
        count_on_gpu(state, row.gpu, -1)
        state.gpus[row.gpu].memory_used -= row.gpu_memory
    row.server = NONE
    row.gpu = NONE
    row.next_on_server = NONE
    row.previous_on_server = NONE


@kernel
def update_span(state: State, job: int) -> None:
    """Book NIC demand for all tasks of a job if they sit on more than one server, else for none."""
    row = state.jobs[job]
    first = row.first_task
    last = first + row.num_tasks
    home = NONE
    spans = 0
    for task in range(first, last):
        server = state.tasks[task].server
        if server == NONE:
            continue
        if home == NONE:
            home = server
        elif server != home:
            spans = 1
            break
    row.spans_servers = spans
    for task in range(first, last):
        placed = state.tasks[task]
        if placed.server == NONE:
            continue
        nic_used = 0
        if spans == 1:
            nic_used = scaled(placed.nic_demand, demand_factor(state, task))
        if nic_used != placed.nic_used:
            book(state, task, placed.gpu_used, placed.cpu_used, nic_used)


@kernel
def redraw(state: State, job: int) -> None:
    """Book the demands of the present period for all placed tasks of a job."""
    row = state.jobs[job]
    for task in range(row.first_task, row.first_task + row.num_tasks):
        placed = state.tasks[task]
        if placed.server == NONE:
            continue
        factor = demand_factor(state, task)
        nic_used = scaled(placed.nic_demand, factor) if row.spans_servers == 1 else 0
        gpu_used = scaled(placed.gpu_demand, factor) if placed.gpu != NONE else 0
        book(state, task, gpu_used, scaled(placed.cpu_demand, factor), nic_used)
