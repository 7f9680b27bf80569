"""Stable sorts for kernels. One small routine each: NumPy's take long to compile, and most lists here are short."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.jit import kernel

FEW = 24  # up to here insertion is the fastest


@kernel
def sort_with(keys: Array, numbers: Array) -> None:
    """Sort keys in ascending order, and numbers along with them; equal keys keep their order.

    Args:
        keys: shape (n,), float64, none of them nan.
        numbers: shape (n,), int64.
    """
    count = keys.shape[0]
    for begin in range(0, count, FEW):
        _insertion(keys, numbers, begin, min(begin + FEW, count))
    if count <= FEW:
        return
    other_keys = np.empty(count, np.float64)
    other_numbers = np.empty(count, np.int64)
    width = FEW
    while width < count:
        for begin in range(0, count, 2 * width):
            middle = min(begin + width, count)
            _merge(keys, numbers, begin, middle, min(middle + width, count), other_keys, other_numbers)
        for index in range(count):
            keys[index] = other_keys[index]
            numbers[index] = other_numbers[index]
        width *= 2


@kernel
def _insertion(keys: Array, numbers: Array, begin: int, end: int) -> None:
    """Sort the entries from `begin` to `end`."""
    for index in range(begin + 1, end):
        key = keys[index]
        number = numbers[index]
        place = index
        while place > begin and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            numbers[place] = numbers[place - 1]
            place -= 1
        keys[place] = key
        numbers[place] = number


@kernel
def _merge(
    keys: Array, numbers: Array, begin: int, middle: int, end: int, merged_keys: Array, merged_numbers: Array
) -> None:
    """Merge two sorted runs that lie side by side."""
    left = begin
    right = middle
    for index in range(begin, end):
        if right >= end or (left < middle and keys[left] <= keys[right]):
            source = left
            left += 1
        else:
            source = right
            right += 1
        merged_keys[index] = keys[source]
        merged_numbers[index] = numbers[source]


@kernel
def sort_numbers(numbers: Array) -> None:
    """Sort whole numbers in ascending order.

    Args:
        numbers: shape (n,), int64.
    """
    if numbers.shape[0] > FEW:
        numbers.sort()
        return
    for index in range(1, numbers.shape[0]):
        number = numbers[index]
        place = index
        while place > 0 and numbers[place - 1] > number:
            numbers[place] = numbers[place - 1]
            place -= 1
        numbers[place] = number
