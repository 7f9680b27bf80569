"""Search for the allocation of the highest value when the value is a sum over jobs.

Pollux (Qiao et al., OSDI 2021, section 4.2) maximises a power mean of speedups with a genetic algorithm. Raised to its
power, and with the right sign, the mean is a sum of one term per job, so that much less will do: give replicas
where they bring most per unit of capacity, then trade while a trade brings more than it costs. Deterministic.
"""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import NONE, Array
from mlfs_gym.cluster.jit import kernel

_GAIN = 1e-12  # relative to the terms that a move changes: smaller gains are rounding
_ROUNDS = 64  # of trades; each one raises the value, and few are ever needed


@kernel(allocates=True)
def allocate(value: Array, most: Array, least: Array, start: Array, size: Array, capacity: int) -> Array:
    """How many replicas each job shall have.

    The better of two searches: one from the present allocation, one from nothing.

    Args:
        value: shape (n, largest R + 1), value of job i with k replicas.
        most: shape (n,), int64, replicas that a job asks for.
        least: shape (n,), int64, replicas that it must keep.
        start: shape (n,), int64, replicas that it has, between `least` and `most`; together within the capacity.
        size: shape (n,), int64, capacity that one replica takes.
        capacity: what there is, in the same unit.

    Returns:
        Shape (n,), int64.
    """
    from_start = start.copy()
    _climb(value, most, least, size, capacity, from_start)
    from_nothing = least.copy()
    _climb(value, most, least, size, capacity, from_nothing)
    if total_value(value, from_nothing) > total_value(value, from_start) * (1.0 + _GAIN) + _GAIN:
        return from_nothing
    return from_start


@kernel(allocates=True)
def total_value(value: Array, count: Array) -> float:
    """Value of an allocation."""
    total = 0.0
    for job in range(count.shape[0]):
        total += value[job, count[job]]
    return total


@kernel(allocates=True)
def _climb(value: Array, most: Array, least: Array, size: Array, capacity: int, count: Array) -> None:
    free = capacity
    for job in range(count.shape[0]):
        free -= count[job] * size[job]
    free = _give(value, most, size, free, count)
    for _ in range(_ROUNDS):
        before = free
        free, traded = _trade(value, most, least, size, free, count)
        if not traded:
            return
        if free != before:
            free = _give(value, most, size, free, count)


@kernel(allocates=True)
def _best_gift(value: Array, most: int, size: int, free: int, have: int) -> tuple[float, int]:
    """The highest gain per unit of capacity that more replicas of one job bring, and how many; (0, 0) if none does."""
    best = 0.0
    gift = 0
    for more in range(1, most - have + 1):
        if more * size > free:
            break
        gain = value[have + more] - value[have]
        rate = gain / (more * size)
        if rate > best and gain > _GAIN * abs(value[have]):
            best = rate
            gift = more
    return best, gift


@kernel(allocates=True)
def _give(value: Array, most: Array, size: Array, free: int, count: Array) -> int:
    """Give replicas where they bring most per unit of capacity, while there is any. Returns what is left."""
    number = count.shape[0]
    rate = np.empty(number)
    gift = np.empty(number, np.int64)
    for job in range(number):
        rate[job], gift[job] = _best_gift(value[job], most[job], size[job], free, count[job])
    while True:
        best = NONE
        for job in range(number):
            if rate[job] <= 0.0 or (best != NONE and rate[job] <= rate[best]):
                continue
            if gift[job] * size[job] > free:  # was possible when there was more
                rate[job], gift[job] = _best_gift(value[job], most[job], size[job], free, count[job])
                if rate[job] <= 0.0 or (best != NONE and rate[job] <= rate[best]):
                    continue
            best = job
        if best == NONE:
            return free
        count[best] += gift[best]
        free -= gift[best] * size[best]
        rate[best], gift[best] = _best_gift(value[best], most[best], size[best], free, count[best])


@kernel(allocates=True)
def _cheapest_loss(value: Array, least: int, size: int, have: int) -> tuple[float, int]:
    """The lowest loss per unit of capacity at which one job gives replicas up, and how many; (inf, 0) if it may not."""
    best = np.inf
    fewer = 0
    for less in range(1, have - least + 1):
        rate = (value[have] - value[have - less]) / (less * size)
        if rate < best:
            best = rate
            fewer = less
    return best, fewer


@kernel(allocates=True)
def _trade(value: Array, most: Array, least: Array, size: Array, free: int, count: Array) -> tuple[int, bool]:
    """The most valuable trade: one job gets replicas, others, who lose least, give up what that takes.

    Returns:
        Free capacity after it, and whether there was a trade that pays.
    """
    number = count.shape[0]
    loss = np.empty(number)
    fewer = np.empty(number, np.int64)
    givers = 0
    for job in range(number):
        loss[job], fewer[job] = _cheapest_loss(value[job], least[job], size[job], count[job])
        givers += 1 if fewer[job] > 0 else 0
    donors = np.argsort(loss, kind="mergesort")[:givers]
    best = 0.0
    taker = NONE
    gift = 0
    single = NONE
    for job in range(number):
        for more in range(1, most[job] - count[job] + 1):
            gain = value[job, count[job] + more] - value[job, count[job]]
            needed = more * size[job] - free
            cost, _ = _price_of_many(loss, fewer, size, donors, job, needed)
            alone, alone_cost = _price_of_one(value, least, size, donors, job, needed, count)
            if alone_cost < cost:
                cost = alone_cost
            else:
                alone = NONE
            if gain - cost > best + _GAIN * (abs(gain) + abs(value[job, count[job]])):
                best = gain - cost
                taker = job
                gift = more
                single = alone
    if taker == NONE:
        return free, False
    needed = gift * size[taker] - free
    if single != NONE:
        less = -(-needed // size[single])
        count[single] -= less
        free += less * size[single]
    else:
        _, last = _price_of_many(loss, fewer, size, donors, taker, needed)
        for index in range(last + 1):
            donor = donors[index]
            if donor != taker:
                count[donor] -= fewer[donor]
                free += fewer[donor] * size[donor]
    count[taker] += gift
    return free - gift * size[taker], True


@kernel(allocates=True)
def _price_of_many(loss: Array, fewer: Array, size: Array, donors: Array, taker: int, needed: int) -> tuple[float, int]:
    """What it costs to free capacity from the cheapest donors, and the index of the last; (inf, NONE) if it fails."""
    cost = 0.0
    freed = 0
    if needed <= 0:
        return 0.0, NONE
    for index in range(donors.shape[0]):
        donor = donors[index]
        if donor == taker:
            continue
        freed += fewer[donor] * size[donor]
        cost += loss[donor] * fewer[donor] * size[donor]
        if freed >= needed:
            return cost, index
    return np.inf, NONE


@kernel(allocates=True)
def _price_of_one(
    value: Array, least: Array, size: Array, donors: Array, taker: int, needed: int, count: Array
) -> tuple[int, float]:
    """The donor that frees the capacity alone at the lowest cost, and that cost; (NONE, inf) if there is none."""
    best = NONE
    lowest = np.inf
    for donor in donors:
        less = -(-needed // size[donor])
        if donor == taker or less < 1 or less > count[donor] - least[donor]:
            continue
        cost = value[donor, count[donor]] - value[donor, count[donor] - less]
        if cost < lowest:
            lowest = cost
            best = donor
    return best, lowest
