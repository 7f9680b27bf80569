"""Text, frames and window, on states that are filled by hand."""

from __future__ import annotations

import subprocess
import sys
import types
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mlfs_gym.cluster.arrays import CLOCK, EDGE, FINISHED, GPU, JOB, NONE, QUEUED, RUNNING, SERVER, TASK, State
from mlfs_gym.envs.rendering import EpisodeRenderer, Grid, History, modes, render_ansi
from mlfs_gym.envs.rendering.colours import (
    ALARM,
    BACKGROUND,
    JOB_COLOURS,
    NOTHING,
    OVERLOAD,
    bright_code,
    dim_code,
    job_colour,
)
from mlfs_gym.envs.rendering.gantt import LEFT, TOP
from mlfs_gym.envs.rendering.history import COLUMNS, FINEST_SECONDS
from mlfs_gym.envs.rendering.raster import FRAME_HEIGHT, FRAME_WIDTH, RasterRenderer
from mlfs_gym.envs.rendering.summary import clock_time, duration, percent, progress, traffic
from mlfs_gym.envs.rendering.window import Window
from mlfs_gym.errors import SettingsError

FRAME = (FRAME_HEIGHT, FRAME_WIDTH, 3)
SIZES = [pytest.param(1, 1, id="1"), pytest.param(5, 4, id="20"), pytest.param(20, 4, id="80"),
         pytest.param(64, 8, id="512"), pytest.param(1237, 2, id="2474")]  # fmt: skip


def hand_state(servers: int = 5, gpus: int = 4, jobs: int = 6, sharing: int = 1) -> State:
    """A cluster at time 0 where all jobs, of one replica and two partitions, have arrived and wait."""
    state = State(
        np.zeros(jobs, JOB),
        np.zeros(2 * jobs, TASK),
        np.zeros(0, EDGE),
        np.zeros(servers, SERVER),
        np.zeros(servers * gpus, GPU),
        np.arange(jobs),
        np.arange(jobs),
        np.zeros(jobs, np.int64),
        np.zeros(jobs, np.int64),
        np.zeros(1, CLOCK),
    )
    rows, tasks, clock = state.jobs, state.tasks, state.clock
    rows["status"], rows["replicas"], rows["partitions"], rows["num_gpus"] = QUEUED, 1, 2, 2
    rows["first_task"], rows["num_tasks"] = 2 * np.arange(jobs), 2
    rows["deadline"], rows["urgency"], rows["max_iterations"], rows["required_accuracy"] = 7200.0, 9.0, 100, 0.8
    rows["iteration_time"] = rows["finish_at"] = np.inf
    rows["stalled_until"], rows["finish"] = -np.inf, np.nan
    tasks["job"], tasks["partition"] = np.repeat(np.arange(jobs), 2), np.tile([0, 1], jobs)
    tasks["server"] = tasks["gpu"] = NONE
    state.servers["first_gpu"], state.servers["num_gpus"] = gpus * np.arange(servers), gpus
    state.servers["cpu"], state.servers["memory"], state.servers["nic"] = 10_000, 1000, 10**9
    state.gpus["server"] = np.repeat(np.arange(servers), gpus)
    clock["sharing"], clock["next_arrival"] = sharing, jobs
    clock["num_active"] = clock["num_waiting"] = jobs
    return state


def place(state: State, job: int, *gpus: int, used: int = 500) -> None:
    for task, gpu in zip(np.flatnonzero(state.tasks["job"] == job), gpus, strict=True):
        server = state.gpus["server"][gpu]
        state.tasks["gpu"][task], state.tasks["server"][task], state.tasks["gpu_used"][task] = gpu, server, used
        state.gpus["used"][gpu] += used
        state.servers["gpu_used"][server] += used
    state.jobs["status"][job], state.jobs["running_replicas"][job], state.jobs["iteration_time"][job] = RUNNING, 1, 10.0
    state.clock["num_running"] += 1
    state.clock["num_waiting"] -= 1


