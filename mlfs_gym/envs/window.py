"""The window onto the cluster: which jobs, servers and moves an agent may choose from now.

Which waiting jobs are shown is decided by MLF-H's priority (those that fit first), but they stand in order of
arrival, and candidate servers in order of their number, so that an index carries no answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import NONE, RUNNING, Array, State
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.envs.layout import Layout
from mlfs_gym.schedulers.mlf_h.migration import move_candidates, move_targets
from mlfs_gym.schedulers.mlf_h.placement import enough_room, hosting_limit, hosts_from, nearest_servers
from mlfs_gym.schedulers.mlf_h.priority import partition_priorities, waiting_by_priority

# Indices into Window.expert.
EXPERT_SLOT = 0
EXPERT_CANDIDATE = 1


class Window(NamedTuple):
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
        hosts: shape (largest P + 1,), int64, scratch.
        scratch: shape (largest P,), float64, scratch.
    """

    slots: Array
    servers: Array
    feasible: Array
    spread: Array
    moves: Array
    move_servers: Array
    running: Array
    preemptible: Array
    blocked: Array
    expert: Array
    hosts: Array
    scratch: Array


def new_window(layout: Layout, jobs: int, largest_partitions: int) -> Window:
    """An empty window for an episode."""
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
        hosts=np.zeros(largest_partitions + 1, np.int64),
        scratch=np.zeros(largest_partitions, np.float64),
    )


@kernel
def look(state: State, window: Window, params: Array) -> None:
    """Fill the window with what is possible now.

    Args:
        state: the cluster, observed.
        window: receives the offers.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
    """
    _offer_placements(state, window, params)
    _offer_moves(state, window, params)
    _offer_preemptions(state, window, params)


@kernel
def _offer_placements(state: State, window: Window, params: Array) -> None:
    size = window.slots.shape[0]
    window.slots[:] = NONE
    window.servers[:] = NONE
    window.feasible[:] = 0
    window.spread[:] = 0
    window.expert[:] = NONE
    jobs, _ = waiting_by_priority(state, params, window.scratch)
    shown = np.full(jobs.shape[0], NONE, np.int64)
    fitting = 0
    expert_job = NONE
    expert_server = NONE
    for index in range(jobs.shape[0]):
        if fitting == size:
            break
        job = jobs[index]
        nearest = _feasible_servers(state, window, params, job, fitting)
        if nearest == NONE:
            window.blocked[job] = 1
            continue
        if expert_job == NONE:
            expert_job = job
            expert_server = nearest
        shown[index] = fitting  # its candidates stand in this row of the window for now
        window.slots[fitting] = job
        fitting += 1
    filled = fitting
    for index in range(jobs.shape[0]):
        if filled == size:
            break
        if shown[index] == NONE:
            window.slots[filled] = jobs[index]
            filled += 1
    _sort_slots(window, filled)
    if expert_job != NONE:
        for slot in range(filled):
            if window.slots[slot] == expert_job:
                window.expert[EXPERT_SLOT] = slot
                for candidate in range(window.servers.shape[1]):
                    if window.servers[slot, candidate] == expert_server:
                        window.expert[EXPERT_CANDIDATE] = candidate


@kernel
def _feasible_servers(state: State, window: Window, params: Array, job: int, slot: int) -> int:
    """Write the C nearest servers from which a job's next replica fits into a slot, by number.

    Where fewer fit, the nearest of the others fill the row (marked infeasible), so that they can be seen.

    Returns:
        The nearest one, which is MLF-H's choice; NONE if the replica does not fit anywhere.
    """
    if window.blocked[job] == 1:
        return NONE
    limit = hosting_limit(state, job, params, window.hosts)
    if not enough_room(state, job, limit):
        return NONE
    candidates = window.servers.shape[1]
    servers = state.servers.shape[0]
    order: Array = np.empty(servers, np.int64)
    nearest_servers(state, job, params, order)
    row_servers = np.full(candidates, NONE, np.int64)
    row_spread = np.zeros(candidates, np.int64)
    infeasible = np.empty(servers, np.int64)
    rejected = 0
    count = 0
    nearest = NONE
    for server in order:
        if count == candidates:
            break
        if hosts_from(state, job, params, server, limit, window.hosts):
            if nearest == NONE:
                nearest = server
            row_servers[count] = server
            row_spread[count] = _servers_used(state, job, window.hosts)
            count += 1
        else:
            infeasible[rejected] = server
            rejected += 1
    if nearest == NONE:
        return NONE
    fitting = count
    for index in range(rejected):
        if count < candidates:
            row_servers[count] = infeasible[index]
            count += 1
    by_number = np.argsort(row_servers[:count])
    for position in range(count):
        source = by_number[position]
        window.servers[slot, position] = row_servers[source]
        window.spread[slot, position] = row_spread[source]
        window.feasible[slot, position] = 1 if source < fitting else 0
    return nearest


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
def _sort_slots(window: Window, filled: int) -> None:
    """Order of arrival, with everything that belongs to a slot."""
    order = np.argsort(window.slots[:filled])
    window.slots[:filled] = window.slots[:filled][order]
    window.servers[:filled] = window.servers[:filled][order]
    window.feasible[:filled] = window.feasible[:filled][order]
    window.spread[:filled] = window.spread[:filled][order]


@kernel
def _offer_moves(state: State, window: Window, params: Array) -> None:
    window.moves[:] = NONE
    window.move_servers[:] = NONE
    if params[0].migrate == 0:
        return
    count = move_candidates(state, params, window.moves)
    candidates = window.move_servers.shape[1]
    order = np.empty(state.servers.shape[0], np.int64)
    for index in range(count):
        found = min(candidates, move_targets(state, window.moves[index], params, order))
        window.move_servers[index, :found] = np.sort(order[:found])


@kernel
def _offer_preemptions(state: State, window: Window, params: Array) -> None:
    """The running jobs of lowest priority, in order of arrival; not those placed or moved in this round."""
    size = window.running.shape[0]
    window.running[:] = NONE
    window.preemptible[:] = 0
    if size == 0:
        return
    clock = state.clock[0]
    jobs = np.empty(clock.num_running, np.int64)
    keys = np.empty(clock.num_running, np.float64)
    count = 0
    for position in range(clock.num_active):
        job = state.active[position]
        if state.jobs[job].status == RUNNING:
            jobs[count] = job
            keys[count] = partition_priorities(state, job, params, window.scratch)
            count += 1
    shown = min(count, size)
    window.running[:shown] = np.sort(jobs[np.argsort(keys, kind="mergesort")][:shown])
    for position in range(shown):
        if state.jobs[window.running[position]].placed_round != clock.rounds:
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
