"""Policies and schedulers are judged by the same episodes and the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlfs_gym.agents import evaluation
from mlfs_gym.agents.evaluation import EvaluationSet, means, samples
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.agents.task import Task, TaskConfig, core, held_out_seeds
from mlfs_gym.report.metrics import METRICS
from mlfs_gym.schedulers import make_scheduler


class Expert:
    """Plays what the expert would, by asking the environments that are being played."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.envs: list[Any] = []
        make = Task.make_for_learning

        def remember(task: Task, part: Any) -> Any:
            self.envs.append(make(task, part))
            return self.envs[-1]

        monkeypatch.setattr(Task, "make_for_learning", remember)

    def predict(self, observation: Any, *, deterministic: bool = True, action_masks: Any = None) -> tuple[Any, None]:
        playing = [env for env in self.envs if core(env).cluster.state.clock["num_done"][0] < self._jobs(env)]
        assert len(playing) == len(action_masks)
        return np.array([core(env).expert_action() for env in playing]), None

    @staticmethod
    def _jobs(env: Any) -> int:
        return len(core(env).cluster.state.jobs)


@pytest.mark.parametrize("options", [{}, {"sharing": True}, {"preemption": True}], ids=str)
def test_expert_through_step_equals_mlf_h_in_the_simulator(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes = EvaluationSet(Task(TaskConfig(jobs=60, **options)), "test", held_out_seeds("test", 4))
    expected = episodes.play_scheduler("mlf_h", make_scheduler("mlf_h"))
    found = episodes.play_policy("mlf_h", Expert(monkeypatch))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_side_by_side_or_one_by_one(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    env = task.make("test")
    policy = SchedulingPolicy(env.observation_space, env.action_space, lambda _: 0.0, hidden=8)
    episodes = EvaluationSet(task, "test", held_out_seeds("test", 5))
    together = episodes.play_policy("p", policy)
    monkeypatch.setattr(evaluation, "BATCH", 2)
    in_batches = episodes.play_policy("p", policy)
    assert together["seed"].tolist() == in_batches["seed"].tolist() == held_out_seeds("test", 5)
    # Batches of another size may round differently, so near ties may go another way; not here.
    pd.testing.assert_frame_equal(together, in_batches)


def test_rows_have_every_metric(task: Task) -> None:
    rows = EvaluationSet(task, "test", [11, 12]).play_scheduler("fifo", make_scheduler("fifo"))
    assert list(rows.columns) == ["name", "seed", "return", *METRICS]
    assert (rows["finished"] == rows["jobs"]).all()
    by_name = samples(pd.concat([rows[::-1], rows.assign(name="again")]))
    assert list(by_name) == ["fifo", "again"]
    assert by_name["fifo"]["return"] == by_name["again"]["return"]  # in the order of the seeds
    assert means(rows)["average_jct_s"] == rows["average_jct_s"].mean()