def finish(state: State, job: int, time: float) -> None:
    for task in np.flatnonzero(state.tasks["job"] == job):
        state.gpus["used"][state.tasks["gpu"][task]] -= state.tasks["gpu_used"][task]
        state.tasks["gpu"][task] = state.tasks["server"][task] = NONE
    state.jobs["status"][job], state.jobs["finish"][job], state.jobs["running_replicas"][job] = FINISHED, time, 0
    left = [other for other in state.active[: state.clock["num_active"][0]] if other != job]
    state.active[: len(left)] = left
    state.clock["num_active"] -= 1
    state.clock["num_running"] -= 1
    state.clock["num_done"] += 1


def at(state: State, time: float) -> State:
    state.clock["time"] = time
    return state


def recorded(*states: State) -> History:
    history = History(Grid.of(states[0]))
    for state in states:
        history.record(state)
    return history


def row_codes(history: History, gpu: int, time: float) -> list[int]:
    """Codes of a GPU's pixels at a time, from the bottom."""
    top = history.grid.first_pixel[gpu]
    return history.codes[top : top + history.grid.lanes, history.column_of(time)][::-1].tolist()


# --- colours ----------------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009), severity 1.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def oklab(colour: tuple[int, int, int], sight: Any) -> np.ndarray:
    """Perceptual coordinates (Ottosson 2020) of a colour as a kind of sight sees it."""
    share = np.array(colour) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_cones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
    to_lab = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
              [0.0259040371, 0.7827717662, -0.808675766]]  # fmt: skip
    return np.array(to_lab) @ np.cbrt(np.array(to_cones) @ np.clip(np.array(sight) @ linear, 0.0, 1.0))


@pytest.mark.parametrize("sight", SIGHTS)
def test_job_colours_are_distinct_for_every_kind_of_sight(sight: str) -> None:
    seen = [oklab(colour, SIGHTS[sight]) for colour in (*JOB_COLOURS, BACKGROUND)]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 0.06


def test_colour_of_a_job_is_stable_and_differs_from_its_neighbours() -> None:
    count = len(JOB_COLOURS)
    assert len({job_colour(job) for job in range(100, 100 + count)}) == count
    assert job_colour(5) == job_colour(5 + count)


# --- history ----------------------------------------------------------------------------------------


def test_shared_gpu_is_split_by_use() -> None:
    state = hand_state()
    place(state, 0, 0, 1, used=600)
    place(state, 1, 0, 2, used=200)
    history = recorded(state, at(state.copy(), 60.0))
    codes = row_codes(history, 0, 30.0)
    lanes = history.grid.lanes
    one, two = bright_code(np.array([0, 1])).tolist()
    assert codes == sorted(codes, key=[one, two, NOTHING].index)  # job 0 below job 1 below nothing
    assert codes.count(one) == pytest.approx(0.6 * lanes, abs=1)
    assert codes.count(two) == pytest.approx(0.2 * lanes, abs=1)
    assert set(row_codes(history, 3, 30.0)) == {NOTHING}


def test_oversubscribed_gpu_is_full_and_shares_shrink_in_proportion() -> None:
    state = hand_state()
    place(state, 0, 0, 1, used=900)
    place(state, 1, 0, 2, used=900)
    codes = row_codes(recorded(state, at(state.copy(), 60.0)), 0, 30.0)
    one, two = bright_code(np.array([0, 1])).tolist()
    assert NOTHING not in codes
    assert codes.count(one) == pytest.approx(codes.count(two), abs=1)


def test_exclusive_gpu_shows_what_is_held_but_not_used() -> None:
    state = hand_state(sharing=0)
    place(state, 3, 4, 5, used=400)
    codes = row_codes(recorded(state, at(state.copy(), 60.0)), 4, 30.0)
    assert set(codes) == {int(bright_code(np.array(3))), int(dim_code(np.array(3)))}
    assert codes.count(int(bright_code(np.array(3)))) == pytest.approx(0.4 * len(codes), abs=1)


def test_job_leaves_at_its_end_even_if_nobody_looked_then() -> None:
    state = hand_state()
    place(state, 2, 0, 1)
    later = at(state.copy(), 600.0)
    finish(later, 2, 200.0)
    history = recorded(state, later)
    assert set(row_codes(history, 0, 190.0)) != {NOTHING}
    assert set(row_codes(history, 0, 210.0)) == {NOTHING}
    assert history.used[history.column_of(100.0)] == pytest.approx(1.0 / 20)
    assert history.running[history.column_of(100.0)] == 1
    assert history.running[history.column_of(300.0)] == 0


