"""The window onto the cluster: which jobs, servers and moves an agent may choose from now.

Which waiting jobs are shown is decided by MLF-H's priority (those that fit first), but they stand in order of
arrival, and candidate servers in order of their number, so that an index carries no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from mlfs_gym.cluster.arrays import NONE, RUNNING, Array, State
from mlfs_gym.cluster.bundle import I1, I8, Bundle, Of
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.cluster.sorting import sort_numbers, sort_with
from mlfs_gym.envs.layout import Layout
from mlfs_gym.schedulers.mlf_h.migration import move_candidates, move_targets
from mlfs_gym.schedulers.mlf_h.placement import (
    enough_room,
    find_nearest_servers,
    hosting_limit,
    hosts_from,
    put_tasks_in_order,
)
from mlfs_gym.schedulers.mlf_h.priority import partition_priorities, waiting_by_priority
from mlfs_gym.schedulers.mlf_h.survey import Survey

# Indices into Window.expert.
EXPERT_SLOT = 0
EXPERT_CANDIDATE = 1


@dataclass(frozen=True, eq=False, repr=False)
class Window(Bundle):
    """What is offered.

    Attributes:
        slots: shape (K,), int64, jobs, NONE for an empty slot.
        servers: shape (K, C), int64, candidate servers of each slot, NONE: no more.
        feasible: shape (K, C), int8, 1 if the whole gang fits from there.
        spread: shape (K, C), int64, servers that the gang would use.
        moves: shape (M,), int64, tasks, NONE for none.
        move_servers: shape (M, C), int64, servers that may take them, NONE: no more.
        running: shape (Q,), int64, running jobs, NONE for none.
        preemptible: shape (Q,), int8, 1 if the job may be preempted now.
        blocked: shape (J,), int8, 1 if the job is known not to fit before the round ends.
        expert: shape (2,), int64, slot and candidate of MLF-H's placement, NONE if it places nothing.
        queue: shape (J,), int64; the first entries are the jobs that waited when the round began, by MLF-H's priority.
        queue_length: shape (1,), int64, how many; NONE if they must be put in order anew.
        fitting: shape (J,), int8, 1 if the job at this position of the queue is shown because it fits.
        found: shape (K,), int64, the jobs that fit, in the order in which they were found.
        found_servers: shape (K, 3, C), int64, their candidate servers, whether those are feasible, and their spread.
    """

    slots: Annotated[Array, Of(I8)]
    servers: Annotated[Array, Of(I8, 2)]
    feasible: Annotated[Array, Of(I1, 2)]
    spread: Annotated[Array, Of(I8, 2)]
    moves: Annotated[Array, Of(I8)]
    move_servers: Annotated[Array, Of(I8, 2)]
    running: Annotated[Array, Of(I8)]
    preemptible: Annotated[Array, Of(I1)]
    blocked: Annotated[Array, Of(I1)]
    expert: Annotated[Array, Of(I8)]
    queue: Annotated[Array, Of(I8)]
    queue_length: Annotated[Array, Of(I8)]
    fitting: Annotated[Array, Of(I1)]
    found: Annotated[Array, Of(I8)]
    found_servers: Annotated[Array, Of(I8, 3)]


def new_window(layout: Layout, jobs: int) -> Window:
    """An empty window for an episode with so many jobs."""
    shape = (layout.slots, layout.candidates)
    return Window(
        slots=np.full(layout.slots, NONE, np.int64),
        servers=np.full(shape, NONE, np.int64),
        feasible=np.zeros(shape, np.int8),
        spread=np.zeros(shape, np.int64),
        moves=np.full(layout.moves, NONE, np.int64),
        move_servers=np.full((layout.moves, layout.candidates), NONE, np.int64),
        running=np.full(layout.running, NONE, np.int64),
        preemptible=np.zeros(layout.running, np.int8),
        blocked=np.zeros(jobs, np.int8),
        expert=np.full(2, NONE, np.int64),
        queue=np.zeros(jobs, np.int64),
        queue_length=np.full(1, NONE, np.int64),
        fitting=np.zeros(jobs, np.int8),
        found=np.zeros(layout.slots, np.int64),
        found_servers=np.zeros((layout.slots, 3, layout.candidates), np.int64),
    )


# Rows of Window.found_servers.
SERVER: Final = 0
FEASIBLE: Final = 1
SPREAD: Final = 2


@kernel
def look(state: State, window: Window, params: Array, survey: Survey) -> None:
    """Fill the window with what is possible now.

    Args:
        state: the cluster, observed.
        window: receives the offers.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        survey: of this cluster.
    """
    _offer_placements(state, window, params, survey)
    _offer_moves(state, window, params, survey)
    _offer_preemptions(state, window, params, survey)


@kernel
def begin_looking(window: Window) -> None:
    """A new round: nothing is known to be blocked, and priorities have changed."""
    window.blocked[:] = 0
    window.queue_length[0] = NONE


@kernel
def _offer_placements(state: State, window: Window, params: Array, survey: Survey) -> None:
    size = window.slots.shape[0]
    window.slots[:] = NONE
    window.servers[:] = NONE
    window.feasible[:] = 0
    window.spread[:] = 0
    window.expert[:] = NONE
    if window.queue_length[0] == NONE:
        _queue_up(state, window, params, survey)
    fitting = 0
    expert_server = NONE
    for position in range(window.queue_length[0]):
        window.fitting[position] = 0
        job = window.queue[position]
        if fitting == size or not _waits(state, job):
            continue
        nearest = _feasible_servers(state, window, params, job, fitting, survey)
        if nearest == NONE:
            window.blocked[job] = 1
            continue
        if fitting == 0:
            expert_server = nearest
        window.fitting[position] = 1
        window.found[fitting] = job
        fitting += 1
    filled = 0
    for index in range(fitting):
        window.slots[filled] = window.found[index]
        filled += 1
    for position in range(window.queue_length[0]):
        if filled < size and window.fitting[position] == 0 and _waits(state, window.queue[position]):
            window.slots[filled] = window.queue[position]
            filled += 1
    sort_numbers(window.slots[:filled])  # order of arrival
    for index in range(fitting):
        _show(window, index, expert_server if index == 0 else NONE)


@kernel
def _waits(state: State, job: int) -> bool:
    return bool(state.jobs[job].running_replicas < state.jobs[job].replicas)


@kernel
def _queue_up(state: State, window: Window, params: Array, survey: Survey) -> None:
    """Put the waiting jobs in order, which holds for the whole round."""
    window.queue_length[0] = waiting_by_priority(state, params, survey.priorities, window.queue, survey.job_keys)


@kernel
def _show(window: Window, index: int, expert_server: int) -> None:
    """Copy the candidates of a job that fits into its slot; note where the expert's choice stands."""
    slot = 0
    while window.slots[slot] != window.found[index]:
        slot += 1
    for candidate in range(window.servers.shape[1]):
        server = window.found_servers[index, SERVER, candidate]
        window.servers[slot, candidate] = server
        window.feasible[slot, candidate] = window.found_servers[index, FEASIBLE, candidate]
        window.spread[slot, candidate] = window.found_servers[index, SPREAD, candidate]
        if expert_server != NONE and server == expert_server:
            window.expert[EXPERT_SLOT] = slot
            window.expert[EXPERT_CANDIDATE] = candidate


