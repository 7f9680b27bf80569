"""Paired differences and their intervals."""

from __future__ import annotations

import math

import pytest

from mlfs_gym.report.paired import paired_difference


def test_difference_by_hand() -> None:
    # Differences 1, 2, 3: mean 2, standard deviation 1, t(2) = 4.303.
    difference = paired_difference([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert difference.mean == 2.0
    assert difference.half_width == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert not difference.is_significant


def test_pairing_removes_what_seeds_have_in_common() -> None:
    reference = [10.0, 200.0, 3000.0, 40.0, 5.0]
    difference = paired_difference([value + 1.0 for value in reference], reference)
    assert difference.mean == pytest.approx(1.0)
    assert difference.half_width == pytest.approx(0.0, abs=1e-9)
    assert difference.is_significant


def test_unknown_values_leave_their_pairs_out() -> None:
    nan = float("nan")
    assert paired_difference([1.0, nan, 3.0], [0.0, 0.0, 0.0]) == paired_difference([1.0, 3.0], [0.0, 0.0])
    assert math.isnan(paired_difference([nan], [0.0]).mean)
    alone = paired_difference([2.0], [0.5])
    assert alone.mean == 1.5
    assert math.isnan(alone.half_width)
    assert not alone.is_significant


def test_fewer_than_five_pairs_are_never_significant() -> None:
    for count in range(2, 8):
        difference = paired_difference([1.0 + 0.01 * index for index in range(count)], [0.0] * count)
        assert difference.half_width < 0.1
        assert difference.is_significant == (count >= 5)
        assert difference.relative_to(2.0).is_significant == (count >= 5)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="found 2 and 3"):
        paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])
