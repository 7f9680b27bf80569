"""A workload: the requests of all jobs, ready for the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.config import ClusterConfig
from mlfs_gym.workloads.skips import SkipReport


@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs, their tasks and their partition graphs.

    Only the request fields of the arrays are filled; `mlfs_gym.cluster.build.new_state` copies the arrays and
    initialises the rest, so one workload may serve any number of simulations.

    Attributes:
        jobs: shape (J,), dtype `JOB`, in order of arrival.
        tasks: shape (T,), dtype `TASK`, grouped by job.
        edges: shape (E,), dtype `EDGE`, grouped by job, within a job by target, then source.
        job_ids: the jobs' names, unique.
        name: of the workload, for reports.
        skipped: what the source held beside these jobs.
        sound: True if it was made by `assemble`, whose workloads fulfil all that `validate` asks of a workload by
            itself.
    """

    jobs: Array
    tasks: Array
    edges: Array
    job_ids: tuple[str, ...]
    name: str
    skipped: SkipReport = field(default_factory=SkipReport)
    sound: bool = False

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def gpu_seconds(self) -> float:
        """Ideal GPU time of all jobs."""
        run_time = self.jobs["ideal_iteration_time"] * self.jobs["max_iterations"]
        return float((run_time * self.jobs["num_gpus"]).sum())

    def load(self, cluster: ClusterConfig) -> float:
        """Ideal GPU time over the GPU time that the cluster has between first and last arrival (inf for no span)."""
        if len(self.jobs) == 0:
            return 0.0
        span = float(self.jobs["arrival"][-1] - self.jobs["arrival"][0])
        return self.gpu_seconds / (cluster.total_gpus * span) if span > 0 else float("inf")
