"""Carry out actions and let time pass: steps without Gymnasium, one compiled call for many copies."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array
from mlfs_gym.cluster.decisions import evict_job, place_replica
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.envs.encoder import encode
from mlfs_gym.envs.episode import Episode, episode_at
from mlfs_gym.envs.feature_cache import STALE
from mlfs_gym.envs.reward import TERMS, pay
from mlfs_gym.envs.rounds import pass_time
from mlfs_gym.envs.window import EXPERT_CANDIDATE, EXPERT_SLOT, begin_looking, fill_mask, look
from mlfs_gym.schedulers.mlf_h.decide import carry_out_move, next_move
from mlfs_gym.schedulers.mlf_h.placement import hosting_limit, hosts_from, put_tasks_in_order
from mlfs_gym.sim.engine import DONE, LIMIT

DECIDING: Final = -1  # the round goes on

# What a step may be told to do instead of an action.
BEGIN: Final = -2  # let time pass to the first round
SHOW: Final = -3  # only look again
REST: Final = -4  # nothing at all

RULES: Final = np.dtype(
    [
        ("end_when_blocked", np.int64),  # 1: see `window.fill_mask`
        ("skip_forced", np.int64),  # 1: single valid actions are carried out at once
        ("max_steps", np.int64),  # truncates after so many; 0: never
    ],
    align=True,
)

RESULT: Final = np.dtype(
    [
        ("reward", np.float64),
        ("terms", np.float64, (len(TERMS),)),  # in the order of TERMS
        ("time", np.float64),  # s
        ("jobs_done", np.int64),
        ("invalid_actions", np.int64),  # so far
        ("invalid_action", np.int64),  # 1: this one
        ("terminated", np.int64),
        ("truncated", np.int64),
        ("reason", np.int64),  # DECIDING if the round goes on, else why time stopped (`sim.engine`)
    ],
    align=True,
)


@kernel
def play_all(
    addresses: Array, actions: Array, params: Array, rules: Array, results: Array, first: int, last: int
) -> None:
    """A step in each of several episodes.

    Args:
        addresses: shape (N,), int64, of the episodes.
        actions: shape (N,), int64: a number of an action, or BEGIN, SHOW or REST. What is not valid ends the round.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        rules: shape (1,), dtype `RULES`.
        results: shape (N,), dtype `RESULT`; receives what came of it.
        first: the first episode that is played.
        last: the first that is not, after it.
    """
    for copy in range(first, last):
        if actions[copy] != REST:
            _step(episode_at(addresses[copy]), actions[copy], params, rules, results[copy])


@kernel
def _step(episode: Episode, action: int, params: Array, rules: Array, result: Any) -> None:
    """One step, or the beginning of an episode."""
    counts = episode.counts[0]
    valid = True
    if action >= SHOW and action < 0 and action != DECIDING:
        reason = _play(episode, params, rules, action)
    else:
        valid = 0 <= action < episode.mask.shape[0] and episode.mask[action]
        counts.invalid_actions += 0 if valid else 1
        reason = _play(episode, params, rules, action if valid else episode.mask.shape[0] - 1)
        counts.steps += 1
    if rules[0].skip_forced == 1 and action != SHOW:
        forced = _forced_action(episode.mask)
        while forced != NONE and not _has_ended(episode, rules, reason):
            reason = _play(episode, params, rules, forced)
            counts.steps += 1
            forced = _forced_action(episode.mask)
    clock = episode.state.clock[0]
    if action >= DECIDING:
        result.reward = pay(episode.state, episode.account, result.terms)
    result.time = clock.time
    result.jobs_done = clock.num_done
    result.invalid_actions = counts.invalid_actions
    result.invalid_action = 0 if valid else 1
    result.reason = reason
    result.terminated = 1 if reason == DONE else 0
    result.truncated = 1 if reason != DONE and _has_ended(episode, rules, reason) else 0


@kernel
def _has_ended(episode: Episode, rules: Array, reason: int) -> bool:
    limit = rules[0].max_steps
    return bool(reason == DONE or reason == LIMIT or (limit > 0 and episode.counts[0].steps >= limit))


@kernel
def _forced_action(mask: Array) -> int:
    """The only valid action, NONE if there is a choice."""
    found = NONE
    for action in range(mask.shape[0]):
        if mask[action]:
            if found != NONE:
                return NONE
            found = action
    return found


@kernel
def _play(episode: Episode, params: Array, rules: Array, action: int) -> int:
    """Carry out a valid action, or end the round; then look again.

    Returns:
        DECIDING if the round goes on, else why time stopped (`sim.engine`: ROUND, DONE, LIMIT).
    """
    reason = DECIDING
    if action != SHOW and not _decide(episode, params, action):
        reason = pass_time(episode.state, episode.control, episode.survey.priorities)
        begin_looking(episode.window)
        episode.cache.now[0] += 1
    look(episode.state, episode.window, params, episode.survey)
    fill_mask(episode.state, episode.window, rules[0].end_when_blocked == 1, episode.mask)
    encode(
        episode.state,
        episode.window,
        params,
        episode.survey,
        episode.cache,
        episode.facts,
        episode.observation,
    )
    return reason


@kernel
def _decide(episode: Episode, params: Array, action: int) -> bool:
    """Carry out an action of the window. False if it ends the round, by choice or because it is not valid."""
    window = episode.window
    slots, candidates = window.servers.shape
    moves = window.moves.shape[0]
    if action < 0:
        return False
    if action < slots * candidates:
        return _place(episode, params, action // candidates, action % candidates)
    action -= slots * candidates
    if action < moves * candidates:
        return _move(episode, params, action // candidates, action % candidates)
    action -= moves * candidates
    if action < window.running.shape[0] and window.preemptible[action] == 1:
        begin_looking(window)
        episode.cache.job_versions[window.running[action]] = STALE
        return evict_job(episode.state, window.running[action])
    return False


@kernel
def _place(episode: Episode, params: Array, slot: int, candidate: int) -> bool:
    job = episode.window.slots[slot]
    if episode.window.feasible[slot, candidate] == 0:
        return False
    server = episode.window.servers[slot, candidate]
    limit = hosting_limit(episode.state, job, params, episode.survey)
    put_tasks_in_order(episode.state, job, params, episode.survey)
    if not hosts_from(episode.state, job, params, server, limit, episode.survey):
        return False
    episode.cache.job_versions[job] = STALE
    return place_replica(episode.state, job, episode.survey.hosts)


@kernel
def _move(episode: Episode, params: Array, index: int, candidate: int) -> bool:
    task = episode.window.moves[index]
    server = episode.window.move_servers[index, candidate]
    if task == NONE or server == NONE or not carry_out_move(episode.state, task, server, params):
        return False
    episode.window.blocked[:] = 0
    episode.cache.job_versions[episode.state.tasks[task].job] = STALE
    return True


@kernel
def experts(addresses: Array, params: Array, actions: Array) -> None:
    """MLF-H's next decision in each episode, as an action of its window.

    Args:
        addresses: shape (N,), int64, of the episodes.
        params: shape (1,), dtype `mlf_h.params.PARAMS`.
        actions: shape (N,), int64, receives the actions.
    """
    for copy in range(actions.shape[0]):
        actions[copy] = _expert(episode_at(addresses[copy]), params)


@kernel
def _expert(episode: Episode, params: Array) -> int:
    """MLF-H's placement, else a move that pays, else the end of the round."""
    window = episode.window
    slots, candidates = window.servers.shape
    if window.expert[EXPERT_SLOT] != NONE:
        return window.expert[EXPERT_SLOT] * candidates + window.expert[EXPERT_CANDIDATE]
    first_move = slots * candidates
    task, server = next_move(episode.state, params, episode.survey)
    if task != NONE:
        for index in range(window.moves.shape[0]):
            for candidate in range(candidates):
                if window.moves[index] == task and window.move_servers[index, candidate] == server:
                    return first_move + index * candidates + candidate
    return first_move + window.moves.shape[0] * candidates + window.running.shape[0]
