"""Fine-tuning: what keeps it from forgetting, its schedules, and that it learns at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import Logger

from mlfs_gym.agents.cloning import Batches
from mlfs_gym.agents.config import PPOConfig
from mlfs_gym.agents.demonstrations import collect_demonstrations
from mlfs_gym.agents.evaluation import EvaluationSet
from mlfs_gym.agents.policy import SchedulingPolicy
from mlfs_gym.agents.ppo import ImitationPPO
from mlfs_gym.agents.task import Task, TaskConfig, held_out_seeds
from mlfs_gym.agents.vec_env import MlfsVecEnv
from mlfs_gym.workloads.workload import Workload
from tests.builders import J, workload_of

FIRST_STEP = 1000


class Tags(Logger):
    """Keeps what is recorded."""

    def __init__(self) -> None:
        super().__init__(None, [])
        self.seen: dict[str, list[float]] = {}

    def record(self, key: str, value: Any, exclude: Any = None) -> None:
        super().record(key, value, exclude)
        if isinstance(value, (int, float)):
            self.seen.setdefault(key, []).append(float(value))


def model_for(task: Task, **changes: Any) -> ImitationPPO:
    options = {"num_envs": 2, "steps_per_env": 64, "batch_size": 64, "epochs": 2, "value_warm_up": 0, **changes}
    config = PPOConfig.parse(options)
    envs = MlfsVecEnv(task.make_vector("training", config.num_envs), config.reward_scale)
    model = ImitationPPO(
        SchedulingPolicy, envs, config=config, first_step=FIRST_STEP, policy_kwargs={"hidden": 16}, seed=1, device="cpu"
    )
    model.set_logger(Tags())
    return model


def weights(parameters: Any) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in parameters]


def moved(before: list[torch.Tensor], parameters: Any) -> bool:
    return any(not torch.equal(old, new) for old, new in zip(before, parameters, strict=True))


def test_only_the_critic_learns_during_the_warm_up(task: Task) -> None:
    model = model_for(task, steps=256, value_warm_up=128)
    actor, critic = weights(model.policy.actor_parameters()), weights(model.policy.critic_parameters())
    model.learn(128, reset_num_timesteps=False)
    assert not moved(actor, model.policy.actor_parameters())
    assert moved(critic, model.policy.critic_parameters())
    model.learn(128, reset_num_timesteps=False)
    assert moved(actor, model.policy.actor_parameters())


def test_imitation_fades_to_nothing(task: Task) -> None:
    model = model_for(task, steps=512, imitation=0.4, imitation_steps=256)
    demonstrations = collect_demonstrations(task, [1])
    which = np.arange(len(demonstrations))
    rng = np.random.default_rng(0)
    model.use_demonstrations(Batches(demonstrations, np.zeros(len(which)), which, 32, rng, torch.device("cpu")))
    model.learn(512, reset_num_timesteps=False)
    seen = model.logger.seen  # type: ignore[attr-defined]
    assert seen["train/imitation_weight"] == pytest.approx([0.2, 0.0, 0.0, 0.0])
    assert len(seen["train/imitation_loss"]) == 1
    assert seen["train/learning_rate"] == pytest.approx([7e-4 * (1 - 0.9 * share) for share in (0.25, 0.5, 0.75, 1)])


def test_imitation_pulls_towards_the_expert(task: Task) -> None:
    demonstrations = collect_demonstrations(task, [1, 2, 3])
    which = np.arange(len(demonstrations))

    def likelihood(imitation: float) -> float:
        model = model_for(task, steps=2048, imitation=imitation, imitation_steps=10**9, learning_rate=0.01)
        rng = np.random.default_rng(0)
        batches = Batches(demonstrations, np.zeros(len(which)), which, 128, rng, torch.device("cpu"))
        model.use_demonstrations(batches)
        model.learn(2048, reset_num_timesteps=False)
        whole = batches.take(which)
        with torch.no_grad():
            _, log_prob, _ = model.policy.evaluate_actions(whole.observations, whole.actions, whole.masks)
        return float(log_prob.mean())

    assert likelihood(5.0) > likelihood(0.0) + 0.05


def test_no_step_is_made_once_the_policy_is_too_far(task: Task) -> None:
    model = model_for(task, steps=128, target_kl=1e-10, epochs=3, learning_rate=0.03)
    model.learn(128, reset_num_timesteps=False)
    # The first step starts at a distance of 0; the second is refused, and with it the rest.
    assert model.policy.optimizer.state_dict()["state"][0]["step"] == 1
    assert model._n_updates == 0


def test_last_step_is_a_whole_number_of_rollouts(task: Task) -> None:
    assert model_for(task, steps=128).last_step == FIRST_STEP + 128
    assert model_for(task, steps=129).last_step == FIRST_STEP + 256


LENGTHS = np.array([2, 3, 5, 8, 13, 21])


class OneGpuQueue:
    """All jobs come at once to a single GPU: shortest first is optimal, and no other order is."""

    def __call__(self, rng: np.random.Generator) -> Workload:
        order = rng.permutation(LENGTHS)
        return workload_of(*(J(iterations=int(length), compute=(60.0,)) for length in order), name="queue")


class QueueTask(Task):
    """Learning on that queue."""

    def _options(self, part: Any) -> dict[str, Any]:
        return {
            "cluster": {"servers": 1, "gpus_per_server": 1},
            "simulation": {"sharing": False, "fluctuation": 0.0},
            "workload": OneGpuQueue(),
            "window": {"slots": 6, "candidates": 1, "moves": 1},
            "reward_weights": {"jct": 1, "deadline": 0, "bandwidth": 0, "guarantee": 0, "accuracy": 0},
            "end_round": "when_blocked",
        }


@pytest.mark.slow
def test_learns_the_optimal_order_of_a_queue() -> None:
    task = QueueTask(TaskConfig())
    model = model_for(
        task, steps=16_384, num_envs=8, steps_per_env=128, batch_size=256, epochs=4, imitation=0.0, learning_rate=3e-3,
        gamma=1.0, reward_scale=10.0,
    )  # fmt: skip
    episodes = EvaluationSet(task, "test", held_out_seeds("test", 20))
    before = episodes.play_policy("before", model.policy, deterministic=False)["average_jct_s"].mean()
    model.learn(16_384, reset_num_timesteps=False)
    sampled = episodes.play_policy("sampled", model.policy, deterministic=False)["average_jct_s"].mean()
    after = episodes.play_policy("after", model.policy)["average_jct_s"].mean()
    # Each job waits for those before it, and one minute rounds fit these lengths.
    optimum = 60.0 * np.cumsum(LENGTHS).mean()
    assert before > 1.3 * optimum  # at first every order is equally likely
    assert sampled < 1.1 * optimum
    assert after < 1.02 * optimum
