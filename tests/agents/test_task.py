"""What is trained on, chosen by and judged by never overlaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlfs_gym.agents.config import train_config
from mlfs_gym.agents.evaluation import EvaluationSet
from mlfs_gym.agents.task import LARGEST_TRAINING_SEED, Task, TaskConfig, held_out_seeds, training_seeds
from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers import make_scheduler


def table(jobs: int, tmp_path: Path) -> Path:
    file = tmp_path / "trace.csv"
    rows = [f"{number},1,{60 * number},100,resnet50,{600 + number},0" for number in range(jobs)]
    file.write_text("job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n" + "\n".join(rows) + "\n")
    return file


def test_seeds_of_the_parts_are_disjoint() -> None:
    training = training_seeds(np.random.default_rng(0), 10_000)
    validation, test = held_out_seeds("validation", 10_000), held_out_seeds("test", 10_000)
    assert max(training) <= LARGEST_TRAINING_SEED < min(validation)
    assert not {*validation} & {*test}
    assert max(test) < 2**32  # what Gymnasium's seeding takes everywhere


def test_parts_of_a_trace_are_disjoint_and_complete(tmp_path: Path) -> None:
    task = Task(TaskConfig(trace=table(100, tmp_path), jobs=200))
    ids = {}
    for part in ("training", "validation", "test"):
        env = task.make(part)  # type: ignore[arg-type]
        env.reset(seed=0)
        ids[part] = set(env.cluster.workload.job_ids)
    assert {part: len(found) for part, found in ids.items()} == {"training": 70, "validation": 10, "test": 20}
    assert len(set.union(*ids.values())) == 100


def test_trace_that_is_too_short(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"trace\.csv: found 3 jobs, expected enough"):
        Task(TaskConfig(trace=table(3, tmp_path)))


def test_unknown_environment() -> None:
    with pytest.raises(SettingsError, match="env: found 'mlfs_gym/Nowhere-v0', expected one of mlfs_gym/JobSch"):
        Task(TaskConfig(env="mlfs_gym/Nowhere-v0"))


def test_environment_of_somebody_else() -> None:
    with pytest.raises(SettingsError, match="expected one of mlfs_gym/"):
        Task(TaskConfig(env="CartPole-v1"))


def test_options_reach_the_environment() -> None:
    env = Task(TaskConfig(sharing=True, preemption=True, jobs=61, load=0.9)).make("training")
    env.reset(seed=1)
    assert env.simulation_config.sharing
    assert env.layout.running > 0
    assert len(env.cluster.workload) == 61
    assert env.cluster.workload.load(env.cluster_config) == pytest.approx(0.9, rel=0.05)


def test_load_control_reaches_policies_and_schedulers_alike() -> None:
    seeds = held_out_seeds("test", 2)
    task = Task(TaskConfig(jobs=40, load_control=True))
    controlled = EvaluationSet(task, "test", seeds).play_scheduler("mlf_h", make_scheduler("mlf_h"))
    env = task.make("test")
    for row, seed in zip(controlled.to_dict("records"), seeds, strict=True):
        _, info = env.reset(seed=seed)
        done = False
        while not done:
            *_, terminated, truncated, info = env.step(env.expert_action())
            done = terminated or truncated
        assert info["metrics"]["average_jct_s"] == row["average_jct_s"]
    plain = EvaluationSet(Task(TaskConfig(jobs=40)), "test", seeds).play_scheduler("mlf_h", make_scheduler("mlf_h"))
    assert (controlled["average_jct_s"] < plain["average_jct_s"]).all()


def test_the_rl_rival_is_rewarded_for_jct_alone() -> None:
    config = train_config("rl", task={"jobs": 40})
    env = Task(config.task).make("training")
    env.reset(seed=0)
    done = False
    while not done:
        *_, terminated, truncated, info = env.step(env.expert_action())
        done = terminated or truncated
        assert all(value == 0 for term, value in info["reward_terms"].items() if term != "jct")
    assert info["objective"] < 0
