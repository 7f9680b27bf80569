"""Workloads with the statistics of Microsoft's Philly cluster, for simulations of 117,325 jobs and for training."""

from mlfs_gym.workloads.philly.generator import (
    PHILLY_CLUSTER,
    PhillyConfig,
    PhillyWindows,
    generate_philly,
    philly_window,
)

__all__ = ["PHILLY_CLUSTER", "PhillyConfig", "PhillyWindows", "generate_philly", "philly_window"]