def test_decisions_in_the_middle_of_a_round_count_from_that_round_on() -> None:
    state = hand_state()
    decided = at(state.copy(), 60.0)
    place(decided, 0, 0, 1)
    history = recorded(state, at(state.copy(), 60.0), decided, at(decided.copy(), 120.0))
    assert set(row_codes(history, 0, 50.0)) == {NOTHING}
    assert set(row_codes(history, 0, 70.0)) != {NOTHING}
    assert history.waiting[history.column_of(30.0)] == 6
    assert history.waiting[history.column_of(90.0)] == 5


def test_overloaded_server_is_marked_over_time() -> None:
    state = hand_state()
    state.servers["overloaded"][1] = 1
    history = recorded(state, at(state.copy(), 60.0))
    marks = history.codes[history.grid.mark_pixel, history.column_of(30.0)]
    assert np.flatnonzero(marks == OVERLOAD).tolist() == [1]


def test_long_episode_stays_bounded_and_keeps_its_shape() -> None:
    state = hand_state()
    place(state, 0, 0, 1)
    history = History(Grid.of(state), coarsest_seconds=4 * FINEST_SECONDS)
    sizes = set()
    for time in range(0, 40_000, 60):
        if time == 3600:
            place(state, 1, 2, 3)
        history.record(at(state, float(time)))
        sizes.add((history.codes.nbytes, history.jobs.nbytes, history.used.nbytes))
    assert len(sizes) == 1
    assert history.seconds == 4 * FINEST_SECONDS
    assert history.filled <= COLUMNS
    assert history.start <= 39_960 - (COLUMNS * 7 // 8 - 3) * history.seconds
    assert set(history.jobs[0, : history.filled]) == {0}
    assert set(history.jobs[2, : history.filled]) == {1}
    assert set(history.jobs[0, history.filled :]) <= {-1}


def test_coarsening_keeps_what_was_when() -> None:
    state = hand_state()
    history = History(Grid.of(state))
    history.record(state)
    for time in range(60, 5400, 60):
        if time == 1800:
            place(state, 0, 0, 1)
        history.record(at(state, float(time)))
    assert history.seconds == 2 * FINEST_SECONDS
    assert (history.jobs[:, history.filled :] == NONE).all()
    assert np.flatnonzero(history.jobs[0] == 0)[0] == pytest.approx(1800 / history.seconds, abs=6)


def test_restored_snapshot_takes_back_what_came_later() -> None:
    state = hand_state()
    place(state, 0, 0, 1)
    early = at(state.copy(), 300.0)
    straight = recorded(state, early)
    back = recorded(state, early, at(state.copy(), 900.0), early)
    for name in ("codes", "jobs", "used", "waiting", "running"):
        assert np.array_equal(getattr(straight, name), getattr(back, name))
    assert back.filled == straight.filled


def test_reset_forgets_everything() -> None:
    state = hand_state()
    place(state, 0, 0, 1)
    history = recorded(state, at(state.copy(), 300.0))
    history.reset()
    fresh = History(Grid.of(state))
    assert np.array_equal(history.codes, fresh.codes)
    assert history.filled == 0


@pytest.mark.parametrize(("servers", "gpus"), SIZES)
def test_grid_holds_every_gpu_and_server(servers: int, gpus: int) -> None:
    grid = Grid.of(hand_state(servers, gpus))
    shown = grid.row_of_pixel[grid.row_of_pixel >= 0]
    assert np.array_equal(np.unique(shown), np.unique(grid.row_of_gpu))
    assert set(np.bincount(shown)) == {grid.lanes}
    assert grid.capacity.sum() == 1000 * servers * gpus
    assert len(grid.block_of_server) == servers
    assert (grid.row_of_pixel[grid.mark_pixel] == -1).all()
    assert grid.labels
    assert grid.per_gpu == (servers * gpus <= 80)


# --- frames -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("servers", "gpus"), SIZES)
def test_frame_has_one_size_and_is_a_function_of_its_arguments(servers: int, gpus: int) -> None:
    state = hand_state(servers, gpus, jobs=40)
    renderer = RasterRenderer(Grid.of(state))
    empty = renderer.frame(state, recorded(state))
    last = servers * gpus - 1
    place(state, 0, 0, last)
    place(state, 39, last, 0)
    state.servers["overloaded"][0] = 1
    history = recorded(state, at(state.copy(), 60.0))
    frame = renderer.frame(state, history)
    assert frame.shape == FRAME
    assert frame.dtype == np.uint8
    assert np.array_equal(frame, renderer.frame(state, history))
    assert np.array_equal(frame, RasterRenderer(Grid.of(state)).frame(state, history))
    assert not np.array_equal(frame, empty)


def test_frame_changes_when_a_job_is_placed() -> None:
    state = hand_state()
    history = recorded(state)
    renderer = RasterRenderer(history.grid)
    before = renderer.frame(state, history)
    place(state, 0, 0, 1)
    after = renderer.frame(state, history)  # even before the history knows
    assert not np.array_equal(before, after)


def test_frame_shows_bars_in_the_colours_of_the_jobs_and_alarms() -> None:
    state = hand_state()
    place(state, 4, 0, 1, used=1000)
    history = recorded(state, at(state.copy(), 3000.0))
    strip = RasterRenderer(history.grid).frame(state, history)[TOP:, LEFT : LEFT + COLUMNS]
    middle = strip[history.grid.first_pixel[0] + 5]
    assert (middle[10:590] == job_colour(4)).all()
    assert not (middle[610:] == job_colour(4)).all(axis=1).any()

    quiet = RasterRenderer(history.grid).frame(state, history)
    state.servers["overloaded"][2] = 1
    alarmed = RasterRenderer(history.grid).frame(state, history)
    assert (alarmed == ALARM).all(axis=2).sum() > (quiet == ALARM).all(axis=2).sum() + 100


def test_frames_do_not_share_memory() -> None:
    state = hand_state()
    history = recorded(state)
    renderer = RasterRenderer(history.grid)
    first = renderer.frame(state, history)
    kept = first.copy()
    place(state, 0, 0, 1)
    renderer.frame(at(state, 60.0), history)
    assert np.array_equal(first, kept)


def test_frame_survives_extremes() -> None:
    """Figures wider than their place, times in the past, and a workload that is over."""
    state = hand_state(jobs=60)
    state.jobs["deadline"], state.jobs["urgency"], state.jobs["replicas"] = -1e9, 10.0, 5000
    for name in ("overloads", "migrations", "preemptions", "rounds"):
        state.clock[name] = 10**9
    state.clock["bytes_sent"] = 1e21
    place(state, 59, 0, 1)
    history = recorded(state, at(state.copy(), 4e8))
    assert RasterRenderer(history.grid).frame(at(state, 4e8), history).shape == FRAME
    finish(state, 59, 4e8)
    state.clock["num_active"] = 0
    assert RasterRenderer(history.grid).frame(state, history).shape == FRAME


# --- text -------------------------------------------------------------------------------------------


def test_text_says_who_is_where() -> None:
    state = hand_state()
    place(state, 3, 0, 1)
    place(state, 5, 1, 6)
    finish(state, 5, 1800.0)
    place(state, 4, 1, 19)
    state.jobs["accuracy"][3] = 0.25
    state.servers["overloaded"][4] = 1
    state.clock["bytes_sent"] = 2.5e12
    text = render_ansi(at(state, 3661.0))
    lines = text.splitlines()
    assert "\x1b" not in text
    assert lines[0].startswith("day 0, 01:01:01")
    assert "jobs: 1 of 6 ended, 2 running, 3 waiting, 0 to come" in text
    assert "average JCT 30 m  in time 100%" in text
    assert "traffic 2.50 TB" in text
    first, last = next(line for line in lines if "server 0" in line), next(line for line in lines if "server 4" in line)
    assert first.split()[:6] == ["server", "0", "3", "3,4", ".", "."]
    assert last.split()[:7] == ["server", "4", "!", ".", ".", ".", "4"]
    queue = lines[lines.index("queue (3)") :]
    assert "job 0 " in queue[1] and "waits for 2 GPUs, urgency 9.0" in queue[1]
    running = lines[lines.index("running (2)") :]
    assert "job 3 " in running[1] and "100% of iterations, accuracy 0.25 of 0.80" in running[1]


def test_text_of_a_large_cluster_stays_short() -> None:
    text = render_ansi(hand_state(1237, 2, jobs=500))
    assert len(text.splitlines()) < 80
    assert "more servers" in text
    assert "and 488 more" in text


def test_progress_counts_the_time_since_the_last_settlement() -> None:
    state = hand_state()
    place(state, 0, 0, 1)
    place(state, 1, 2, 3)
    state.jobs["progress"][0], state.jobs["settled_at"][0] = 20.0, 100.0
    state.jobs["stalled_until"][1] = 250.0
    shares = progress(state, np.array([0, 1, 2]), 300.0)
    assert shares.tolist() == pytest.approx([0.4, 0.05, 0.0])


def test_figures_are_short() -> None:
    assert [duration(seconds) for seconds in (5, 90, 3600, 36_000, 864_000, float("nan"))] == [
        "5 s", "1.5 m", "1.0 h", "10 h", "10 d", "-"]  # fmt: skip
    assert [traffic(count) for count in (5e6, 7.45e11, 1.8e12, 39.6e12)] == ["5 MB", "745 GB", "1.80 TB", "39.6 TB"]
    assert (percent(0.256), percent(float("nan"))) == ("26%", "-")
    assert clock_time(90_061.5) == "day 1, 01:01:01"


# --- render modes -----------------------------------------------------------------------------------


def test_modes() -> None:
    state = hand_state()
    text = EpisodeRenderer("ansi", state, 10)
    text.record(state)
    assert text.render(state) == render_ansi(state)
    text.close()
    frames = EpisodeRenderer("rgb_array", state, 10)
    frames.record(state)
    frame = frames.render(state)
    assert isinstance(frame, np.ndarray) and frame.shape == FRAME
    frames.close()


def test_text_needs_no_pillow() -> None:
    code = "import sys, mlfs_gym.envs.rendering; sys.exit('PIL' in sys.modules or 'pygame' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_missing_pygame_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ImportError, match=r"pip install 'mlfs-gym\[human\]'"):
        EpisodeRenderer("human", hand_state(), 10)


class FakePygame(types.ModuleType):
    """As much of pygame as the window uses; remembers what was shown."""

    QUIT = 256

    def __init__(self) -> None:
        super().__init__("pygame")
        self.shown: list[bytes] = []
        self.events: list[types.SimpleNamespace] = []
        self.open = False
        self.display = types.SimpleNamespace(
            init=lambda: None,
            set_caption=lambda _: None,
            set_mode=self._set_mode,
            flip=lambda: None,
            quit=self._quit,
        )
        self.image = types.SimpleNamespace(frombuffer=lambda data, *_: data)
        self.event = types.SimpleNamespace(get=lambda: self.events)
        self.time = types.SimpleNamespace(Clock=lambda: types.SimpleNamespace(tick=lambda _: None))

    def _set_mode(self, size: tuple[int, int]) -> types.SimpleNamespace:
        self.open = True
        return types.SimpleNamespace(blit=lambda data, _: self.shown.append(data))

    def _quit(self) -> None:
        self.open = False


def test_window_shows_frames_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = FakePygame()
    monkeypatch.setitem(sys.modules, "pygame", pygame)
    window = Window(4, 2, 10)
    assert not pygame.open
    frame = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    window.show(frame)
    assert pygame.open
    assert pygame.shown == [frame.tobytes()]
    pygame.events = [types.SimpleNamespace(type=pygame.QUIT)]
    window.show(frame)
    window.show(frame)
    assert len(pygame.shown) == 2
    assert not pygame.open


def test_window_of_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    state = hand_state()
    renderer = EpisodeRenderer("human", state, 1000)
    renderer.record(state)
    assert renderer.render(state) is None
    renderer.close()
    assert renderer.render(state) is None  # goes nowhere


@pytest.mark.parametrize("installed", [True, False])
def test_modes_that_work_here(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "find_spec", lambda _: object() if installed else None)
    assert modes.available_modes() == (["ansi", "rgb_array", "human"] if installed else ["ansi", "rgb_array"])
    modes.check_mode(None)
    modes.check_mode("ansi")
    with pytest.raises(SettingsError, match=r"render_mode: found 'ascii', expected one of \['ansi'"):
        modes.check_mode("ascii")
    if installed:
        modes.check_mode("human")
    else:
        with pytest.raises(SettingsError, match=r"pip install 'mlfs-gym\[human\]'"):
            modes.check_mode("human")
