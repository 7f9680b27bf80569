"""The cluster as a scheduler sees it, in plain Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from mlfs_gym.cluster.arrays import QUEUED, RUNNING, Array, State
from mlfs_gym.cluster.consolidated import consolidated_hosts
from mlfs_gym.cluster.decisions import evict_job, move_task, next_replica, place_replica, stop_job
from mlfs_gym.errors import SchedulerError


class Cluster(ABC):
    """Base of the simulated cluster and of clusters of real devices.

    Attributes:
        state: the arrays, shared with compiled kernels (see `mlfs_gym.cluster.arrays`).
        hosts_scratch: shape (largest P + 1,), int64, for kernels that look for hosts.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.hosts_scratch = np.zeros(int(state.jobs["partitions"].max(initial=0)) + 1, np.int64)

    # --- what is there ----------------------------------------------------------------------------
    @property
    def jobs(self) -> Array:
        """Shape (J,), dtype `JOB`, in order of arrival."""
        return self.state.jobs

    @property
    def tasks(self) -> Array:
        """Shape (T,), dtype `TASK`."""
        return self.state.tasks

    @property
    def edges(self) -> Array:
        """Shape (E,), dtype `EDGE`."""
        return self.state.edges

    @property
    def servers(self) -> Array:
        """Shape (S,), dtype `SERVER`."""
        return self.state.servers

    @property
    def gpus(self) -> Array:
        """Shape (G,), dtype `GPU`."""
        return self.state.gpus

    @property
    def time(self) -> float:
        """Now, in seconds."""
        return float(self.state.clock["time"][0])

    def active_jobs(self) -> list[int]:
        """Jobs that have arrived and not ended, in order of arrival."""
        arrived = self.state.active[: self.state.clock["num_active"][0]]
        status = self.jobs["status"][arrived]  # one that was stopped in this round is still listed until it is over
        return [int(job) for job in arrived[(status == QUEUED) | (status == RUNNING)]]

    def waiting_jobs(self) -> list[int]:
        """Active jobs with a replica that does not run, in order of arrival."""
        waiting: list[int] = self.state.waiting[: self.state.clock["num_waiting"][0]].tolist()
        return waiting

    def running_jobs(self) -> list[int]:
        """Jobs with at least one running replica, in order of arrival."""
        status = self.state.jobs["status"]
        return [job for job in self.active_jobs() if status[job] == RUNNING]

    def remaining_time(self, job: int) -> float:
        """Seconds to the last iteration with all replicas and no contention (an oracle's knowledge)."""
        row = self.state.jobs[job]
        return float((row["max_iterations"] - row["progress"]) * row["ideal_iteration_time"])

    # --- decisions --------------------------------------------------------------------------------
    def place(self, job: int, hosts: Sequence[int] | Array | None = None) -> bool:
        """Place the next replica of a job as a gang: all of its tasks, or none.

        Args:
            job: index of an active job.
            hosts: GPU of each partition and, if the replica brings the parameter server (the first one
                of a job that has one), the server of that; None: consolidated placement.

        Returns:
            False, with nothing changed, if no replica waits or it does not fit now.

        Raises:
            SchedulerError: if `hosts` has the wrong length.
        """
        self._check_job(job)
        if hosts is None:
            if not consolidated_hosts(self.state, job, self.hosts_scratch):
                return False
        else:
            self._fill_hosts(job, hosts)
        return bool(place_replica(self.state, job, self.hosts_scratch))

    def place_all(self, job: int) -> int:
        """Place replicas of a job, consolidated, until all run or one does not fit. Returns how many."""
        placed = 0
        while self.place(job):
            placed += 1
        return placed

    def evict(self, job: int) -> bool:
        """Preempt a running job: it queues again and pays a restart. False if it does not run."""
        self._check_job(job)
        return bool(evict_job(self.state, job))

    def move(self, task: int, server: int, gpu: int | None = None) -> bool:
        """Migrate one task to a server (by default to its least used GPU that has room)."""
        if not 0 <= task < len(self.tasks):
            raise SchedulerError(f"move: no task {task}, there are {len(self.tasks)}")
        if gpu is None:
            gpu = self._least_used_gpu(task, server)
        return bool(move_task(self.state, task, server, gpu))

    def stop(self, job: int) -> bool:
        """End an active job early. False if it is not active."""
        self._check_job(job)
        return bool(stop_job(self.state, job))

    @abstractmethod
    def observe(self) -> None:
        """Bring progress, losses and accuracies of all active jobs up to now."""

    @abstractmethod
    def reports(self, seen: Array) -> tuple[Array, Array, Array]:
        """What active jobs have reported after iterations that are already known.

        Args:
            seen: shape (J,), whole iterations of each job that are known.

        Returns:
            Jobs (int64), losses and accuracies, each of shape (n,); the iterations of a job in order.
        """

    @abstractmethod
    def apply(self) -> None:
        """Make the decisions of this round take effect."""

    # --- helpers ----------------------------------------------------------------------------------
    def _check_job(self, job: int) -> None:
        if not 0 <= job < len(self.jobs):
            raise SchedulerError(f"no job {job}, there are {len(self.jobs)}")

    def _fill_hosts(self, job: int, hosts: Sequence[int] | Array) -> None:
        partitions = int(self.jobs["partitions"][job])
        brings_server = self.jobs["parameter_server"][job] == 1 and self.jobs["running_replicas"][job] == 0
        wanted = partitions + int(brings_server)
        if len(hosts) != wanted:
            what = "GPUs and the parameter server's server" if brings_server else "GPUs"
            raise SchedulerError(f"place: job {job} needs {wanted} hosts ({what}), got {len(hosts)}")
        self.hosts_scratch[:wanted] = hosts

    def _least_used_gpu(self, task: int, server: int) -> int:
        if not 0 <= server < len(self.servers):
            raise SchedulerError(f"move: no server {server}, there are {len(self.servers)}")
        first = int(self.servers["first_gpu"][server])
        gpus = self.gpus[first : first + int(self.servers["num_gpus"][server])]
        room = gpus["memory"] - gpus["memory_used"] >= self.tasks["gpu_memory"][task]
        if self.state.clock["sharing"][0] == 0:
            room &= gpus["num_tasks"] == 0
        room &= np.arange(first, first + len(gpus)) != self.tasks["gpu"][task]
        if not room.any():
            return -1
        return first + int(np.where(room, gpus["used"], np.iinfo(np.int64).max).argmin())

    def next_replica(self, job: int) -> int:
        """The replica that `place` would place next, -1 if all run."""
        self._check_job(job)
        return int(next_replica(self.state, job))
