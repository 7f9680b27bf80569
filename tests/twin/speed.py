"""How long an iteration takes as a job is placed now, and what it sends between servers."""

from __future__ import annotations

import math

from tests.twin.things import Job, Server, Task


def slowdown(task: Task, contention: bool) -> float:
    """Of a task on a GPU. An oversubscribed GPU or CPU slows all that is on it in proportion."""
    assert task.gpu is not None
    server = task.gpu.server
    crowding = max(1.0, task.gpu.used / 1000, server.cpu_used / server.cpu) if contention else 1.0
    return crowding / task.gpu.speed


def bandwidth(server: Server, contention: bool) -> float:
    """Bytes per second that a transfer of this server gets."""
    crowding = max(1.0, server.nic_used / server.nic) if contention else 1.0
    return server.nic / crowding


def server_of(task: Task) -> Server:
    assert task.server is not None
    return task.server


def critical_path(job: Job, replica: list[Task], contention: bool) -> float:
    done: list[float] = []
    for task in replica:  # partitions are in topological order
        ready = 0.0
        for edge in job.edges:
            if edge.target == task.partition:
                source, target = server_of(replica[edge.source]), server_of(task)
                transfer = 0.0
                if source is not target:
                    transfer = edge.bytes / min(bandwidth(source, contention), bandwidth(target, contention))
                ready = max(ready, done[edge.source] + transfer)
        done.append(ready + task.compute_time * slowdown(task, contention))
    return max(done)


def gradient_bytes(job: Job, task: Task) -> float:
    return float(job.request["gradient_bytes"]) * task.share


def remote_tasks(job: Job) -> list[Task]:
    """Tasks of running replicas on other servers than the parameter server's."""
    assert job.parameter_server is not None
    home = job.parameter_server.server
    return [task for replica in job.running_replicas for task in replica if task.server is not home]


def parameter_server_seconds(job: Job, contention: bool) -> float:
    """Push and pull; either the parameter server's link is the bottleneck or that of one task."""
    assert job.parameter_server is not None
    remote = remote_tasks(job)
    if not remote:
        return 0.0
    incast = 2 * sum(gradient_bytes(job, task) for task in remote)
    at_home = incast / bandwidth(server_of(job.parameter_server), contention)
    return max(at_home, *(2 * gradient_bytes(job, task) / bandwidth(server_of(task), contention) for task in remote))


def rings(job: Job) -> list[list[Task]]:
    """The tasks of each partition over the running replicas: the members of its all-reduce."""
    return [list(members) for members in zip(*job.running_replicas, strict=True)]


def ring_bytes(job: Job, members: list[Task]) -> float:
    """What each link of a ring carries per iteration."""
    r = len(members)
    return 2 * (r - 1) / r * gradient_bytes(job, members[0])


def ring_seconds(job: Job, contention: bool) -> float:
    total = 0.0
    for members in rings(job):
        if len({server_of(task).index for task in members}) > 1:
            total += ring_bytes(job, members) / min(bandwidth(server_of(task), contention) for task in members)
    return total


def iteration_time(job: Job, contention: bool) -> float:
    running = job.running_replicas
    if not running:
        return math.inf
    path = max(critical_path(job, replica, contention) for replica in running)
    exchange = parameter_server_seconds if job.parameter_server is not None else ring_seconds
    # Elastic: r of R replicas share the work of an iteration.
    return len(job.replicas) / len(running) * path + exchange(job, contention)


def bytes_per_iteration(job: Job) -> float:
    """Between servers."""
    total = 0.0
    for replica in job.running_replicas:
        for edge in job.edges:
            if replica[edge.source].server is not replica[edge.target].server:
                total += edge.bytes
    if not job.running_replicas:
        return total
    if job.parameter_server is not None:
        return total + 2 * sum(gradient_bytes(job, task) for task in remote_tasks(job))
    for members in rings(job):
        links = zip(members, members[1:] + members[:1], strict=True)
        total += sum(a.server is not b.server for a, b in links) * ring_bytes(job, members)
    return total
