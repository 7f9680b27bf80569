"""The sorts of the kernels agree with NumPy's, equal keys included."""

from __future__ import annotations

import numpy as np
import pytest

from mlfs_gym.cluster.sorting import sort_numbers, sort_with


@pytest.mark.parametrize("size", [0, 1, 2, 23, 24, 25, 48, 49, 100, 1000])
def test_numbers_follow_their_keys_and_stand_in_order_among_equal_ones(size: int) -> None:
    rng = np.random.default_rng(size)
    keys = rng.integers(0, max(1, size // 3), size).astype(float)
    keys[rng.random(size) < 0.1] = np.inf
    order = np.argsort(keys, kind="stable")
    shuffled = rng.permutation(size)
    sorted_keys, numbers = keys[shuffled], shuffled.copy()
    sort_with(sorted_keys, numbers)
    assert sorted_keys.tolist() == keys[order].tolist()
    assert numbers.tolist() == order.tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 24, 25, 500])
def test_whole_numbers(size: int) -> None:
    numbers = np.random.default_rng(size).permutation(size)
    sort_numbers(numbers)
    assert numbers.tolist() == list(range(size))
