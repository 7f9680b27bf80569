"""Sorts for kernels, in place. NumPy's take long to compile and make arrays.

Shell's sort with the gaps of Gonnet and Baeza-Yates ("Handbook of algorithms and data structures", 1991): insertion for
the short lists that are the rule here, and fast enough for ten thousands.
"""

from __future__ import annotations

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.jit import kernel


@kernel
def _next_gap(gap: int) -> int:
    return max(1, gap * 5 // 11)


@kernel
def sort_with(keys: Array, numbers: Array) -> None:
    """Sort keys in ascending order, and numbers along with them; among equal keys the lower number comes first.

    Args:
        keys: shape (n,), float64, none of them nan.
        numbers: shape (n,), int64.
    """
    gap = keys.shape[0]
    while gap > 1:
        gap = _next_gap(gap)
        for index in range(gap, keys.shape[0]):
            key = keys[index]
            number = numbers[index]
            place = index
            while place >= gap:
                above = place - gap
                if not (keys[above] > key or (keys[above] == key and numbers[above] > number)):
                    break
                keys[place] = keys[above]
                numbers[place] = numbers[above]
                place = above
            keys[place] = key
            numbers[place] = number


@kernel
def sort_numbers(numbers: Array) -> None:
    """Sort whole numbers in ascending order.

    Args:
        numbers: shape (n,), int64.
    """
    gap = numbers.shape[0]
    while gap > 1:
        gap = _next_gap(gap)
        for index in range(gap, numbers.shape[0]):
            number = numbers[index]
            place = index
            while place >= gap and numbers[place - gap] > number:
                numbers[place] = numbers[place - gap]
                place -= gap
            numbers[place] = number
