"""The simulator in plain Python: the second implementation that the compiled one must match.

Written to be read. Every sum is added up anew, every speed is computed again after every event, nothing
is cached or indexed.

To agree with the compiled engine to the last bits, floating point must take the same path. There a job is
settled (its progress brought up to date) only when it must be, and so here: when it is itself placed,
evicted, moved or stopped; when its iteration time or traffic turns out different after an event, because
of its neighbours or of demand; when it ends; and when somebody asks (`observe`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mlfs_gym.cluster.arrays import FINISHED, PENDING, QUEUED, RUNNING, STOPPED
from mlfs_gym.config import ClusterConfig, SimulationConfig
from tests.twin import curves
from tests.twin.hashing import FLUCTUATION_STREAM, uniform
from tests.twin.speed import bytes_per_iteration, iteration_time
from tests.twin.things import Gpu, Job, Server, Task, WorkloadArrays, build_jobs, build_servers

Event = tuple[float, str, int]  # time, kind, job (-1: concerns no single job)

# What happens first at equal times.
ORDER = ("completion", "redraw", "arrival", "round")
NO_JOB = -1


def snap(time: float) -> float:
    """To the microsecond grid, on which all events lie."""
    return time if math.isinf(time) else round(time * 1e6) / 1e6


class Twin:
    """A cluster on which virtual time passes.

    Call `advance` or `step`, then at a round any number of decisions, then `refresh`, and so on.
    """

    def __init__(
        self, workload: WorkloadArrays, cluster: ClusterConfig, simulation: SimulationConfig, seed: int = 0
    ) -> None:
        self.config = simulation
        self.seed = seed
        self.servers = build_servers(cluster)
        self.gpus: list[Gpu] = [gpu for server in self.servers for gpu in server.gpus]
        self.jobs = build_jobs(workload)
        self.tasks: list[Task] = [task for job in self.jobs for task in job.tasks]

        self.time = 0.0
        self.period = 0
        self.rounds = 0
        self.last_round = -math.inf
        self.changed = False  # since the last round, in a way that a scheduler could react to
        self.jct_integral = 0.0
        self.log: list[Event] = []
        self._touched: set[int] = set()  # jobs with a decision since the last refresh

    # --- what schedulers look at --------------------------------------------------------------------
    def active_jobs(self) -> list[Job]:
        return [job for job in self.jobs if job.active]

    def waiting_jobs(self) -> list[Job]:
        return [job for job in self.jobs if job.active and job.next_replica is not None]

    def running_jobs(self) -> list[Job]:
        return [job for job in self.jobs if job.status == RUNNING]

    @property
    def deadlines_met(self) -> int:
        return sum(job.ended and job.finish <= job.request["deadline"] for job in self.jobs)

    # --- time ---------------------------------------------------------------------------------------
    def advance(self, wake_every: float = math.inf) -> str:
        """Let time pass until "round", "done", "limit" or "stuck"."""
        while True:
            outcome = self.step(wake_every)
            if outcome not in ("completion", "redraw", "arrival"):
                return outcome

    def step(self, wake_every: float = math.inf) -> str:
        """The next event's kind, or "done", "limit" or "stuck"."""
        if all(job.ended for job in self.jobs):
            return "done"
        time, kind, job = self.next_event(wake_every)
        if math.isinf(time):
            return "stuck"
        if time > self.config.time_limit_seconds:
            self._pass_time(self.config.time_limit_seconds)
            self.observe()
            return "limit"
        self._pass_time(time)
        self.log.append((time, kind, job))
        handlers: dict[str, Callable[[int], None]] = {
            "completion": self._complete,
            "redraw": self._redraw,
            "arrival": self._arrive,
            "round": self._begin_round,
        }
        handlers[kind](job)
        self.refresh()
        return kind

    def next_event(self, wake_every: float = math.inf) -> Event:
        events = [(job.finish_at, "completion", job.index) for job in self.running_jobs()]
        events += [(self._next_redraw(), "redraw", NO_JOB)]
        events += [(snap(job.request["arrival"]), "arrival", job.index) for job in self.jobs if job.status == PENDING]
        events += [(self._next_round(wake_every), "round", NO_JOB)]
        return min(events, key=lambda event: (event[0], ORDER.index(event[1]), event[2]))

    def _next_redraw(self) -> float:
        # Without fluctuation all factors are 1 for ever: nothing to draw.
        if self.config.fluctuation == 0 or not any(server.tasks for server in self.servers):
            return math.inf
        return snap((self.period + 1) * self.config.redraw_seconds)

    def _next_round(self, wake_every: float) -> float:
        earliest = math.inf
        if self.changed and (self.waiting_jobs() or any(self._overloaded(server) for server in self.servers)):
            earliest = self.time
        if self.active_jobs() and wake_every < math.inf and self.last_round > -math.inf:
            earliest = min(earliest, max(self.time, self.last_round + wake_every))
        if math.isinf(earliest):
            return math.inf
        # The first multiple that is not before it, and never the last round's again.
        multiple = self._multiple(earliest, self.config.round_seconds)
        while snap(multiple * self.config.round_seconds) < earliest:
            multiple += 1
        if snap(multiple * self.config.round_seconds) == self.last_round:
            multiple += 1
        return snap(multiple * self.config.round_seconds)

    @staticmethod
    def _multiple(time: float, step: float) -> int:
        """The last k for which k * step, on the grid, is not after the time. Quotients of floats only come near."""
        k = max(0, math.floor(time / step) - 1)
        while snap((k + 1) * step) <= time:
            k += 1
        return k

    def _overloaded(self, server: Server) -> bool:
        """Above its capacity, so that tasks slow each other down; one alone has nobody to make room for."""
        crowded_gpu = any(len(gpu.tasks) > 1 and gpu.used > 1000 for gpu in server.gpus)
        crowded = server.cpu_used > server.cpu or server.nic_used > server.nic
        return crowded_gpu or (len(server.tasks) > 1 and crowded)

    def _pass_time(self, time: float) -> None:
        self.jct_integral += len(self.active_jobs()) * (time - self.time)
        self.time = time

    def _arrive(self, index: int) -> None:
        job = self.jobs[index]
        job.status = QUEUED
        job.settled_at = self.time
        self._settle(job)
        self.changed = True

    def _complete(self, index: int) -> None:
        job = self.jobs[index]
        self._settle(job, completes=True)
        self._end(job, FINISHED)

    def _redraw(self, _: int) -> None:
        self.period += 1
        for job in self.running_jobs():
            self._book(job)
        self.changed = True

    def _begin_round(self, _: int) -> None:
        self.rounds += 1
        self.last_round = self.time
        self.changed = False

    # --- decisions ----------------------------------------------------------------------------------
    def place(self, index: int, gpus: list[int], ps_server: int | None = None) -> bool:
        """The lowest replica that does not run: a GPU per partition, and a server for the parameter server."""
        job = self.jobs[index]
        replica = job.next_replica if job.active else None
        if replica is None:
            return False
        hosts = {task: self.gpus[gpu] for task, gpu in zip(replica, gpus, strict=True)}
        newcomers: list[tuple[Task, Server]] = [(task, gpu.server) for task, gpu in hosts.items()]
        if job.parameter_server is not None and job.status == QUEUED:
            assert ps_server is not None
            newcomers.append((job.parameter_server, self.servers[ps_server]))
        if not self._fits(hosts, newcomers):
            return False

        self._touch(job)
        if not any(server.tasks for server in self.servers):
            self.period = self._multiple(self.time, self.config.redraw_seconds)
        for task, server in newcomers:
            task.server = server
            server.tasks.append(task)
        for task, gpu in hosts.items():
            task.gpu = gpu
            gpu.tasks.append(task)
        self._book(job)
        job.status = RUNNING
        if job.restart_due:
            job.restart_due = False
            self._stall(job, job.request["checkpoint_bytes"])
        return True

    def _fits(self, hosts: dict[Task, Gpu], newcomers: list[tuple[Task, Server]]) -> bool:
        for gpu in self.gpus:
            new = [task for task, host in hosts.items() if host is gpu]
            if new and not self.config.sharing and len(gpu.tasks) + len(new) > 1:
                return False
            if new and gpu.memory_used + sum(task.gpu_memory for task in new) > gpu.memory:
                return False
        for server in self.servers:
            needed = sum(task.memory for task, host in newcomers if host is server)
            if needed and server.memory_used + needed > server.memory:
                return False
        return True

    def evict(self, index: int) -> bool:
        job = self.jobs[index]
        if job.status != RUNNING:
            return False
        self._touch(job)
        self._release(job)
        job.status = QUEUED
        job.restart_due = True
        job.preemptions += 1
        return True

    def move(self, index: int, server_index: int, gpu_index: int | None = None) -> bool:
        """One task, to another GPU; a parameter server: to another server."""
        task, server = self.tasks[index], self.servers[server_index]
        job = self.jobs[task.job]
        if task.server is None:
            return False
        other_server = server is not task.server
        if other_server and server.memory_used + task.memory > server.memory:
            return False
        if task is job.parameter_server:
            if not other_server:
                return False
        else:
            assert gpu_index is not None and task.gpu is not None
            gpu = self.gpus[gpu_index]
            assert gpu.server is server
            full = gpu.memory_used + task.gpu_memory > gpu.memory
            if gpu is task.gpu or full or (gpu.tasks and not self.config.sharing):
                return False

        self._touch(job)
        task.server.tasks.remove(task)
        server.tasks.append(task)
        task.server = server
        if task.gpu is not None:
            task.gpu.tasks.remove(task)
            gpu.tasks.append(task)
            task.gpu = gpu
        task.moved_at = self.time
        job.migrations += 1
        self._book(job)
        share = 1.0 if task is job.parameter_server else task.share
        self._stall(job, job.request["checkpoint_bytes"] * share)
        return True

    def stop(self, index: int) -> bool:
        """End an active job now."""
        job = self.jobs[index]
        if not job.active:
            return False
        self._settle(job)
        self._end(job, STOPPED)
        return True

    def refresh(self) -> None:
        """After decisions and events: the speed of everything."""
        for job in self.running_jobs():
            if math.isnan(job.first_start):  # not if it was placed and evicted in one round
                job.first_start = self.time
            seconds, traffic = iteration_time(job, self.config.contention), bytes_per_iteration(job)
            if (seconds, traffic) == (job.iteration_time, job.bytes_per_iteration) and job.index not in self._touched:
                continue
            self._settle(job)  # at the old speed up to now
            job.iteration_time, job.bytes_per_iteration = seconds, traffic
            # All that this round's decisions cost, from now on; an older stall is not cut short.
            if job.stall_due > 0:
                job.stalled_until = max(job.stalled_until, self.time + job.stall_due)
            left = job.request["max_iterations"] - job.progress
            job.finish_at = snap(max(job.settled_at, job.stalled_until) + left * seconds)
        for job in map(self.jobs.__getitem__, self._touched):
            job.stall_due = 0.0
            if job.status == QUEUED:
                job.stalled_until = -math.inf
        self._touched.clear()

    def observe(self) -> None:
        """Bring progress, losses and accuracies of all active jobs up to now."""
        for job in self.active_jobs():
            self._settle(job)

    # --- helpers ------------------------------------------------------------------------------------
    def _touch(self, job: Job) -> None:
        self._settle(job)  # before the decision changes what it held and how fast it was
        self._touched.add(job.index)

    def _stall(self, job: Job, transfer: float) -> None:
        """A restart and a transfer to the new place that begins when the round ends; no progress before it is over."""
        config, gpus = self.config, int(job.request["num_gpus"])
        restart = config.restart_larger_seconds
        if gpus <= 8:
            restart = config.restart_up_to_8_seconds
        if gpus == 1:
            restart = config.restart_one_gpu_seconds
        job.stall_due += restart + transfer / self.servers[0].nic
        job.bytes_sent += transfer

    def _factor(self, task: Task) -> float:
        u = uniform(self.seed, FLUCTUATION_STREAM, task.index, self.period)
        return 1 + self.config.fluctuation * (2 * u - 1)

    def _book(self, job: Job) -> None:
        """What its placed tasks use now: demand times fluctuation."""
        spans = job.spans_servers
        for task in job.placed_tasks:
            factor = self._factor(task)
            task.gpu_used = round(task.gpu_demand * factor)
            task.cpu_used = round(task.cpu_demand * factor)
            task.nic_used = round(task.nic_demand * factor) if spans else 0

    def _release(self, job: Job) -> None:
        for task in job.placed_tasks:
            assert task.server is not None
            task.server.tasks.remove(task)
            if task.gpu is not None:
                task.gpu.tasks.remove(task)
            task.server = task.gpu = None
            task.gpu_used = task.cpu_used = task.nic_used = 0
        job.iteration_time = job.finish_at = math.inf
        job.bytes_per_iteration = 0.0

    def _end(self, job: Job, status: int) -> None:
        self._release(job)
        job.status = status
        job.finish = self.time
        self.changed = True

    # --- progress -----------------------------------------------------------------------------------
    def _progress_at(self, job: Job, time: float) -> float:
        """Iterations done, for a time since `settled_at`."""
        if job.status != RUNNING:
            return job.progress
        effective = max(0.0, time - max(job.settled_at, job.stalled_until))
        return min(job.progress + effective / job.iteration_time, float(job.request["max_iterations"]))

    def _settle(self, job: Job, completes: bool = False) -> None:
        now, deadline = self.time, float(job.request["deadline"])
        # `finish_at` lies on the grid, up to half a microsecond from the true end.
        progress = float(job.request["max_iterations"]) if completes else self._progress_at(job, now)
        if now <= deadline:
            self._judge(job, progress)
        elif job.settled_at < deadline:
            self._judge(job, min(self._progress_at(job, deadline), progress))

        if job.status == RUNNING:
            job.attained_service += (now - job.settled_at) * sum(len(replica) for replica in job.running_replicas)
            job.bytes_sent += (progress - job.progress) * job.bytes_per_iteration
        else:
            job.waiting_time += now - job.settled_at
        job.progress = progress
        job.settled_at = now
        job.accuracy = curves.accuracy(job.request, progress)
        done = math.floor(progress)
        job.first_loss, job.previous_loss, job.loss = (
            curves.observed_loss(job.request, job.index, iteration, self.seed)
            for iteration in (0, max(0, done - 1), done)
        )

    def _judge(self, job: Job, progress: float) -> None:
        """What it has learned by the deadline, if that is how far it came."""
        job.accuracy_by_deadline = curves.accuracy(job.request, progress)
        if curves.best_accuracy(job.request, job.progress, progress) >= job.request["required_accuracy"] - 1e-9:
            job.requirement_met = True
