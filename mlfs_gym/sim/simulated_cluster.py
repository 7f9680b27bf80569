"""A cluster on which virtual time passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.build import new_state
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import say_if_first_compilation
from mlfs_gym.config import ClusterConfig, SimulationConfig
from mlfs_gym.sim.engine import advance
from mlfs_gym.sim.progress import observe
from mlfs_gym.sim.refresh import refresh
from mlfs_gym.sim.reports import new_reports
from mlfs_gym.workloads.validation import validate
from mlfs_gym.workloads.workload import Workload


class SimulatedCluster(Cluster):
    """The simulator behind the schedulers and the environment.

    Args:
        workload: the jobs.
        cluster: the servers (settings, a mapping of them, or None for the defaults).
        simulation: how time passes, likewise.
        seed: of demand fluctuation and loss noise.

    Raises:
        WorkloadError: if a job can never run on this cluster.
        SettingsError: if a setting is wrong.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: ClusterConfig | Mapping[str, Any] | None = None,
        simulation: SimulationConfig | Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        say_if_first_compilation(advance)
        self.workload = workload
        self.cluster_config = ClusterConfig.parse(cluster)
        self.simulation_config = SimulationConfig.parse(simulation)
        validate(workload, self.cluster_config)
        super().__init__(
            new_state(workload.jobs, workload.tasks, workload.edges, self.cluster_config, self.simulation_config, seed)
        )
        self._scratch = np.zeros(max(1, int(self.jobs["partitions"].max(initial=1))))

    def again(self) -> SimulatedCluster:
        """This cluster at time 0, with the same workload and seed."""
        seed = int(self.state.clock["seed"][0])
        return SimulatedCluster(self.workload, self.cluster_config, self.simulation_config, seed)

    def advance(self, wake_every_seconds: float = np.inf, one_event: bool = False) -> int:
        """Let time pass until the next round or the end; see `mlfs_gym.sim.engine.advance`."""
        return int(advance(self.state, self._scratch, wake_every_seconds, one_event))

    def observe(self) -> None:
        """Bring progress, losses and accuracies of all active jobs up to now."""
        observe(self.state)

    def reports(self, seen: Array) -> tuple[Array, Array, Array]:
        """Losses and accuracies of iterations that are not yet known, see `Cluster.reports`."""
        jobs, losses, accuracies = new_reports(self.state, seen)
        return jobs, losses, accuracies

    def apply(self) -> None:
        """Make the decisions of this round take effect."""
        refresh(self.state, self._scratch)