@kernel
def _feasible_servers(state: State, window: Window, params: Array, job: int, index: int, survey: Survey) -> int:
    """Find the C nearest servers from which a job's next replica fits, and put them down by number.

    Where fewer fit, the nearest of the others fill the row (marked infeasible), so that they can be seen.

    Returns:
        The nearest one, which is MLF-H's choice; NONE if the replica does not fit anywhere.
    """
    if window.blocked[job] == 1:
        return NONE
    limit = hosting_limit(state, job, params, survey)
    if not enough_room(state, job, limit):
        return NONE
    row = window.found_servers[index]
    candidates = row.shape[1]
    find_nearest_servers(state, job, params, survey)
    put_tasks_in_order(state, job, params, survey)
    order = survey.nearest
    nearest = NONE
    count = 0
    for position in range(order.shape[0]):
        server = order[position]
        if count == candidates:
            break
        if hosts_from(state, job, params, server, limit, survey):
            if nearest == NONE:
                nearest = server
            _put_down(row, count, server, 1, _servers_used(state, job, survey.hosts))
            count += 1
    if nearest == NONE:
        return NONE
    fitting = count
    for position in range(order.shape[0]):
        server = order[position]
        if count == candidates:
            break
        known = False
        for candidate in range(fitting):
            known = known or row[SERVER, candidate] == server
        if not known:
            _put_down(row, count, server, 0, 0)
            count += 1
    for candidate in range(count, candidates):
        row[SERVER, candidate] = NONE
        row[FEASIBLE, candidate] = 0
        row[SPREAD, candidate] = 0
    _sort_candidates(row, count)
    return nearest


