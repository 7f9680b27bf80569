"""Masks, ends of rounds and episodes, rewards, options and wrappers of the environment."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.cluster.arrays import STOPPED
from mlfs_gym.envs.features import as_rows, feature_names, observation_shapes
from mlfs_gym.envs.job_scheduling import JobSchedulingEnv
from mlfs_gym.envs.wrappers import ActionMaskObservation
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers import make_scheduler
from mlfs_gym.sim.run import run
from mlfs_gym.workloads import make_workload
from tests.envs.episodes import expert, play_episode, random_valid
from tests.envs.equality import assert_same

ID = "mlfs_gym/JobScheduling-v0"


def make(**kwargs: Any) -> gym.Env:
    return gym.make(ID, **{"jobs": 60, **kwargs})


def test_the_mask_has_two_forms_that_agree() -> None:
    env = make()
    _, info = env.reset(seed=0)
    assert info["action_mask"].dtype == np.int8
    assert env.unwrapped.action_masks().dtype == np.bool_
    assert np.array_equal(info["action_mask"].astype(bool), env.unwrapped.action_masks())


def test_an_invalid_action_ends_the_round_and_is_counted() -> None:
    env = make()
    _, info = env.reset(seed=0)
    invalid = int(np.flatnonzero(info["action_mask"] == 0)[0])
    before = info["time"]
    _, _, _, _, info = env.step(invalid)
    assert info["invalid_action"] is True
    assert info["invalid_actions"] == 1
    assert info["time"] > before


def test_ending_the_round_is_masked_when_time_would_stand_still_for_ever() -> None:
    env = make(workload=make_workload("toy", seed=0))
    _, info = env.reset(seed=0)
    end = env.unwrapped.layout.end
    clock = env.unwrapped.cluster.state.clock
    seen = False
    for _ in range(200):
        nothing_comes = clock["num_running"][0] == 0 and clock["next_arrival"][0] == len(env.unwrapped.cluster.jobs)
        if nothing_comes:
            seen = True
            assert info["action_mask"][end] == 0
        action = end if info["action_mask"][end] else random_valid(env, info, np.random.default_rng(0))
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    assert seen
    assert terminated


def test_an_agent_that_only_ends_rounds_against_the_mask_still_sees_time_pass() -> None:
    env = make(workload=make_workload("toy", seed=0), max_episode_steps=50)
    _, info = env.reset(seed=0)
    times = []
    for _ in range(50):
        _, _, terminated, truncated, info = env.step(env.unwrapped.layout.end)
        times.append(info["time"])
    assert truncated
    assert not terminated
    assert np.all(np.diff(times) > 0)
    assert np.isfinite(times[-1])


def test_end_round_when_blocked_masks_the_end_while_a_placement_is_possible() -> None:
    env = make(end_round="when_blocked")
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    layout = env.unwrapped.layout
    checked = 0
    for _ in range(300):
        placeable = info["action_mask"][: layout.first_move].any()
        assert info["action_mask"][layout.end] == (not placeable)
        checked += int(placeable)
        _, _, terminated, _, info = env.step(random_valid(env, info, rng))
        if terminated:
            break
    assert checked > 50


def test_a_job_is_not_preempted_in_the_round_that_placed_it() -> None:
    env = make(preemption=True)
    _, info = env.reset(seed=0)
    layout = env.unwrapped.layout
    placed_now: set[int] = set()
    rng = np.random.default_rng(3)
    for _ in range(400):
        action = random_valid(env, info, rng)
        kind, index = layout.decode(action).kind, layout.decode(action).index
        window = env.unwrapped.window
        if kind == "place":
            placed_now.add(int(window.slots[index]))
        if kind == "preempt":
            assert int(window.running[index]) not in placed_now
            placed_now.add(int(window.running[index]))
        if kind == "end":
            placed_now.clear()
        _, _, terminated, _, info = env.step(action)
        if terminated:
            break


def test_reward_terms_add_up_to_the_reward_and_the_paper_form_is_eq_7() -> None:
    env = make(reward="paper")
    _, info = env.reset(seed=2)
    jobs = env.unwrapped.cluster.jobs
    ended_before = 0
    for _ in range(2000):
        _, reward, terminated, _, info = env.step(env.unwrapped.expert_action())
        assert reward == pytest.approx(sum(info["reward_terms"].values()))
        ended = jobs[~np.isnan(jobs["finish"])]
        if len(ended) > ended_before and ended_before == 0:
            hours = (ended["finish"] - ended["arrival"]).mean() / 3600
            in_time = (ended["finish"] <= ended["deadline"]).sum()
            assert info["reward_terms"]["jct"] == pytest.approx(0.5 / hours)
            assert info["reward_terms"]["deadline"] == pytest.approx(0.55 * in_time)
            assert info["reward_terms"]["guarantee"] >= 0.15 * ended["requirement_met"].sum()
            assert info["reward_terms"]["accuracy"] == pytest.approx(0.15 * ended["accuracy_by_deadline"].mean())
        ended_before = len(ended)
        if terminated:
            break
    assert terminated


def test_reward_weights_select_the_terms() -> None:
    only_jct = {"jct": 1.0, "deadline": 0.0, "bandwidth": 0.0, "guarantee": 0.0, "accuracy": 0.0}
    total, info = play_episode(make(reward_weights=only_jct), expert, seed=4)
    run_time = info["metrics"]["average_jct_s"]
    assert total < 0
    assert info["reward_terms"]["deadline"] == 0.0
    env = make(reward_weights=only_jct)
    env.reset(seed=4)
    jobs = env.unwrapped.cluster.jobs
    reference = (jobs["max_iterations"] * jobs["ideal_iteration_time"]).mean()
    assert total == pytest.approx(-run_time / reference)


def test_truncation_by_steps_and_by_time() -> None:
    _, info = play_episode(JobSchedulingEnv(jobs=60, max_episode_steps=10), expert, seed=0)
    assert info["metrics"]["finished"] < info["metrics"]["jobs"]
    total, info = play_episode(make(simulation={"time_limit_seconds": 7200.0}), expert, seed=0)
    assert info["time"] == 7200.0
    assert total == pytest.approx(info["objective"], rel=1e-9)


def test_the_same_workload_can_be_played_again_by_option() -> None:
    env = make()
    workload = make_workload("small", seed=9, jobs=60, load=1.0)
    env.reset(seed=0, options={"workload": workload})
    assert np.array_equal(env.unwrapped.cluster.jobs["arrival"], workload.jobs["arrival"])
    with pytest.raises(SettingsError, match="reset options"):
        env.reset(options={"worklaod": workload})


def test_every_feature_has_a_name() -> None:
    env = make(preemption=True)
    names = feature_names()
    observation, _ = env.reset(seed=0)
    shapes = observation_shapes(env.unwrapped.layout)
    batch = as_rows({key: np.stack([values, values]) for key, values in observation.items()})
    for key, values in as_rows(observation).items():
        assert values.shape == shapes[key]
        assert values.shape[-1] == len(names[key]) == len(set(names[key]))
        assert np.array_equal(batch[key], np.stack([values, values]))
        assert np.array_equal(values.ravel(), observation[key])
    assert as_rows(observation)["jobs"][0, names["jobs"].index("present")] == 1.0


def test_flatten_and_statistics_wrappers_work() -> None:
    env = gym.wrappers.RecordEpisodeStatistics(gym.wrappers.FlattenObservation(make()))
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    total, info = play_episode(env, expert, seed=0)
    assert info["episode"]["r"] == pytest.approx(total, rel=1e-5)


def test_a_forgotten_import_is_explained() -> None:
    """What users meet when they forget `import mlfs_gym`: Gymnasium says that the namespace is unknown."""
    code = "import gymnasium as gym; gym.make('mlfs_gym/JobScheduling-v0')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "mlfs_gym" in run.stderr.splitlines()[-1]


def test_a_restored_episode_repeats_itself() -> None:
    env = make(preemption=True)
    env.reset(seed=0)
    inner = env.unwrapped
    for _ in range(40):
        env.step(inner.expert_action())
    snapshot = inner.clone_state()
    first = [env.step(inner.expert_action()) for _ in range(80)]
    observation, info = inner.restore_state(snapshot)
    assert inner.observation_space.contains(observation)
    assert info["action_mask"][inner.expert_action()] == 1
    assert_same(first, [env.step(inner.expert_action()) for _ in range(80)])


def test_the_mask_can_stand_in_the_observation() -> None:
    env = ActionMaskObservation(make())
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert np.array_equal(observation["action_mask"], info["action_mask"])


def test_load_control_ends_jobs_early_and_the_expert_is_then_mlf_h_inside_mlf_c() -> None:
    env = JobSchedulingEnv(jobs=40, load_control=True)
    *_, info = play_episode(env, expert, seed=5)
    cluster = env.fresh_cluster()
    run(cluster, make_scheduler("mlf_h+mlf_c"))
    assert (cluster.jobs["status"] == STOPPED).any()
    expected = metrics(cluster.state)
    for name in set(expected) - {"rounds"}:
        assert info["metrics"][name] == expected[name], name


def test_a_restored_episode_remembers_what_load_control_has_seen() -> None:
    env = JobSchedulingEnv(jobs=30, load_control=True)
    env.reset(seed=3)
    for _ in range(40):
        env.step(env.expert_action())
    snapshot = env.clone_state()
    endings = []
    for _ in range(2):
        env.restore_state(snapshot)
        done = False
        while not done:
            _, _, terminated, truncated, info = env.step(env.expert_action())
            done = terminated or truncated
        endings.append(info["metrics"])
    assert endings[0] == endings[1]


def test_load_control_takes_settings() -> None:
    with pytest.raises(SettingsError, match="overload_degree"):
        JobSchedulingEnv(load_control=True, mlf_c={"overload_degree": -1.0})
    with pytest.raises(SettingsError, match="learning_curve"):
        JobSchedulingEnv(load_control=True, mlf_c={"opt_stop": "learning_curve"})
