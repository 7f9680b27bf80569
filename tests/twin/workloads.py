"""Small workloads for the twin: built field by field, or drawn at random to hit every rule of the simulator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlfs_gym.cluster.arrays import EDGE, JOB, NONE, STOP_FIXED, STOP_REQUIRED_ACCURACY, TASK
from mlfs_gym.workloads.workload import Workload

JOB_DEFAULTS: Mapping[str, Any] = {
    "arrival": 0.0,
    "deadline": 1e6,
    "urgency": 5.0,
    "required_accuracy": 0.5,
    "parameter_server": 0,
    "max_iterations": 100,
    "stop_option": STOP_FIXED,
    "stop_option_limit": STOP_FIXED,
    "gradient_bytes": 0.0,
    "checkpoint_bytes": 0.0,
    "loss_start": 5.0,
    "loss_floor": 1.0,
    "curve_scale": 10.0,
    "curve_power": 2.0,
    "overfit_start": np.inf,
    "accuracy_ceiling": 0.8,
}
TASK_DEFAULTS: Mapping[str, Any] = {
    "memory": 1024,
    "gpu_memory": 1024,
    "gpu_demand": 500,
    "cpu_demand": 1000,
    "nic_demand": 0,
    "compute_time": 1.0,
}
SERVER_TASK_DEFAULTS: Mapping[str, Any] = {"memory": 1024, "cpu_demand": 1000, "nic_demand": 0}


def a_job(
    replicas: int = 1,
    partitions: int = 1,
    edges: Sequence[tuple[int, int, float]] = (),
    tasks: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    server_task: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A job for `workload_of`: changes to the defaults.

    Args:
        replicas: R.
        partitions: P.
        edges: (source, target, bytes) over the partitions.
        tasks: fields of the tasks of every replica: one mapping for all partitions, or one for each.
        server_task: fields of the parameter server, if it has one.
        fields: of the job.
    """
    each = [tasks] * partitions if isinstance(tasks, Mapping) else list(tasks) or [{}] * partitions
    assert len(each) == partitions
    return {
        "replicas": replicas,
        "partitions": partitions,
        "edges": list(edges),
        "tasks": each,
        "server_task": server_task,
        "fields": {"parameter_server": int(server_task is not None), **fields},
    }


def workload_of(*jobs: Mapping[str, Any]) -> Workload:
    """A workload of jobs made by `a_job`, in order of arrival."""
    job_rows = np.zeros(len(jobs), JOB)
    task_rows: list[dict[str, Any]] = []
    edge_rows: list[tuple[int, int, float]] = []
    for index, (row, job) in enumerate(zip(job_rows, jobs, strict=True)):
        replicas, partitions, tasks = job["replicas"], job["partitions"], job["tasks"]
        first_task = len(task_rows)
        for replica in range(replicas):
            for partition, fields in enumerate(tasks):
                place = {"job": index, "replica": replica, "partition": partition, "parameter_share": 1 / partitions}
                task_rows.append({**TASK_DEFAULTS, **place, **fields})
        if job["server_task"] is not None:
            place = {"job": index, "replica": NONE, "partition": NONE}
            task_rows.append({**SERVER_TASK_DEFAULTS, **place, **job["server_task"]})
        _fill(
            row,
            {
                **JOB_DEFAULTS,
                "replicas": replicas,
                "partitions": partitions,
                "num_gpus": replicas * partitions,
                "first_task": first_task,
                "num_tasks": len(task_rows) - first_task,
                "first_edge": len(edge_rows),
                "num_edges": len(job["edges"]),
                "ideal_iteration_time": _longest_path(job),
                **job["fields"],
            },
        )
        edge_rows += job["edges"]
    tasks = np.zeros(len(task_rows), TASK)
    for row, fields in zip(tasks, task_rows, strict=True):
        _fill(row, fields)
    names = tuple(f"job-{index}" for index in range(len(jobs)))
    return Workload(jobs=job_rows, tasks=tasks, edges=np.array(edge_rows, EDGE), job_ids=names, name="twin")


def _fill(row: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        row[name] = value


def _longest_path(job: Mapping[str, Any]) -> float:
    done: list[float] = []
    for partition, fields in enumerate(job["tasks"]):
        ready = max((done[source] for source, target, _ in job["edges"] if target == partition), default=0.0)
        done.append(ready + {**TASK_DEFAULTS, **fields}["compute_time"])
    return max(done)


def random_workload(rng: random.Random, num_jobs: int, gpus: int, sharing: bool) -> Workload:
    """Jobs of all shapes that load a cluster of `gpus` GPUs (of 16 GiB) well above what it can take."""
    arrival = 0.0
    jobs = []
    for _ in range(num_jobs):
        jobs.append(_random_job(rng, arrival, gpus, sharing))
        # Several at once, on a round boundary, anywhere on the grid of microseconds.
        arrival = round(arrival + rng.choice([0.0, 0.0, 60.0, rng.randrange(90), rng.uniform(0, 90)]), 6)
    return workload_of(*jobs)


def _random_job(rng: random.Random, arrival: float, gpus: int, sharing: bool) -> dict[str, Any]:
    sizes = [(r, p) for r in (1, 2, 3) for p in (1, 2, 3) if r * p <= gpus]
    replicas, partitions = rng.choice(sizes)
    has_server = rng.random() < 0.5
    edges = [
        (source, target, rng.choice([0.0, rng.uniform(1e6, 5e8)]))
        for target in range(partitions)
        for source in range(target)
        if rng.random() < 0.7
    ]
    cuts = sorted(rng.random() for _ in range(partitions - 1))
    shares = [high - low for low, high in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    tasks = [
        {
            "parameter_share": share,
            "memory": rng.randrange(1, 6000),
            "gpu_memory": rng.randrange(1, 9_000 if sharing else 16_000),
            "gpu_demand": rng.randrange(1, 1001),
            "cpu_demand": rng.randrange(0, 4000),
            "nic_demand": rng.randrange(0, 200_000_000),
            "compute_time": rng.choice([1.0, rng.uniform(0.01, 3.0)]),
        }
        for share in shares
    ]
    server_task = {
        "memory": rng.randrange(1, 6000),
        "cpu_demand": rng.randrange(0, 4000),
        "nic_demand": rng.randrange(0, 200_000_000),
    }
    return a_job(
        replicas,
        partitions,
        edges,
        tasks,
        server_task if has_server else None,
        arrival=arrival,
        deadline=arrival + rng.choice([60.0, rng.uniform(1.0, 1000.0)]),
        urgency=rng.uniform(0, 10),
        required_accuracy=rng.uniform(0.0, 0.9),
        max_iterations=rng.choice([1, rng.randrange(1, 20), rng.randrange(1, 200)]),
        stop_option_limit=rng.choice([STOP_FIXED, STOP_REQUIRED_ACCURACY]),
        gradient_bytes=rng.uniform(1e6, 5e8),
        checkpoint_bytes=rng.uniform(0, 5e9),
        loss_start=rng.uniform(2.0, 8.0),
        loss_floor=rng.uniform(0.01, 1.5),
        curve_scale=rng.uniform(1.0, 60.0),
        curve_power=rng.uniform(0.3, 3.0),
        overfit_start=rng.choice([np.inf, rng.uniform(0, 100)]),
        overfit_slope=rng.uniform(0, 0.02),
        loss_noise=rng.choice([0.0, rng.uniform(0, 0.1)]),
        accuracy_ceiling=rng.uniform(0.5, 1.0),
    )