@kernel
def _put_down(row: Array, candidate: int, server: int, feasible: int, spread: int) -> None:
    row[SERVER, candidate] = server
    row[FEASIBLE, candidate] = feasible
    row[SPREAD, candidate] = spread


@kernel
def _sort_candidates(row: Array, count: int) -> None:
    """By number of the server."""
    for index in range(1, count):
        server = row[SERVER, index]
        feasible = row[FEASIBLE, index]
        spread = row[SPREAD, index]
        place = index
        while place > 0 and row[SERVER, place - 1] > server:
            _put_down(row, place, row[SERVER, place - 1], row[FEASIBLE, place - 1], row[SPREAD, place - 1])
            place -= 1
        _put_down(row, place, server, feasible, spread)


@kernel
def _servers_used(state: State, job: int, hosts: Array) -> int:
    """How many different servers a plan for one replica uses."""
    used = 0
    for partition in range(state.jobs[job].partitions):
        server = state.gpus[hosts[partition]].server
        new = True
        for earlier in range(partition):
            new = new and state.gpus[hosts[earlier]].server != server
        if new:
            used += 1
    return used


@kernel
def _offer_moves(state: State, window: Window, params: Array, survey: Survey) -> None:
    window.moves[:] = NONE
    window.move_servers[:] = NONE
    if params[0].migrate == 0:
        return
    count = move_candidates(state, params, window.moves, survey)
    if count == 0:
        return
    candidates = window.move_servers.shape[1]
    for index in range(count):
        found = min(candidates, move_targets(state, window.moves[index], params, survey))
        sort_numbers(survey.targets[:found])
        for candidate in range(found):
            window.move_servers[index, candidate] = survey.targets[candidate]


@kernel
def _offer_preemptions(state: State, window: Window, params: Array, survey: Survey) -> None:
    """The running jobs of lowest priority, in order of arrival; not those placed or moved in this round."""
    size = window.running.shape[0]
    if size == 0:
        return
    window.running[:] = NONE
    window.preemptible[:] = 0
    clock = state.clock[0]
    jobs = survey.jobs
    keys = survey.job_keys
    count = 0
    for position in range(clock.num_active):
        job = state.active[position]
        if state.jobs[job].status == RUNNING:
            jobs[count] = job
            keys[count] = partition_priorities(state, job, params, survey.priorities)
            count += 1
    sort_with(keys[:count], jobs[:count])
    shown = min(count, size)
    sort_numbers(jobs[:shown])
    for position in range(shown):
        window.running[position] = jobs[position]
        if state.jobs[jobs[position]].placed_round != clock.rounds:
            window.preemptible[position] = 1


@kernel
def fill_mask(state: State, window: Window, end_when_blocked: bool, mask: Array) -> None:
    """Which actions are valid now.

    Ending the round is invalid while a placement is possible and nothing runs or will arrive, since time would
    jump to infinity; with `end_when_blocked` it is invalid while any placement is possible.

    Args:
        state: the cluster.
        window: as filled by `look`.
        end_when_blocked: see above.
        mask: shape (number of actions,), bool, receives the mask.
    """
    slots, candidates = window.feasible.shape
    moves = window.moves.shape[0]
    running = window.running.shape[0]
    action = 0
    placeable = False
    for slot in range(slots):
        for candidate in range(candidates):
            mask[action] = window.feasible[slot, candidate] == 1
            placeable = placeable or mask[action]
            action += 1
    for index in range(moves):
        for candidate in range(candidates):
            mask[action] = window.moves[index] != NONE and window.move_servers[index, candidate] != NONE
            action += 1
    for index in range(running):
        mask[action] = window.preemptible[index] == 1
        action += 1
    clock = state.clock[0]
    nothing_to_come = clock.num_running == 0 and clock.next_arrival == state.jobs.shape[0]
    mask[action] = not (placeable and (end_when_blocked or nothing_to_come))
