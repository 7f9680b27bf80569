"""The counter-based hash against the same arithmetic in Python's unbounded integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_gym.cluster.hashing import uniform

MASK = (1 << 64) - 1


def twin(seed: int, *words: int) -> float:
    def mix(word: int) -> int:
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
        return word ^ (word >> 31)

    state = mix((seed + 0x9E3779B97F4A7C15) & MASK)
    for word in words:
        state = mix(((state ^ (word & MASK)) + 0x9E3779B97F4A7C15) & MASK)
    return (state >> 11) / 2**53


@settings(deadline=None)  # the first call compiles
@given(
    seed=st.integers(0, MASK),
    stream=st.integers(0, 1000),
    a=st.integers(-1, 2**40),
    b=st.integers(-1, 2**40),
)
def test_equals_plain_integers(seed: int, stream: int, a: int, b: int) -> None:
    assert uniform(np.uint64(seed), stream, a, b) == twin(seed, stream, a, b)


def test_first_step_is_splitmix64() -> None:
    # First output of SplitMix64 seeded with 0, as published with the algorithm: 0xE220A8397B1DCDAF.
    state = 0x9E3779B97F4A7C15
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    assert state ^ (state >> 31) == 0xE220A8397B1DCDAF
    assert twin(0) == (0xE220A8397B1DCDAF >> 11) / 2**53


def test_every_word_matters() -> None:
    draws = {uniform(np.uint64(s), t, a, b) for s in range(4) for t in range(4) for a in range(4) for b in range(4)}
    assert len(draws) == 256


@pytest.mark.parametrize("axis", range(4))
def test_is_uniform_along_each_word(axis: int) -> None:
    words = [3, 1, 7, 5]
    draws = np.empty(20_000)
    for i in range(len(draws)):
        words[axis] = i
        draws[i] = uniform(np.uint64(words[0]), words[1], words[2], words[3])
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    counts = np.histogram(draws, bins=20, range=(0.0, 1.0))[0]
    # Chi-squared with 19 degrees of freedom: 43.8 is exceeded once in a thousand.
    assert float(((counts - 1000.0) ** 2 / 1000.0).sum()) < 43.8
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
