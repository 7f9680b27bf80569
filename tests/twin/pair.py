"""The twin beside the compiled simulator: both play the same game, and everything is compared after every event."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, NONE, PENDING, QUEUED, RUNNING
from mlfs_gym.cluster.invariants import check_invariants
from mlfs_gym.config import ClusterConfig, SimulationConfig
from mlfs_gym.sim.engine import DONE, EVENT, LIMIT, ROUND, STUCK
from mlfs_gym.sim.simulated_cluster import SimulatedCluster
from mlfs_gym.workloads.workload import Workload
from tests.twin.decisions import Decision, Evict, Made, Move, Place, Stop, decide
from tests.twin.things import Job, Task
from tests.twin.twin import NO_JOB, Event, Twin

OUTCOMES = {ROUND: "round", DONE: "done", LIMIT: "limit", STUCK: "stuck"}
TOLERANCE = 1e-12

JOB_INTEGERS = ("status", "preemptions", "migrations", "requirement_met", "restart_due", "spans_servers")
JOB_FLOATS = (
    "progress", "settled_at", "iteration_time", "bytes_per_iteration", "accuracy", "accuracy_by_deadline",
    "first_start", "finish", "waiting_time", "attained_service", "bytes_sent",
)  # fmt: skip
JOB_LOSSES = ("loss", "previous_loss")


class Pair:
    """Both implementations of a simulation.

    Attributes:
        log: events of the compiled simulator, in the twin's form.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: ClusterConfig,
        simulation: SimulationConfig,
        seed: int = 0,
        wake_every: float = math.inf,
    ) -> None:
        self.twin = Twin(workload, cluster, simulation, seed)
        self.cluster = SimulatedCluster(workload, cluster, simulation, seed)
        self.wake_every = wake_every
        self.log: list[Event] = []

    # --- play -----------------------------------------------------------------------------------
    def step(self) -> str:
        """One event on both; its kind, or "done", "limit" or "stuck"."""
        before = self.cluster.jobs["status"].copy()
        expected = self.twin.step(self.wake_every)
        outcome = self.cluster.advance(self.wake_every, one_event=True)
        self._note(outcome, before)
        assert self.log[-1:] == self.twin.log[-1:], (self.log[-3:], self.twin.log[-3:])
        assert len(self.log) == len(self.twin.log)
        assert OUTCOMES.get(outcome, expected) == expected
        self.compare()
        return expected

    def advance(self) -> str:
        """To the next "round", "done", "limit" or "stuck"."""
        outcome = self.step()
        while outcome in ("completion", "redraw", "arrival"):
            outcome = self.step()
        return outcome

    def decide(self, *decisions: Decision) -> list[bool]:
        """Decisions of one round; whether each was possible."""
        made = [decide(self.twin, decision) for decision in decisions]
        self.repeat(made)
        return [possible for _, possible in made]

    def repeat(self, made: Iterable[Made]) -> None:
        """Decisions that the twin has taken in this round; then they take effect on both."""
        for decision, possible in made:
            assert self._decide_on_cluster(decision) == possible, decision
        self.twin.refresh()
        self.cluster.apply()
        self.compare()

    def observe(self) -> None:
        """Bring all that a user sees of active jobs up to now, on both."""
        self.twin.observe()
        self.cluster.observe()
        self.compare()
        for job in self.twin.running_jobs():
            for name in JOB_LOSSES:
                assert_close(self.cluster.jobs[name][job.index], getattr(job, name), (job.index, name))

    def _decide_on_cluster(self, decision: Decision) -> bool:
        match decision:
            case Place(job, gpus, ps_server):
                return self.cluster.place(job, [*gpus] if ps_server is None else [*gpus, ps_server])
            case Evict(job):
                return self.cluster.evict(job)
            case Move(task, server, gpu):
                return self.cluster.move(task, server, NONE if gpu is None else gpu)
            case Stop(job):
                return self.cluster.stop(job)

    def _note(self, outcome: int, before: Any) -> None:
        """What has happened, as the states before and after tell."""
        after = self.cluster.jobs["status"]
        changed = [int(job) for job in np.flatnonzero(before != after)]
        if outcome == ROUND:
            assert not changed
            self.log.append((self.cluster.time, "round", NO_JOB))
        elif outcome == EVENT and changed:
            assert len(changed) == 1, "one event at a time"
            kind = {(PENDING, QUEUED): "arrival", (RUNNING, FINISHED): "completion"}[
                int(before[changed[0]]), int(after[changed[0]])
            ]
            self.log.append((self.cluster.time, kind, changed[0]))
        elif outcome == EVENT:
            self.log.append((self.cluster.time, "redraw", NO_JOB))

    # --- compare --------------------------------------------------------------------------------
    def compare(self) -> None:
        state, twin = self.cluster.state, self.twin
        check_invariants(state)
        for job, row in zip(twin.jobs, state.jobs, strict=True):
            compare_job(job, row)
        for task, row in zip(twin.tasks, state.tasks, strict=True):
            compare_task(task, row)
        for server, row in zip(twin.servers, state.servers, strict=True):
            for name in ("gpu_used", "cpu_used", "memory_used", "nic_used"):
                assert row[name] == getattr(server, name), (server.index, name)
            assert row["num_tasks"] == len(server.tasks)
        for gpu, row in zip(twin.gpus, state.gpus, strict=True):
            assert (row["used"], row["memory_used"], row["num_tasks"]) == (gpu.used, gpu.memory_used, len(gpu.tasks))
        self._compare_totals()

    def _compare_totals(self) -> None:
        clock, twin = self.cluster.state.clock[0], self.twin
        exact = {
            "time": twin.time,
            "rounds": twin.rounds,
            "last_round": twin.last_round,
            "num_active": len(twin.active_jobs()),
            "num_running": len(twin.running_jobs()),
            "num_waiting": len(twin.waiting_jobs()),
            "num_done": sum(job.ended for job in twin.jobs),
            "deadlines_met": twin.deadlines_met,
            "preemptions": sum(job.preemptions for job in twin.jobs),
            "migrations": sum(job.migrations for job in twin.jobs),
            "requirements_met": sum(job.requirement_met for job in twin.jobs),
        }
        assert {name: clock[name] for name in exact} == exact
        assert self.cluster.waiting_jobs() == [job.index for job in twin.waiting_jobs()]
        assert self.cluster.running_jobs() == [job.index for job in twin.running_jobs()]
        assert_close(clock["jct_integral"], twin.jct_integral, "jct_integral")
        assert_close(clock["bytes_sent"], sum(job.bytes_sent for job in twin.jobs), "bytes_sent")
        assert_close(clock["accuracy_sum"], sum(job.accuracy_by_deadline for job in twin.jobs), "accuracy_sum")


def compare_job(job: Job, row: Any) -> None:
    for name in JOB_INTEGERS:
        assert row[name] == int(getattr(job, name)), (job.index, name)
    assert row["running_replicas"] == len(job.running_replicas), job.index
    assert row["finish_at"] == job.finish_at, (job.index, row["finish_at"], job.finish_at)
    for name in JOB_FLOATS:
        assert_close(row[name], getattr(job, name), (job.index, name))
    if job.status == RUNNING:  # else it means nothing
        assert_close(row["stalled_until"], job.stalled_until, (job.index, "stalled_until"))


def compare_task(task: Task, row: Any) -> None:
    server = NONE if task.server is None else task.server.index
    gpu = NONE if task.gpu is None else task.gpu.index
    assert (row["server"], row["gpu"]) == (server, gpu), task.index
    for name in ("gpu_used", "cpu_used", "nic_used", "moved_at"):
        assert row[name] == getattr(task, name), (task.index, name)


def assert_close(found: float, expected: float, what: object) -> None:
    same = math.isnan(found) and math.isnan(expected)
    assert same or math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE), (what, found, expected)
