"""Random numbers by address: a hash of (seed, stream, a, b) instead of a generator with a state.

A draw depends on its address alone, so neither the order of decisions nor the number of earlier draws
changes it. The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014), applied once for every word.
"""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.jit import kernel

# Numba turns uint64 with int64 into float64: every operand must be uint64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_BITS_27, _BITS_30, _BITS_31 = np.uint64(27), np.uint64(30), np.uint64(31)
_BITS_11 = np.uint64(11)
_UNIT = 2.0**-53


@kernel
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> _BITS_30)) * _FIRST_FACTOR
    word = (word ^ (word >> _BITS_27)) * _SECOND_FACTOR
    return word ^ (word >> _BITS_31)


@kernel
def uniform(seed: int, stream: int, a: int, b: int) -> float:
    """A reproducible draw, uniform in [0, 1) with 53 random bits.

    Args:
        seed: of the whole simulation.
        stream: what the draw is for; draws of two streams are independent.
        a: first coordinate, for instance a task or a job.
        b: second coordinate, for instance a period or an iteration.
    """
    word = _mix(np.uint64(seed) + _GOLDEN)
    word = _mix((word ^ np.uint64(stream)) + _GOLDEN)
    word = _mix((word ^ np.uint64(a)) + _GOLDEN)
    word = _mix((word ^ np.uint64(b)) + _GOLDEN)
    return float(np.float64(word >> _BITS_11) * _UNIT)
