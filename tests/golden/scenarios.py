"""The runs whose metrics are kept: two workloads, every scheduler, shared and exclusive GPUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers import Scheduler, make_scheduler, scheduler_names
from mlfs_gym.schedulers.mlf_h.params import MLFHParams
from mlfs_gym.schedulers.mlf_h.scheduler import MLFH
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads import default_cluster, make_workload
from tests.builders import random_workload

FILE = Path(__file__).with_name("metrics.json")

SCHEDULERS = (*scheduler_names(), "mlf_h paper", "mlf_h+mlf_c", "fifo+mlf_c", "fair+mlf_c", "gandiva+mlf_c")
WORKLOADS = ("small", "random")
SEED = 2020


def scheduler_of(name: str) -> Scheduler:
    return MLFH(MLFHParams.paper()) if name == "mlf_h paper" else make_scheduler(name)


def cluster_of(workload: str, sharing: bool) -> SimulatedCluster:
    """A fresh cluster with a workload of the generator, or with one that does not depend on it."""
    if workload == "small":
        return SimulatedCluster(make_workload("small", SEED), default_cluster("small"), {"sharing": sharing}, SEED)
    cluster = {"servers": 3, "gpus_per_server": 4, "cpu_cores": 8.0, "memory_gib": 64.0, "nic_gbit_per_s": 2.5}
    jobs = random_workload(np.random.default_rng(SEED), 60, 3000.0, 12)
    return SimulatedCluster(jobs, cluster, {"sharing": sharing}, SEED)


def names() -> list[str]:
    """Of all scenarios: "workload, GPUs, scheduler"."""
    gpus = ("shared", "exclusive")
    return [f"{workload}, {kind}, {name}" for workload in WORKLOADS for kind in gpus for name in SCHEDULERS]


def found(scenario: str) -> dict[str, float]:
    """Metrics of a scenario as the code computes them now."""
    workload, kind, name = scenario.split(", ")
    cluster = cluster_of(workload, kind == "shared")
    run(cluster, scheduler_of(name))
    return metrics(cluster.state)


def kept() -> dict[str, dict[str, float]]:
    """Metrics as they were when the file was written."""
    golden: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return golden
