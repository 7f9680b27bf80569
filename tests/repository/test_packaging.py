"""The wheel and the sdist hold the package and nothing else, and work outside the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import mlfs_gym
from tests.repository.paths import ROOT
from tests.repository.test_files import readme_command

# Building and installing take seconds each: one worker does it for all of these tests.
pytestmark = pytest.mark.xdist_group("packaging")

NAME = f"mlfs_gym-{mlfs_gym.__version__}"
LEFT_OVERS = [".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info", "*.nb[ci]"]
LEFT_OVERS += ["build", "dist", "runs", "videos"]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@dataclass(frozen=True)
class Built:
    """The distributions and the package files that they were made from."""

    wheel: Path
    sdist: Path
    package_files: frozenset[str]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    source = tmp_path_factory.mktemp("source") / "clone"
    out = tmp_path_factory.mktemp("dist")
    # A copy, because setuptools would package what an earlier build left behind.
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OVERS))
    files = frozenset(
        path.relative_to(source).as_posix() for path in (source / "mlfs_gym").rglob("*") if path.is_file()
    )
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=out)
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return Built(wheel, sdist, files)


@pytest.fixture(scope="session", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the distribution; dependencies come from the environment of the tests."""
    environment = tmp_path_factory.mktemp(request.param) / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=environment.parent)
    python = environment / "bin" / "python"
    site = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=environment).stdout.strip()
    )
    # A path in a .pth file does not read the .pth files there: an editable install of the checkout stays out of sight.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-build-isolation"),
        getattr(built, request.param),
        cwd=environment.parent,
    )
    return environment / "bin"


def test_wheel_holds_the_package_and_its_metadata(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert {name for name in names if not name.startswith(f"{NAME}.dist-info/")} == built.package_files
    assert "mlfs_gym/py.typed" in names
    assert f"{NAME}.dist-info/licenses/LICENSE" in names


def test_sdist_holds_the_package_and_its_metadata(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {member.name.removeprefix(f"{NAME}/") for member in archive.getmembers() if not member.isdir()}
    assert {name for name in names if name.startswith("mlfs_gym/")} == built.package_files
    assert {name.split("/")[0] for name in names} == {
        *("mlfs_gym", "mlfs_gym.egg-info"),
        *("LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"),
    }


def test_installed_package_is_the_one_tried(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import mlfs_gym; print(mlfs_gym.__file__)", cwd=tmp_path).stdout
    assert Path(where.strip()).is_relative_to(installed.parent)
    version = "import importlib.metadata as m; print(m.version('mlfs-gym'))"
    assert run(installed / "python", "-c", version, cwd=tmp_path).stdout.strip() == mlfs_gym.__version__


@pytest.mark.parametrize(
    "make",
    [
        pytest.param("import mlfs_gym; env = gymnasium.make('mlfs_gym/JobScheduling-v0')", id="import"),
        pytest.param("env = gymnasium.make('mlfs_gym:mlfs_gym/JobScheduling-v0')", id="module-in-id"),
    ],
)
def test_environment_runs(installed: Path, tmp_path: Path, make: str) -> None:
    code = (
        f"import gymnasium; {make}; _, info = env.reset(seed=0); env.step(env.action_space.sample(info['action_mask']))"
    )
    run(installed / "python", "-c", code, cwd=tmp_path)


def test_command_line_runs(installed: Path, tmp_path: Path) -> None:
    for command in ([installed / "mlfs-gym"], [installed / "python", "-m", "mlfs_gym"]):
        assert "train" in run(*command, "--help", cwd=tmp_path).stdout


def test_readme_command_names_existing_options(installed: Path, tmp_path: Path) -> None:
    subcommand, *arguments = readme_command("train").split("/bin/mlfs-gym ")[1].split()
    help_text = run(installed / "mlfs-gym", subcommand, "--help", cwd=tmp_path).stdout
    options = [argument for argument in arguments if argument.startswith("--")]
    assert options
    assert [option for option in options if option not in help_text] == []


@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
def test_type_checkers_see_the_types(installed: Path, tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "import mlfs_gym\n"
        "from mlfs_gym.config import ClusterConfig\n"
        "right: str = mlfs_gym.__version__\n"
        "wrong: int = mlfs_gym.__version__\n"
        "cluster = ClusterConfig(servers=8)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed / "python", snippet],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "snippet.py:4: error: Incompatible types in assignment" in done.stdout
    assert "Found 1 error" in done.stdout
