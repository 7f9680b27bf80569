"""`import mlfs_gym` is light and can be repeated."""

from __future__ import annotations

import re
import subprocess
import sys

import gymnasium
import pytest

import mlfs_gym
from mlfs_gym.registration import PRESETS, register_environments
from tests.repository.paths import ROOT

HEAVY = {"matplotlib", "moviepy", "numba", "pandas", "PIL", "pydantic", "pygame", "ray", "sb3_contrib", "scipy",
         "stable_baselines3", "tensorboard", "torch", "typer"}  # fmt: skip


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Every module that a fresh interpreter loads for `import mlfs_gym`."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import mlfs_gym"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if re.match(r"import time: +\d", line)}


def test_import_loads_nothing_heavy(imported: set[str]) -> None:
    assert "mlfs_gym" in imported
    assert {name.split(".")[0] for name in imported} & HEAVY == set()


def test_import_loads_few_modules(imported: set[str]) -> None:
    own = {name for name in imported if name.split(".")[0] == "mlfs_gym"}
    assert own == {"mlfs_gym", "mlfs_gym.registration"}
    # Gymnasium with NumPy accounts for all but two of them; torch alone would bring more than a thousand.
    assert len(imported) < 900


@pytest.mark.filterwarnings("error")
def test_registering_again_changes_nothing() -> None:
    before = {env_id: gymnasium.spec(env_id) for env_id in PRESETS}
    register_environments()
    assert {env_id: gymnasium.spec(env_id) for env_id in PRESETS} == before
    assert all(gymnasium.spec(env_id) is spec for env_id, spec in before.items())


@pytest.mark.parametrize("env_id", PRESETS)
def test_entry_point_is_a_string(env_id: str) -> None:
    spec = gymnasium.spec(env_id)
    assert isinstance(spec.entry_point, str)
    assert spec.kwargs == {"preset": PRESETS[env_id]}


def test_every_environment_of_the_namespace_is_listed() -> None:
    registered = {env_id for env_id, spec in gymnasium.registry.items() if spec.namespace == mlfs_gym.__name__}
    assert registered == set(PRESETS)
