"""What is kept of the expert's episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlfs_gym.agents.demonstrations import Demonstrations, collect_demonstrations
from mlfs_gym.agents.evaluation import EvaluationSet
from mlfs_gym.agents.task import Task
from mlfs_gym.schedulers import make_scheduler

SEEDS = [5, 6, 7]


@pytest.fixture(scope="module")
def demonstrations(task: Task) -> Demonstrations:
    return collect_demonstrations(task, SEEDS)


def test_every_decision_is_valid_and_a_choice(demonstrations: Demonstrations) -> None:
    which = np.arange(len(demonstrations))
    assert demonstrations.masks[which, demonstrations.actions].all()
    assert (demonstrations.masks.sum(axis=1) >= 2).all()
    assert set(demonstrations.episodes) == {0, 1, 2}
    assert {len(values) for values in demonstrations.observations.values()} == {len(demonstrations)}


def test_rewards_add_up_to_what_mlf_h_gets_in_the_simulator(task: Task, demonstrations: Demonstrations) -> None:
    played = EvaluationSet(task, "training", SEEDS).play_scheduler("mlf_h", make_scheduler("mlf_h"))
    for episode, expected in enumerate(played["return"]):
        found = demonstrations.rewards[demonstrations.episodes == episode].sum()
        assert found == pytest.approx(expected, rel=1e-9)


def test_same_seeds_same_bytes(task: Task, demonstrations: Demonstrations) -> None:
    again = collect_demonstrations(task, SEEDS)
    for name, values in demonstrations.observations.items():
        assert values.tobytes() == again.observations[name].tobytes()
    assert demonstrations.actions.tobytes() == again.actions.tobytes()
    assert demonstrations.rewards.tobytes() == again.rewards.tobytes()


def test_file_holds_everything(demonstrations: Demonstrations, tmp_path: Path) -> None:
    demonstrations.save(tmp_path / "d.npz")
    loaded = Demonstrations.load(tmp_path / "d.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]  # nothing half-written is left
    for field in ("masks", "actions", "rewards", "episodes"):
        assert np.array_equal(getattr(loaded, field), getattr(demonstrations, field))
    assert {*loaded.observations} == {*demonstrations.observations}
    for name, values in demonstrations.observations.items():
        assert np.array_equal(loaded.observations[name], values)


def test_returns_by_hand() -> None:
    episodes = np.array([0, 0, 0, 1, 1])
    rewards = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    made = Demonstrations({}, np.ones((5, 2), bool), np.zeros(5, np.int64), rewards, episodes)
    # 4; 2 + 4/2; 1 + 4/2 | 16; 8 + 16/2
    assert made.returns(0.5).tolist() == [3.0, 4.0, 4.0, 16.0, 16.0]
