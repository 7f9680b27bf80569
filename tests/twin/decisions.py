"""Decisions for the twin: at random, to reach every corner, or first come first served, to get work done."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.twin.things import Job, Server, Task
from tests.twin.twin import Twin


@dataclass(frozen=True)
class Place:
    job: int
    gpus: tuple[int, ...]  # of each partition
    ps_server: int | None  # for the first replica of a job with a parameter server


@dataclass(frozen=True)
class Evict:
    job: int


@dataclass(frozen=True)
class Move:
    task: int
    server: int
    gpu: int | None  # None: a parameter server


@dataclass(frozen=True)
class Stop:
    job: int


Decision = Place | Evict | Move | Stop
Made = tuple[Decision, bool]  # and whether it was possible


def decide(twin: Twin, decision: Decision) -> Made:
    match decision:
        case Place(job, gpus, ps_server):
            return decision, twin.place(job, list(gpus), ps_server)
        case Evict(job):
            return decision, twin.evict(job)
        case Move(task, server, gpu):
            return decision, twin.move(task, server, gpu)
        case Stop(job):
            return decision, twin.stop(job)


# --- at random --------------------------------------------------------------------------------------
def decide_at_random(twin: Twin, rng: random.Random) -> list[Made]:
    """A few decisions, many of them impossible."""
    draws: list[tuple[Callable[[Twin, random.Random], Decision], float]] = [
        (_random_place, 10.0),
        (_random_move, 4.0),
        (_random_evict, 1.0),
        (_random_stop, 0.4),
    ]
    functions, weights = zip(*draws, strict=True)
    return [decide(twin, rng.choices(functions, weights)[0](twin, rng)) for _ in range(rng.choice([0, 1, 2, 4, 8]))]


def _random_place(twin: Twin, rng: random.Random) -> Decision:
    waiting = twin.waiting_jobs()
    job = rng.choice(waiting if waiting and rng.random() < 0.95 else twin.jobs)
    partitions = len(job.replicas[0])
    # The emptiest GPUs, or a server's, or any.
    candidates = [gpu.index for gpu in sorted(twin.gpus, key=lambda gpu: (len(gpu.tasks), rng.random()))]
    hosts = candidates[:partitions]
    if len(hosts) < partitions or rng.random() < 0.3:
        hosts = [rng.choice(rng.choice(twin.servers).gpus).index for _ in range(partitions)]
    return Place(job.index, tuple(hosts), _server_for_ps(job, rng.choice(twin.servers)))


def _server_for_ps(job: Job, server: Server) -> int | None:
    brings_it = job.parameter_server is not None and not job.running_replicas
    return server.index if brings_it else None


def _random_move(twin: Twin, rng: random.Random) -> Decision:
    placed = [task for task in twin.tasks if task.server is not None]
    task = rng.choice(placed if placed and rng.random() < 0.95 else twin.tasks)
    server = rng.choice(twin.servers)
    is_parameter_server = task is twin.jobs[task.job].parameter_server
    return Move(task.index, server.index, None if is_parameter_server else rng.choice(server.gpus).index)


def _random_evict(twin: Twin, rng: random.Random) -> Decision:
    running = twin.running_jobs()
    return Evict(rng.choice(running if running and rng.random() < 0.9 else twin.jobs).index)


def _random_stop(twin: Twin, rng: random.Random) -> Decision:
    active = twin.active_jobs()
    return Stop(rng.choice(active if active and rng.random() < 0.7 else twin.jobs).index)


# --- first come, first served -------------------------------------------------------------------------
def decide_first_come(twin: Twin) -> list[Made]:
    """All replicas of each waiting job in order of arrival, each on as few servers as possible."""
    made = []
    for job in twin.waiting_jobs():
        while job.next_replica is not None:
            place = _consolidated(twin, job, job.next_replica)
            if place is None:
                break
            made.append(decide(twin, place))
            assert made[-1][1], "it looked for room first"
    return made


def _consolidated(twin: Twin, job: Job, replica: list[Task]) -> Place | None:
    """Fill the server with the most room, then the next; the parameter server goes where there is room first."""
    servers = sorted(twin.servers, key=lambda server: -_free_gpus(twin, server))
    free_memory = {server.index: server.memory - server.memory_used for server in servers}
    free_gpu_memory = {gpu.index: gpu.memory - gpu.memory_used for gpu in twin.gpus}
    tasks_on = {gpu.index: len(gpu.tasks) for gpu in twin.gpus}
    hosts: list[int] = []
    for task in replica:
        for server in servers:
            rooms = [
                gpu.index
                for gpu in server.gpus
                if free_gpu_memory[gpu.index] >= task.gpu_memory and (twin.config.sharing or tasks_on[gpu.index] == 0)
            ]
            if rooms and free_memory[server.index] >= task.memory:
                best = min(rooms, key=lambda gpu: (tasks_on[gpu], gpu))
                hosts.append(best)
                free_memory[server.index] -= task.memory
                free_gpu_memory[best] -= task.gpu_memory
                tasks_on[best] += 1
                break
        else:
            return None
    if job.parameter_server is None or job.running_replicas:
        return Place(job.index, tuple(hosts), None)
    memory = job.parameter_server.memory
    rooms = [server.index for server in servers if free_memory[server.index] >= memory]
    return Place(job.index, tuple(hosts), rooms[0]) if rooms else None


def _free_gpus(twin: Twin, server: Server) -> int:
    return sum(not gpu.tasks for gpu in server.gpus)
