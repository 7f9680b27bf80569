"""The counter-based draw in Python's unbounded integers, cut to 64 bits where the definition says so."""

from __future__ import annotations

FLUCTUATION_STREAM = 1
LOSS_STREAM = 2

_LOW_64_BITS = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def uniform(seed: int, stream: int, a: int, b: int) -> float:
    """In [0, 1): one SplitMix64 step for every word of the address."""
    state = seed & _LOW_64_BITS
    state = _mix(state + _GOLDEN)
    for word in (stream, a, b):
        state = _mix((state ^ (word & _LOW_64_BITS)) + _GOLDEN)
    return (state >> 11) / 2.0**53


def _mix(word: int) -> int:
    word &= _LOW_64_BITS
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _LOW_64_BITS
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _LOW_64_BITS
    return word ^ (word >> 31)
