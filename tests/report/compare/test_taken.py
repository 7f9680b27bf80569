"""What a comparison takes from its folder, what it plays again, and that it shows no more than was asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlfs_gym.errors import SettingsError
from mlfs_gym.report.compare import taken, workers
from mlfs_gym.report.compare.compare import compare, read_comparison
from mlfs_gym.report.compare.plan import Run

SMALL: dict[str, Any] = {"workload": "small", "loads": [1.0], "seeds": 2, "plots": False, "processes": 1}
MINE = """
from mlfs_gym.schedulers import Scheduler
from order_of_mine import ordered


class Mine(Scheduler):
    name = "mine"
    shares_gpus = True

    def schedule(self, cluster):
        for job in ordered(cluster):
            cluster.place_all(job)
"""
ORDER = "def ordered(cluster):\n    return {}(cluster.waiting_jobs())\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a scheduler of one's own in two files."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "scheduler_of_mine.py").write_text(MINE, encoding="utf-8")
    (folder / "order_of_mine.py").write_text(ORDER.format("list"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in ("scheduler_of_mine", "order_of_mine"):
        sys.modules.pop(name, None)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    runs: list[Run] = []
    original = workers.play

    def play(run: Run, *rest: Any) -> Any:
        runs.append(run)
        return original(run, *rest)

    monkeypatch.setattr(workers, "play", play)
    return runs


NAME = "scheduler_of_mine:Mine"


def load_anew() -> None:
    for name in ("order_of_mine", "scheduler_of_mine"):
        importlib.reload(sys.modules[name])


@pytest.mark.parametrize("file", ["scheduler_of_mine.py", "order_of_mine.py"])
def test_runs_of_an_edited_scheduler_are_played_again(tmp_path: Path, mine: Path, played: list[Run], file: str) -> None:
    lines: list[str] = []
    out = tmp_path / "out"
    first = compare([NAME, "fifo"], out, on_note=lines.append, **SMALL)
    assert compare([NAME, "fifo"], out, on_note=lines.append, **SMALL).runs.equals(first.runs)
    assert len(played) == 8
    source = (mine / file).read_text(encoding="utf-8")
    (mine / file).write_text(source.replace("list(", "reversed(") + "\n# edited\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="has changed since it was imported"):
        compare([NAME, "fifo"], out, on_note=lines.append, **SMALL)  # the old code would play
    load_anew()
    again = compare([NAME, "fifo"], out, on_note=lines.append, **SMALL)
    assert [run.scheduler for run in played[8:]] == [NAME] * 4
    assert lines == [
        f"0 runs taken from {out}, 8 to play",
        f"8 runs taken from {out}, 0 to play",
        f"4 runs taken from {out}, 4 to play; edited since they were played: {NAME}",
    ]
    changed = not again.runs.equals(first.runs)
    assert changed == (file == "order_of_mine.py")


def test_an_edited_scheduler_leaves_no_old_runs_in_the_tables(tmp_path: Path, mine: Path) -> None:
    compare([NAME], tmp_path / "out", **SMALL)
    (mine / "order_of_mine.py").write_text(ORDER.format("reversed"), encoding="utf-8")
    compare(["fifo"], tmp_path / "out", **SMALL)
    assert len(pd.read_csv(tmp_path / "out" / "runs.csv")) == 8  # nobody asked for it: nothing is known of its source
    load_anew()
    compare([NAME], tmp_path / "out", **{**SMALL, "seeds": 1})
    runs = pd.read_csv(tmp_path / "out" / "runs.csv")
    assert runs.loc[runs["scheduler"] == NAME, "seed"].unique().tolist() == [0]


def test_fresh_plays_everything_that_is_asked_for(tmp_path: Path, played: list[Run]) -> None:
    first = compare(["fifo", "srtf"], tmp_path, **SMALL)

    def interrupt(done: int, total: int, name: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(["fifo"], tmp_path, fresh=True, on_progress=interrupt, **SMALL)
    again = compare(["fifo", "srtf"], tmp_path, **SMALL)  # goes on with what --fresh has begun
    assert [run.scheduler for run in played[8:]] == ["fifo"] * 4
    assert again.runs.equals(first.runs)


def test_runs_by_other_code_of_the_package_are_taken_with_a_word(
    tmp_path: Path, played: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(["fifo"], tmp_path, **SMALL)
    monkeypatch.setattr(taken, "package_code", lambda: "of another day")
    lines: list[str] = []
    compare(["fifo"], tmp_path, on_note=lines.append, **SMALL)
    assert len(played) == 4
    assert lines[0] == f"4 runs taken from {tmp_path}, 0 to play"
    assert lines[1].startswith("4 of those taken were made by another state of mlfs-gym's own code")
    assert "--fresh" in lines[1]


def test_only_what_was_asked_for_is_shown(tmp_path: Path) -> None:
    compare(["mlf_h"], tmp_path, **{**SMALL, "seeds": 1})
    found = compare(["srtf"], tmp_path, **{**SMALL, "loads": [1.6], "seeds": 4})
    assert set(found.runs["scheduler"]) == {"srtf"}
    assert found.summary().sizes == [1.6]
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "1 schedulers, 4 seeds" in text
    assert "mlf_h" not in text
    assert "nan" not in text
    kept = pd.read_csv(tmp_path / "runs.csv")
    assert kept.groupby("scheduler")["seed"].nunique().to_dict() == {"mlf_h": 1, "srtf": 4}
    both = compare(["mlf_h", "srtf"], tmp_path, **{**SMALL, "loads": [1.6], "seeds": 1})
    assert both.runs["seed"].unique().tolist() == [0]


def test_a_scheduler_that_is_gone_does_not_break_its_folder(tmp_path: Path, mine: Path) -> None:
    out = tmp_path / "out"
    compare([NAME, "fifo"], out, **SMALL)
    (mine / "scheduler_of_mine.py").unlink()
    sys.modules.pop("scheduler_of_mine")
    assert set(compare(["fifo"], out, **SMALL).runs["scheduler"]) == {"fifo"}
    text = read_comparison(out).summary().markdown()
    assert "(shared: `mine`)" in text  # as it was when it played
    assert NAME not in text


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"notes\.md, a file, expected a folder"):
        compare(["fifo"], tmp_path / "notes.md", **SMALL)


@pytest.mark.parametrize(("option", "value"), [("jobs", 0), ("jobs", -5), ("loads", 0.0), ("loads", float("nan"))])
def test_sizes_begin_at_one_job(tmp_path: Path, option: str, value: float) -> None:
    with pytest.raises(SettingsError, match=rf"{option.rstrip('s')}s?: found {value}, expected a"):
        compare(["fifo"], tmp_path, **{"workload": "testbed", option: [value]})


def test_a_script_without_its_guard_gets_one_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import mlfs_gym\nmlfs_gym.compare(['fifo'], 'out', workload='toy', seeds=4, processes=2, plots=False)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "processes: worker processes could not begin" in last
    assert 'if __name__ == "__main__":' in last
    assert done.stderr.count("Traceback") == 1  # the script's own
