"""Of a traceback, what is the user's own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import mlfs_gym
from mlfs_gym.report.own_code import own_traceback
from mlfs_gym.schedulers import Scheduler
from mlfs_gym.schedulers.registry import make_scheduler


class Misplaces(Scheduler):
    """Asks the package for what there is not, and says what it was about."""

    name = "misplaces"

    def schedule(self, cluster: Any) -> None:
        try:
            math.sqrt(-1.0)
        except ValueError as error:
            raise KeyError("no root") from error


def test_it_begins_in_the_users_file_and_keeps_the_cause() -> None:
    with pytest.raises(KeyError) as caught:
        mlfs_gym.simulate("toy", Misplaces())
    caught.value.__traceback__ = caught.value.__traceback__.tb_next  # type: ignore[union-attr]  # not this test
    shown = own_traceback(caught.value)
    assert shown is not None
    assert [line for line in shown.splitlines() if "mlfs_gym/sim" in line or "mlfs_gym/report" in line] == []
    assert "math.sqrt(-1.0)" in shown
    assert shown.endswith("KeyError: 'no root'")


def test_an_error_of_the_package_itself_has_no_such_part() -> None:
    with pytest.raises(ValueError, match="lifo") as caught:
        make_scheduler("lifo")
    caught.value.__traceback__ = caught.value.__traceback__.tb_next  # type: ignore[union-attr]  # not this test
    assert own_traceback(caught.value) is None


def test_installed_packages_are_not_ones_own(tmp_path: Path) -> None:
    """Wherever they are: an environment may be built on another."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    for file, is_own in ((folder / "library.py", False), (tmp_path / "mine.py", True)):
        code = compile("1 / 0", str(file), "exec")
        with pytest.raises(ZeroDivisionError) as caught:
            exec(code)
        caught.value.__traceback__ = caught.value.__traceback__.tb_next  # type: ignore[union-attr]  # not this test
        assert (own_traceback(caught.value) is not None) == is_own
