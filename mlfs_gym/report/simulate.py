"""One scheduler, one workload, one call: what came out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.config import ClusterConfig, Settings, SimulationConfig
from mlfs_gym.errors import SettingsError
from mlfs_gym.report.metrics import metrics
from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.registry import make_scheduler
from mlfs_gym.sim.run import run
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads.presets import default_cluster, default_simulation, make_workload
from mlfs_gym.workloads.profiles import FAMILY_NAMES
from mlfs_gym.workloads.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

S = TypeVar("S", bound=Settings)

STATUS_NAMES = ("pending", "queued", "running", "finished", "stopped")
"""In the order of ``jobs["status"]``."""
HIGHEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Result:
    """A finished run.

    Attributes:
        cluster: as it was at the end; ``cluster.jobs`` has every column there is.
        scheduler: name of the scheduler.
        scheduler_seconds: wall-clock time of each round's decisions.
        reached_limit: True if the time limit ended the run before the last job.
    """

    cluster: SimulatedCluster
    scheduler: str
    scheduler_seconds: list[float]
    reached_limit: bool

    @property
    def scheduler_ms_per_round(self) -> float:
        """Median wall-clock time of a round's decisions: the first one may have had to compile."""
        return 1e3 * float(np.median(self.scheduler_seconds)) if self.scheduler_seconds else 0.0

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The metrics of the paper; `mlfs_gym.report.metrics.METRICS` says what they mean."""
        return metrics(self.cluster.state)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job in order of arrival; times in seconds, nan for what did not happen."""
        import pandas as pd

        rows = self.cluster.jobs
        finish, deadline = rows["finish"], rows["deadline"]
        return pd.DataFrame(
            {
                "job_id": self.cluster.workload.job_ids,
                "model": np.array(FAMILY_NAMES)[rows["model"]],
                "gpus": rows["num_gpus"],
                "replicas": rows["replicas"],
                "partitions": rows["partitions"],
                "urgency": rows["urgency"],
                "arrival_s": rows["arrival"],
                "deadline_s": deadline,
                "status": np.array(STATUS_NAMES)[rows["status"]],
                "first_start_s": rows["first_start"] + 0.0,  # the first round is at -0.0
                "finish_s": finish,
                "jct_s": finish - rows["arrival"],
                "waiting_s": rows["waiting_time"],
                "iterations": rows["progress"],
                "max_iterations": rows["max_iterations"],
                "met_deadline": finish <= deadline,
                "required_accuracy": rows["required_accuracy"],
                "accuracy_by_deadline": rows["accuracy_by_deadline"],
                "met_accuracy": rows["requirement_met"] == 1,
                "bytes_sent": rows["bytes_sent"],
                "preemptions": rows["preemptions"],
                "migrations": rows["migrations"],
            }
        )


def simulate(
    workload: Workload | str,
    scheduler: Scheduler | str,
    cluster: ClusterConfig | Mapping[str, Any] | None = None,
    simulation: SimulationConfig | Mapping[str, Any] | None = None,
    seed: int = 0,
    on_round: Callable[[Cluster], None] | None = None,
) -> Result:
    """Let a scheduler play a workload to its end.

    In Python::

        import mlfs_gym

        result = mlfs_gym.simulate("small", "mlf_h", seed=1)
        print(result.metrics["average_jct_s"], result.jobs.head())

    Args:
        workload: the jobs, or the name of a generated workload (``small``, ``testbed``, ``toy``, ``philly``), drawn
            with the seed.
        scheduler: an instance, or a name that `mlfs_gym.schedulers.make_scheduler` knows.
        cluster: the servers: settings, taken as they are; or a mapping of those to change; or None. What is not said
            is as the workload of that name has it (``testbed``: 20 servers), for jobs without a name the default.
        simulation: how time passes, likewise; ``{"sharing": False}`` gives every task a GPU of its own, as ``small``
            has it unless told otherwise, like its environment and the command line.
        seed: of a workload given by name, of demand fluctuation and of loss noise.
        on_round: called after each round of decisions, for progress bars.

    Raises:
        SettingsError: if a setting is wrong or a name unknown.
        WorkloadError: if a job can never run on this cluster.
        SchedulerError: if the scheduler leaves jobs waiting on an idle cluster with nothing to come.
    """
    check_seed(seed)
    chosen = make_scheduler(scheduler) if isinstance(scheduler, str) else scheduler
    if not isinstance(chosen, Scheduler):
        raise SettingsError(f"scheduler: found {chosen!r}, expected a name or a mlfs_gym.schedulers.Scheduler")
    jobs = make_workload(workload, seed=int(seed)) if isinstance(workload, str) else workload
    if not isinstance(jobs, Workload):
        raise SettingsError(f"workload: found {jobs!r}, expected a name or a mlfs_gym.workloads.Workload")
    if isinstance(workload, str):
        cluster = _with_defaults(default_cluster(workload), cluster)
        simulation = _with_defaults(default_simulation(workload), simulation)
    simulated = SimulatedCluster(jobs, cluster, simulation, int(seed))
    record = run(simulated, chosen if on_round is None else _Watched(chosen, on_round))
    return Result(simulated, chosen.name, record.scheduler_seconds, record.reached_limit)


def _with_defaults(default: S, given: S | Mapping[str, Any] | None) -> S:
    """Settings as given; a mapping changes the defaults."""
    return given if isinstance(given, Settings) else type(default).parse(default, **(given or {}))


def check_seed(seed: object) -> None:
    """Raises SettingsError unless the seed is a whole number that random generators and the clock take."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= HIGHEST_SEED:
        raise SettingsError(f"seed: found {seed!r}, expected a whole number from 0 to 2**63 - 1")


class _Watched(Scheduler):
    """A scheduler that somebody looks at after each round."""

    def __init__(self, scheduler: Scheduler, on_round: Callable[[Cluster], None]) -> None:
        self.name, self.observes = scheduler.name, scheduler.observes
        self.wake_every_seconds = scheduler.wake_every_seconds
        self._scheduler, self._on_round = scheduler, on_round

    def reset(self, cluster: Cluster) -> None:
        self._scheduler.reset(cluster)

    def schedule(self, cluster: Cluster) -> None:
        self._scheduler.schedule(cluster)
        self._on_round(cluster)
