"""Carry out one action and let time pass: a step of the environment without Gymnasium."""

from __future__ import annotations

from typing import Final

from mlfs_gym.cluster.arrays import NONE, Array, State
from mlfs_gym.cluster.decisions import evict_job, place_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.envs.encoder import Buffers, encode
from mlfs_gym.envs.rounds import pass_time
from mlfs_gym.envs.window import EXPERT_CANDIDATE, EXPERT_SLOT, Window, fill_mask, look
from mlfs_gym.schedulers.mlf_c.control import LoadControl
from mlfs_gym.schedulers.mlf_h.decide import carry_out_move, next_move
from mlfs_gym.schedulers.mlf_h.placement import hosting_limit, hosts_from

DECIDING: Final = -1  # the round goes on


@kernel
def play(
    state: State,
    window: Window,
    control: LoadControl,
    params: Array,
    facts: Array,
    action: int,
    end_when_blocked: bool,
    mask: Array,
    out: Buffers,
) -> int:
    """One step: carry out a valid action, or end the round; then look again.

    Args:
        state: the cluster.
        window: the offers that the action refers to; receives the new ones.
        control: MLF-C, if it is on.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        facts: see `encoder.encode`.
        action: number of an action; anything that is not valid ends the round.
        end_when_blocked: see `window.fill_mask`.
        mask: shape (A,), bool; receives the new mask.
        out: receives the observation.

    Returns:
        DECIDING if the round goes on, else why time stopped (`sim.engine`: ROUND, DONE, LIMIT).
    """
    reason = DECIDING
    if not _decide(state, window, params, action):
        reason = pass_time(state, window, control)
    show(state, window, params, facts, end_when_blocked, mask, out)
    return reason


@kernel
def show(
    state: State, window: Window, params: Array, facts: Array, end_when_blocked: bool, mask: Array, out: Buffers
) -> None:
    """Fill window, mask and observation."""
    look(state, window, params)
    fill_mask(state, window, end_when_blocked, mask)
    encode(state, window, params, facts, out)


@kernel
def _decide(state: State, window: Window, params: Array, action: int) -> bool:
    """Carry out an action of the window. False if it ends the round, by choice or because it is not valid."""
    slots, candidates = window.servers.shape
    moves = window.moves.shape[0]
    if action < 0:
        return False
    if action < slots * candidates:
        slot, candidate = divmod(action, candidates)
        return _place(state, window, params, slot, candidate)
    action -= slots * candidates
    if action < moves * candidates:
        index, candidate = divmod(action, candidates)
        task = window.moves[index]
        server = window.move_servers[index, candidate]
        if task == NONE or server == NONE or not carry_out_move(state, task, server, params):
            return False
        window.blocked[:] = 0
        return True
    action -= moves * candidates
    if action < window.running.shape[0] and window.preemptible[action] == 1:
        window.blocked[:] = 0
        return evict_job(state, window.running[action])
    return False


@kernel
def _place(state: State, window: Window, params: Array, slot: int, candidate: int) -> bool:
    job = window.slots[slot]
    if window.feasible[slot, candidate] == 0:
        return False
    server = window.servers[slot, candidate]
    limit = hosting_limit(state, job, params, window.hosts)
    if not hosts_from(state, job, params, server, limit, window.hosts):
        return False
    return place_replica(state, job, window.hosts)


@kernel
def expert(state: State, window: Window, params: Array) -> int:
    """MLF-H's next decision as an action of the window: its placement, else a move that pays, else the end."""
    slots, candidates = window.servers.shape
    if window.expert[EXPERT_SLOT] != NONE:
        return window.expert[EXPERT_SLOT] * candidates + window.expert[EXPERT_CANDIDATE]
    first_move = slots * candidates
    task, server = next_move(state, params)
    if task != NONE:
        for index in range(window.moves.shape[0]):
            for candidate in range(candidates):
                if window.moves[index] == task and window.move_servers[index, candidate] == server:
                    return first_move + index * candidates + candidate
    return first_move + window.moves.shape[0] * candidates + window.running.shape[0]
