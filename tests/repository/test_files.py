"""Files at top level agree with each other and with the code."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import mlfs_gym
from tests.repository.paths import PACKAGE, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

IMPORT_NAMES = {"imageio-ffmpeg": "imageio_ffmpeg", "pillow": "PIL", "sb3-contrib": "sb3_contrib",
                "stable-baselines3": "stable_baselines3"}  # fmt: skip
COMES_WITH = {"pydantic_core": "pydantic", "llvmlite": "numba"}  # an inseparable part of it
IMPORTED_BY_OTHERS = {"imageio-ffmpeg", "moviepy", "pygame", "tensorboard"}


def readme_command(name: str) -> str:
    done = subprocess.run(["bash", ".ci/readme-command", name], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.removesuffix("\n")


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


def package_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9-]", requirement)[0] for requirement in requirements}


def imported_packages() -> set[str]:
    """Top-level names of every import in the package, wherever in a file it stands."""
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"mlfs_gym"}


def test_dependencies_are_what_the_code_imports() -> None:
    required = package_names(project()["dependencies"])
    extras = project()["optional-dependencies"]
    optional = package_names(extras["video"] + extras["human"] + extras["parquet"])
    imported = {COMES_WITH.get(name, name) for name in imported_packages()}
    unused = {name for name in required - IMPORTED_BY_OTHERS if IMPORT_NAMES.get(name, name) not in imported}
    assert unused == set()
    assert imported - {IMPORT_NAMES.get(name, name) for name in required | optional} == set()


def test_every_dependency_is_justified() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| package | why |")[1]
    justified = {match[1] for match in re.finditer(r"^\| ([a-z0-9-]+) \| \S", table, re.MULTILINE)}
    assert justified == package_names(project()["dependencies"])


@pytest.mark.parametrize("name", ["train", "test"])
def test_readme_command_is_one_line_for_a_fresh_clone(name: str) -> None:
    command = readme_command(name)
    assert "\n" not in command
    assert re.match(r"python3 -m venv (\S+) && \1/bin/pip install -e \S+ && \1/bin/", command)
    # What the line is for: a user copies it from the page as it stands there.
    assert f"```sh\n{command}\n```" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_commands_use_ignored_environments() -> None:
    folders = [readme_command(name).split()[3] + "/" for name in ("train", "test")]
    done = subprocess.run(["git", "check-ignore", *folders], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 128:
        pytest.skip("not a git checkout")
    assert done.stdout.split() == folders


def test_ci_runs_the_readme_command(tmp_path: Path) -> None:
    """.ci/run with stand-ins for python3 and pip, in a copy, to see what it runs and with which settings."""
    (tmp_path / ".ci").mkdir()
    for name in (".ci/run", ".ci/readme-command", ".ci/constraints.txt", "README.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".venv-test").mkdir()
    (tmp_path / ".venv-test" / "left-over").touch()
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    report = 'echo "$0 $* | $OMP_NUM_THREADS $PIP_CONSTRAINT"'
    (fakes / "python3").write_text(
        f"#!/bin/bash\n{report}\nmkdir -p $3/bin\ncp {fakes}/tool $3/bin/pip\ncp {fakes}/tool $3/bin/python\n"
    )
    (fakes / "tool").write_text(f"#!/bin/bash\n{report}\n")
    for fake in fakes.iterdir():
        fake.chmod(0o755)
    done = subprocess.run(
        ["bash", ".ci/run"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{fakes}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    settings = f"| 1 {tmp_path}/.ci/constraints.txt"
    assert done.stdout.splitlines() == [
        f"+ {readme_command('test')}",
        f"{fakes}/python3 -m venv .venv-test {settings}",
        f".venv-test/bin/pip install -e .[test] {settings}",
        f".venv-test/bin/python -m pytest -n 2 {settings}",
    ]
    assert not (tmp_path / ".venv-test" / "left-over").exists()


def test_ci_scripts_can_be_run() -> None:
    for name in (".ci/run", ".ci/readme-command"):
        assert (ROOT / name).stat().st_mode & stat.S_IXUSR


def test_readme_snippet_names_registered_environments() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"mlfs_gym/\w+-v\d+", text))
    from mlfs_gym.registration import PRESETS

    assert named
    assert named <= set(PRESETS)


def test_citation_names_both_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert {paper["doi"] for paper in citation["references"]} == {
        "10.1145/3386367.3432588",
        "10.1109/TNET.2022.3190797",
    }
    for paper in citation["references"]:
        assert [author["family-names"] for author in paper["authors"]] == ["Wang", "Liu", "Shen"]
        assert paper["doi"] in (ROOT / "README.md").read_text(encoding="utf-8")


def test_version_is_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d[^\]]*)\]", changelog, re.MULTILINE)
    assert versions[0] == mlfs_gym.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == mlfs_gym.__version__


@pytest.mark.parametrize("name", ["agents", "envs"])
def test_link_at_top_level_leads_into_the_package(name: str) -> None:
    link = ROOT / name
    # A clone without support for links holds the target as text.
    assert (os.readlink(link) if link.is_symlink() else link.read_text().strip()) == f"mlfs_gym/{name}"
