"""The native vector environment in the form that Stable-Baselines3 takes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.envs.vector import VectorJobSchedulingEnv
from mlfs_gym.errors import SettingsError

# Attributes of a copy that others may ask for; all copies have the same but for the first.
_OF_EACH_COPY = "action_masks"


class MlfsVecEnv(VecEnv):
    """Many copies of the environment for Stable-Baselines3 and sb3-contrib, masks included.

    For instance::

        envs = gym.make_vec("mlfs_gym/JobScheduling-v0", num_envs=16, vectorization_mode="vector_entry_point",
                            autoreset_mode="SameStep")
        model = MaskablePPO("MultiInputPolicy", MlfsVecEnv(envs))

    Episode statistics stand in the infos as those of a `Monitor`, in the units of the objective.

    Args:
        envs: the copies, with ``autoreset_mode="SameStep"``.
        reward_scale: the learner sees rewards times this.

    Raises:
        SettingsError: the copies begin new episodes at another moment than Stable-Baselines3 expects.
    """

    def __init__(self, envs: Any, reward_scale: float = 1.0) -> None:
        native = envs.unwrapped
        if not isinstance(native, VectorJobSchedulingEnv):
            raise SettingsError(f"envs: found {native}, expected a vector environment of this package")
        if native.autoreset_mode != AutoresetMode.SAME_STEP:
            raise SettingsError(f"autoreset_mode: found {native.autoreset_mode.value!r}, expected 'SameStep'")
        self.envs, self._scale = native, reward_scale
        super().__init__(native.num_envs, native.single_observation_space, native.single_action_space)
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._begin = time.time()
        self._actions = np.zeros(self.num_envs, np.int64)

    def reset(self) -> Any:
        """Begin an episode in each copy, with the seeds that `seed` has set."""
        observations, _ = self.envs.reset(seed=list(self._seeds))
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return observations

    def step_async(self, actions: Array) -> None:
        """Remember what to do."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Do it: observations, scaled rewards, dones, and an info for each copy."""
        observations, rewards, terminations, truncations, found = self.envs.step(self._actions)
        self._returns += rewards
        self._lengths += 1
        dones = terminations | truncations
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for copy in np.flatnonzero(dones).tolist():
            infos[copy] = {
                "terminal_observation": found["final_obs"][copy],
                "TimeLimit.truncated": bool(truncations[copy] and not terminations[copy]),
                "episode": {
                    "r": round(float(self._returns[copy]), 6),
                    "l": int(self._lengths[copy]),
                    "t": round(time.time() - self._begin, 6),
                },
            }
        self._returns[dones] = 0.0
        self._lengths[dones] = 0
        return observations, (rewards * self._scale).astype(np.float32), dones, infos

    def close(self) -> None:
        """Close the copies."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, once for each copy."""
        return [getattr(self.envs, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: copies share what can be set."""
        raise NotImplementedError(f"set_attr({attr_name!r}): the copies share their attributes")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """The masks of valid actions, by the name that sb3-contrib asks for."""
        if method_name != _OF_EACH_COPY or method_args or method_kwargs:
            raise AttributeError(
                f"env_method: found {method_name!r}, expected {_OF_EACH_COPY!r}; `envs` has the others"
            )
        masks = self.envs.action_masks()
        return [masks[copy] for copy in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Copies have no wrappers of their own."""
        del wrapper_class
        return [False] * len(self._chosen(indices))

    def get_images(self) -> Sequence[Array | None]:
        """A frame of each copy."""
        return self.envs.render() or [None] * self.num_envs

    def _chosen(self, indices: int | Iterable[int] | None) -> list[int]:
        return list(self._get_indices(indices))
