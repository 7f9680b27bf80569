"""The note about compilation, and a cache that knows when any kernel of the package has changed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from mlfs_gym.cluster import jit

NOTE = "compiling the simulator"
MAKE = "import gymnasium as gym, mlfs_gym; gym.make('mlfs_gym/JobScheduling-v0')"
USE = "import numpy as np; from mlfs_gym.cluster import hashing; print(hashing.uniform(np.uint64(1), 2, 3, 4))"
CHECK = "from mlfs_gym.cluster import hashing, jit; print(jit.is_compiled(hashing.uniform))"


def run_python(code: str, cache: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)


def test_the_first_environment_after_installation_says_that_it_compiles_once(tmp_path: Path) -> None:
    assert run_python(f"{MAKE}; gym.make('mlfs_gym/Testbed-v0')", tmp_path).stderr.count(NOTE) == 1


def test_compiled_code_is_found_again_by_the_next_process(tmp_path: Path) -> None:
    assert run_python(CHECK, tmp_path).stdout.strip() == "False"
    first = run_python(USE, tmp_path).stdout
    assert run_python(CHECK, tmp_path).stdout.strip() == "True"
    assert run_python(USE, tmp_path).stdout == first


def test_a_change_in_any_kernel_file_makes_all_cached_code_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("cluster", "sim"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernels.py").write_text("x = 1\n")
    monkeypatch.setattr(jit, "_PACKAGE", tmp_path)
    stamp = jit.package_stamp.__wrapped__
    before = stamp()
    assert stamp() == before
    (tmp_path / "sim" / "kernels.py").write_text("x = 2\n")
    assert stamp() != before


def test_code_of_a_class_that_has_moved_is_compiled_anew(tmp_path: Path) -> None:
    expected = run_python(USE, tmp_path).stdout
    for index in tmp_path.rglob("*.nbi"):
        with index.open("rb") as file:
            version = pickle.load(file)
        # What pickle writes for a class: module and name.
        index.write_bytes(pickle.dumps(version) + b"cmlfs_gym.no_such_module\nState\n.")
    assert run_python(CHECK, tmp_path).stdout.strip() == "False"
    assert run_python(USE, tmp_path).stdout == expected
    assert run_python(CHECK, tmp_path).stdout.strip() == "True"
