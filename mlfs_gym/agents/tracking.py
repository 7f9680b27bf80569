"""Curves for TensorBoard. All tags are described in the README."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import HParam, Logger, TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from mlfs_gym.agents.checkpoint import last_step
from mlfs_gym.agents.config import TrainConfig
from mlfs_gym.agents.run_folder import RunFolder

# Metric of the simulator: tag, factor.
CLUSTER_TAGS: Mapping[str, tuple[str, float]] = {
    "average_jct_s": ("average_jct_minutes", 1 / 60),
    "makespan_s": ("makespan_hours", 1 / 3600),
    "average_waiting_s": ("average_waiting_minutes", 1 / 60),
    "deadline_ratio": ("deadline_ratio", 1.0),
    "average_accuracy": ("average_accuracy", 1.0),
    "accuracy_guarantee_ratio": ("accuracy_guarantee_ratio", 1.0),
    "bandwidth_tb": ("bandwidth_tb", 1.0),
}


def open_logger(folder: Path) -> Logger:
    """A logger that writes TensorBoard events into a run's folder.

    What a killed process logged after its last checkpoint is hidden: the resumed run logs it again.
    """
    events = _Events(folder, _first_step_again(folder))
    events.writer.add_custom_scalars(_layout())
    return Logger(str(folder), [events])


class _Events(TensorBoardOutputFormat):
    """Stable-Baselines3's writer, told where an earlier one is to be cut off.

    Args:
        folder: of the events.
        again: first step that will be logged again; None if there is none.
    """

    def __init__(self, folder: Path, again: int | None) -> None:
        self.writer = SummaryWriter(str(folder), purge_step=again)
        self._is_closed = False


def _first_step_again(folder: Path) -> int | None:
    """Of a resumed run; None for a new one, and for one stopped while cloning, which nothing tells apart by steps."""
    run = RunFolder(folder)
    step = last_step(run.checkpoints)
    if step is not None:
        return step + 1
    begins_again = any(folder.glob("events.out.tfevents.*")) and not run.demonstrations.is_file()
    return 0 if begins_again else None


def record_validation(
    logger: Logger, found: Mapping[str, float], reference: str, baselines: Mapping[str, Mapping[str, float]]
) -> None:
    """Hand the means over validation seeds to the logger.

    Args:
        logger: receives them; the caller dumps.
        found: means of the policy by metric, with ``return``.
        reference: the baseline that ``_minus_`` and ``_vs_`` refer to.
        baselines: by name, means on the same seeds.
    """
    expert = baselines[reference]
    logger.record("eval/return", found["return"])
    logger.record(f"eval/return_minus_{reference}", found["return"] - expert["return"])
    for name, means in baselines.items():
        logger.record(f"eval/return_of_{name}", means["return"])
    for metric, (tag, factor) in CLUSTER_TAGS.items():
        logger.record(f"cluster/{tag}", found[metric] * factor)
        if expert[metric] != 0.0:
            logger.record(f"cluster/{tag}_vs_{reference}", found[metric] / expert[metric])


def record_hyperparameters(logger: Logger, config: TrainConfig, outcome: Mapping[str, float]) -> None:
    """Hand hyperparameters and what came of them to the logger, for TensorBoard's HPARAMS page."""
    flat = dict(_flat(config.model_dump(mode="json")))
    logger.record("hparams", HParam(flat, dict(outcome)), exclude=("stdout", "log", "json", "csv"))


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, bool | str | float | int | None]]:
    flat: list[tuple[str, bool | str | float | int | None]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat += _flat(value, f"{prefix}{name}.")
        elif isinstance(value, (bool, str, float, int)):
            flat.append((prefix + name, value))
        else:
            flat.append((prefix + name, str(value)))
    return flat


def _layout() -> dict[str, dict[str, list[Any]]]:
    """TensorBoard's page CUSTOM SCALARS: the policy and the schedulers in one plot."""
    jct = [f"cluster/{CLUSTER_TAGS['average_jct_s'][0]}_vs_.*"]
    return {
        "Policy and schedulers": {
            "return on validation seeds": ["Multiline", ["eval/return$", "eval/return_of_.*"]],
            "JCT relative to the expert": ["Multiline", jct],
        }
    }
