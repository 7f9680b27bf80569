"""Names of all features of an observation, in order. The encoder fills them by these positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mlfs_gym.envs.layout import Layout

CLUSTER: Final = (
    "gpus_free",  # share of GPUs without a task
    "gpu_utilisation",  # mean over servers, 1.0 is full
    "cpu_utilisation",
    "memory_utilisation",
    "nic_utilisation",
    "servers_overloaded",  # share of servers with two or more tasks above capacity
    "jobs_waiting",  # log scale
    "jobs_running",  # log scale
    "gpus_wanted",  # GPUs of replicas that wait, relative to the cluster, log scale
    "waiting_mean_remaining",  # mean remaining run time of waiting jobs, log scale
    "queue_beyond_window",  # waiting jobs that no slot shows, log scale
    "sharing",  # 1: GPUs are shared
)

JOB: Final = (
    "present",  # 1: the slot holds a job
    "fits",  # 1: its next replica can be placed now
    "urgency",  # L_J / 10
    "gpus",  # requested, log scale
    "replicas",  # log scale
    "partitions",  # log scale
    "replicas_running",  # share
    "progress",  # share of I_max
    "iteration",  # 1 / I
    "loss_progress",  # share of the loss reduction that the last iteration brought
    "accuracy",
    "required_accuracy",
    "accuracy_missing",  # required minus present
    "run_time",  # ideal, whole job, log scale
    "remaining_time",  # ideal, log scale
    "gpu_time_remaining",  # remaining time * GPUs, log scale
    "iteration_time",  # ideal, log scale
    "time_to_deadline",  # log scale, negative when it has passed
    "slack",  # time to the deadline minus remaining time, likewise
    "waiting_time",  # log scale
    "traffic",  # gradient and edge bytes per ideal second relative to a NIC, log scale
    "parameter_server",  # 1: exchanges gradients through one
    "was_preempted",  # 1: pays a restart when placed
    "gpu_demand",  # of a task, mean, of one GPU
    "cpu_demand",  # of a task, mean, of a server
    "largest_share",  # largest S_k / S_J
    "model_alexnet",
    "model_resnet",
    "model_mlp",
    "model_lstm",
    "model_svm",
)

SERVER: Final = (
    "present",  # 1: there is such a candidate
    "feasible",  # 1: this choice is valid now
    "gpu_utilisation",
    "cpu_utilisation",
    "memory_utilisation",
    "nic_utilisation",
    "gpus_free",  # share of its GPUs without a task
    "least_used_gpu",  # compute used on its least used GPU
    "hosts_job",  # share of the job's placed tasks that sit there
    "volume",  # share of the task's traffic that would stay inside the server
    "servers_used",  # servers that the whole replica would use, log scale
)

MOVE: Final = (
    "present",
    "gpu_use",  # of one GPU
    "cpu_use",  # of its server
    "memory_use",
    "nic_use",
    "server_gpu_utilisation",
    "server_cpu_utilisation",
    "server_nic_utilisation",
    "gpu_pressure",  # compute used on its GPU, 1.0 is full
    "job_remaining_time",  # log scale
    "job_progress",
    "stall",  # seconds that a move costs, log scale
)

PROGRESS: Final = (
    "arrived",  # share of the episode's jobs
    "done",  # share of the episode's jobs
    "jobs",  # log scale
    "time",  # log scale
    "mean_run_time",  # of the episode's jobs, log scale
    "load",  # ideal GPU-seconds per GPU-second of the arrival span
)


FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "cluster": CLUSTER,
    "jobs": JOB,
    "pairs": SERVER,
    "moves": MOVE,
    "move_pairs": SERVER,
    "progress": PROGRESS,
    "running": JOB,
}
"""Parts of an observation with the names of the features of a row."""

SINGLE: Final = ("cluster", "progress")
"""Parts that are one row."""


def observation_shapes(layout: Layout) -> dict[str, tuple[int, ...]]:
    """Rows and columns of each part of an observation. The spaces hold the rows one after another, see `as_rows`.

    ``progress`` describes the episode from outside; it is meant for critics, an actor need not see it.
    """
    shapes: dict[str, tuple[int, ...]] = {
        "cluster": (len(CLUSTER),),
        "jobs": (layout.slots, len(JOB)),
        "pairs": (layout.slots, layout.candidates, len(SERVER)),
        "moves": (layout.moves, len(MOVE)),
        "move_pairs": (layout.moves, layout.candidates, len(SERVER)),
        "progress": (len(PROGRESS),),
    }
    if layout.running:
        shapes["running"] = (layout.running, len(JOB))
    return shapes


def as_rows(observation: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of an observation, or of a batch of them, with their rows told apart.

    Libraries take anything but vectors for images, so the spaces are flat: ``jobs`` is a vector of K * 31 numbers.
    Here it becomes (K, 31), ``pairs`` (K, C, 11), and so on, whatever the sizes of the window.

    Args:
        observation: arrays of NumPy or PyTorch, each of shape (size,) or (B, size).
    """
    rows = {
        name: values if name in SINGLE else values.reshape(*values.shape[:-1], -1, len(FEATURES[name]))
        for name, values in observation.items()
    }
    for pairs, owner in (("pairs", "jobs"), ("move_pairs", "moves")):
        if pairs in rows:
            owners = rows[owner].shape[-2]
            *batch, _, features = rows[pairs].shape
            rows[pairs] = rows[pairs].reshape(*batch, owners, -1, features)
    return rows


def feature_names() -> dict[str, tuple[str, ...]]:
    """Names of the features of a row, for each part of an observation."""
    return dict(FEATURES)
