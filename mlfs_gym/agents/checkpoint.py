"""Everything that a training needs to go on exactly where it was: networks, optimiser, environments, generators."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mlfs_gym.agents.ppo import ImitationPPO
from mlfs_gym.agents.run_folder import write_whole
from mlfs_gym.agents.vec_env import MlfsVecEnv

KEPT = 2  # the one before stays, in case the last is damaged


@dataclass
class Checkpoint:
    """State of a training between two rollouts.

    Attributes:
        model: what `ImitationPPO.save` writes.
        envs: the training environments, in the middle of their episodes.
        torch_state: of PyTorch's generator, which samples actions.
        numpy_state: of NumPy's global generator, from which Stable-Baselines3 shuffles batches.
        imitation_state: of the generator that draws demonstrations.
        notes: what else the training keeps.
    """

    model: bytes
    envs: MlfsVecEnv
    torch_state: torch.Tensor
    numpy_state: Any
    imitation_state: Any
    notes: dict[str, Any]

    @classmethod
    def of(cls, model: ImitationPPO, imitation_rng: np.random.Generator, notes: dict[str, Any]) -> Checkpoint:
        """The state of a training now. Call it between rollouts."""
        stored = io.BytesIO()
        model.save(stored)
        assert isinstance(model.env, MlfsVecEnv)
        return cls(
            stored.getvalue(),
            model.env,
            torch.get_rng_state(),
            np.random.get_state(),  # noqa: NPY002 (not ours: Stable-Baselines3 draws from it)
            imitation_rng.bit_generator.state,
            notes,
        )

    def restore(self, imitation_rng: np.random.Generator, device: str) -> ImitationPPO:
        """A model that goes on from here; sets the generators as well."""
        # force_reset would lose the episodes that are being played.
        model = ImitationPPO.load(io.BytesIO(self.model), env=self.envs, device=device, force_reset=False)
        torch.set_rng_state(self.torch_state)
        np.random.set_state(self.numpy_state)  # noqa: NPY002
        imitation_rng.bit_generator.state = self.imitation_state
        return model

    def write(self, folder: Path, step: int) -> None:
        """Write to a folder, completely or not at all, and delete all but the last ones."""
        write_whole(folder / f"step_{step:012d}.pkl", pickle.dumps(self, protocol=pickle.HIGHEST_PROTOCOL))
        for old in _paths(folder)[:-KEPT]:
            old.unlink()


def last_checkpoint(folder: Path) -> Checkpoint | None:
    """The newest checkpoint that can be read, None if there is none."""
    for path in reversed(_paths(folder)):
        try:
            found = pickle.loads(path.read_bytes())
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, ValueError):
            continue  # damaged, or written by another version: take the one before
        if isinstance(found, Checkpoint):
            return found
    return None


def last_step(folder: Path) -> int | None:
    """Steps of the newest checkpoint, None if there is none."""
    paths = _paths(folder)
    return int(paths[-1].stem.removeprefix("step_")) if paths else None


def _paths(folder: Path) -> list[Path]:
    return sorted(folder.glob("step_*.pkl"))
