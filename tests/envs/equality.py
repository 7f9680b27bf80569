"""Equality to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(left: Any, right: Any) -> None:
    """Equality to the bit through tuples, dicts and arrays."""
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, (tuple, list)):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        if left.dtype == object:
            assert_same(left.tolist(), right.tolist())
            return
        assert left.tobytes() == right.tobytes()
    else:
        assert left == right
