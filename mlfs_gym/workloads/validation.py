"""What a workload must fulfil to be simulated on a cluster. Every complaint names the job and the field."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mlfs_gym.cluster.arrays import EDGE, JOB, STOP_REQUIRED_ACCURACY, TASK, Array
from mlfs_gym.config import ClusterConfig
from mlfs_gym.errors import WorkloadError
from mlfs_gym.workloads.profiles import FAMILIES
from mlfs_gym.workloads.workload import Workload

_LARGEST_TIME = 1e9  # s, 31 years: above it, the microsecond grid of the clock gets lost in rounding


def validate(workload: Workload, cluster: ClusterConfig | None = None) -> None:
    """Check a workload by itself and, if given, against a cluster.

    Raises:
        WorkloadError: one line that names job, field, what was found and what is expected.
    """
    if not workload.sound:
        _check_shapes(workload)
    if len(workload.jobs) == 0:
        return
    if not workload.sound:
        _check_jobs(workload)
        _check_layout(workload)
        _check_edges(workload)
        _check_tasks(workload)
    if cluster is not None and not _surely_fits(workload, cluster):
        _check_fit(workload, cluster)


def check_times(workload: Workload) -> None:
    """Check that the clock can tell the times of a workload apart.

    Raises:
        WorkloadError: a job comes too late, or runs too long.
    """
    jobs = workload.jobs
    arrival, run_time = jobs["arrival"], jobs["ideal_iteration_time"] * jobs["max_iterations"]
    _require(arrival <= _LARGEST_TIME, workload, None, "arrival", arrival, f"at most {_LARGEST_TIME:g} s")
    expected = f"a run time above 0, at most {_LARGEST_TIME:g} s"
    _require((run_time > 0) & (run_time <= _LARGEST_TIME), workload, None, "ideal_iteration_time", run_time, expected)


def _require(good: Array, workload: Workload, owner: Array | None, field: str, found: Array, expected: str) -> None:
    """Raise for the first row that is not good; nan counts as not good."""
    if bool(good.all()):
        return
    row = int(np.argmin(good))
    job = row if owner is None else int(owner[row])
    raise WorkloadError(
        f"workload {workload.name}: job '{workload.job_ids[job]}', field '{field}': "
        f"found {found[row]}, expected {expected}"
    )


def _check_shapes(workload: Workload) -> None:
    for name, array, dtype in (("jobs", workload.jobs, JOB), ("tasks", workload.tasks, TASK)):
        if array.dtype != dtype or array.ndim != 1:
            raise WorkloadError(f"workload {workload.name}: {name}: expected a vector of the documented dtype")
    if workload.edges.dtype != EDGE or workload.edges.ndim != 1:
        raise WorkloadError(f"workload {workload.name}: edges: expected a vector of the documented dtype")
    if len(workload.job_ids) != len(workload.jobs):
        raise WorkloadError(
            f"workload {workload.name}: job_ids: found {len(workload.job_ids)}, expected {len(workload.jobs)}"
        )
    if len(set(workload.job_ids)) != len(workload.job_ids):
        twice = Counter(workload.job_ids).most_common(1)[0][0]
        raise WorkloadError(f"workload {workload.name}: job '{twice}', field 'id': found twice, expected unique ids")


def _check_jobs(workload: Workload) -> None:
    jobs = workload.jobs
    before = np.concatenate([[0.0], jobs["arrival"][:-1]])
    _require(jobs["arrival"] >= before, workload, None, "arrival", jobs["arrival"], "0 or more, in order of arrival")
    iterations = jobs["max_iterations"]
    for field, good, expected in (
        ("arrival", jobs["arrival"] <= _LARGEST_TIME, f"at most {_LARGEST_TIME:g} s"),
        ("deadline", (jobs["deadline"] >= jobs["arrival"]) & np.isfinite(jobs["deadline"]), "a time from arrival on"),
        ("urgency", _within(jobs["urgency"], 0.0, 10.0), "0 to 10"),
        ("required_accuracy", _within(jobs["required_accuracy"], 0.0, 1.0), "0 to 1"),
        ("model", _within(jobs["model"], 0, len(FAMILIES) - 1), f"0 to {len(FAMILIES) - 1}"),
        ("replicas", jobs["replicas"] >= 1, "1 or more"),
        ("partitions", jobs["partitions"] >= 1, "1 or more"),
        ("parameter_server", _within(jobs["parameter_server"], 0, 1), "0 or 1"),
        ("max_iterations", iterations >= 1, "1 or more"),
        ("stop_option", _within(jobs["stop_option"], 0, STOP_REQUIRED_ACCURACY), "0, 1 or 2"),
        (
            "stop_option_limit",
            _within(jobs["stop_option_limit"], jobs["stop_option"], STOP_REQUIRED_ACCURACY),
            "stop_option to 2",
        ),
        ("gradient_bytes", _within(jobs["gradient_bytes"], 0.0, 1e15), "0 to 1e15"),
        ("checkpoint_bytes", _within(jobs["checkpoint_bytes"], 0.0, 1e15), "0 to 1e15"),
        ("ideal_iteration_time", jobs["ideal_iteration_time"] > 0, "above 0 s"),
        (
            "ideal_iteration_time",
            jobs["ideal_iteration_time"] * iterations <= _LARGEST_TIME,
            f"a run time of at most {_LARGEST_TIME:g} s",
        ),
        ("loss_floor", jobs["loss_floor"] >= 0, "0 or more"),
        ("loss_start", (jobs["loss_start"] > jobs["loss_floor"]) & np.isfinite(jobs["loss_start"]), "above loss_floor"),
        ("curve_scale", (jobs["curve_scale"] > 0) & np.isfinite(jobs["curve_scale"]), "above 0"),
        ("curve_power", (jobs["curve_power"] > 0) & np.isfinite(jobs["curve_power"]), "above 0"),
        ("overfit_start", jobs["overfit_start"] >= 0, "0 or more"),
        ("overfit_slope", _within(jobs["overfit_slope"], 0.0, 1e9), "0 or more"),
        ("loss_noise", _within(jobs["loss_noise"], 0.0, 0.99), "0 to 0.99"),
        ("accuracy_ceiling", _within(jobs["accuracy_ceiling"], 0.0, 1.0), "0 to 1"),
    ):
        _require(good, workload, None, field, jobs[field], expected)


def _within(values: Array, low: object, high: object) -> Array:
    inside: Array = (values >= low) & (values <= high)
    return inside


def _check_layout(workload: Workload) -> None:
    jobs, tasks = workload.jobs, workload.tasks
    gpus = jobs["replicas"].astype(np.int64) * jobs["partitions"]
    _require(jobs["num_gpus"] == gpus, workload, None, "num_gpus", jobs["num_gpus"], "replicas * partitions")
    count = gpus + jobs["parameter_server"]
    _require(jobs["num_tasks"] == count, workload, None, "num_tasks", jobs["num_tasks"], "one per GPU and server")
    for kind, total in (("task", len(tasks)), ("edge", len(workload.edges))):
        length = jobs[f"num_{kind}s"].astype(np.int64)
        first = np.cumsum(length) - length
        _require(jobs[f"first_{kind}"] == first, workload, None, f"first_{kind}", jobs[f"first_{kind}"], "no gaps")
        if length.sum() != total:
            raise WorkloadError(f"workload {workload.name}: found {total} {kind}s, expected {length.sum()}")
    owner = np.repeat(np.arange(len(jobs)), jobs["num_tasks"])
    local = np.arange(len(tasks)) - jobs["first_task"][owner]
    server = local == gpus[owner]
    _require(tasks["job"] == owner, workload, owner, "task.job", tasks["job"], "tasks grouped by job")
    replica = np.where(server, -1, local // jobs["partitions"][owner])
    partition = np.where(server, -1, local % jobs["partitions"][owner])
    _require(tasks["replica"] == replica, workload, owner, "task.replica", tasks["replica"], "replicas in order")
    _require(tasks["partition"] == partition, workload, owner, "task.partition", tasks["partition"], "in order")


def _check_edges(workload: Workload) -> None:
    jobs, edges = workload.jobs, workload.edges
    owner = np.repeat(np.arange(len(jobs)), jobs["num_edges"])
    source, target = edges["source"], edges["target"]
    forward = (source >= 0) & (source < target)
    _require(forward, workload, owner, "edge.source", source, "0 or more and below the target: no cycles")
    _require(target < jobs["partitions"][owner], workload, owner, "edge.target", target, "a partition of the job")
    place = (owner.astype(np.int64) << 32) + target
    sorted_ = np.concatenate([[True], np.diff(place) >= 0])[: len(edges)]
    _require(sorted_, workload, owner, "edge.target", target, "edges sorted by target")
    _require(_within(edges["bytes"], 0.0, 1e15), workload, owner, "edge.bytes", edges["bytes"], "0 to 1e15")


def _check_tasks(workload: Workload) -> None:
    jobs, tasks = workload.jobs, workload.tasks
    owner = tasks["job"]
    worker = tasks["partition"] >= 0
    for field, good, expected in (
        ("gpu_demand", np.where(worker, _within(tasks["gpu_demand"], 1, 1000), tasks["gpu_demand"] == 0), "1 to 1000"),
        ("compute_time", np.where(worker, tasks["compute_time"] >= 0, tasks["compute_time"] == 0), "0 s or more"),
        ("parameter_share", _within(tasks["parameter_share"], 0.0, 1.0), "0 to 1"),
        ("gpu_memory", tasks["gpu_memory"] >= 0, "0 or more"),
        ("memory", tasks["memory"] >= 0, "0 or more"),
        ("cpu_demand", tasks["cpu_demand"] >= 0, "0 or more"),
        ("nic_demand", tasks["nic_demand"] >= 0, "0 or more"),
    ):
        _require(good, workload, owner, f"task.{field}", tasks[field], expected)
    shares = np.bincount(owner, tasks["parameter_share"], len(jobs)) / jobs["replicas"]
    _require(np.abs(shares - 1.0) < 1e-6, workload, None, "task.parameter_share", shares, "a sum of 1 in each replica")


def _surely_fits(workload: Workload, cluster: ClusterConfig) -> bool:
    """A quick look: would all jobs fit if each were as large in everything as the largest of them?"""
    jobs, tasks = workload.jobs, workload.tasks
    memory = int(tasks["memory"].max())
    room = sum(min(gpus, int(cluster.memory_gib * 1024) // max(1, memory)) for gpus in cluster.server_sizes)
    return bool(
        jobs["num_gpus"].max() <= cluster.total_gpus
        and jobs["partitions"].max() + 1 <= room
        and memory <= cluster.memory_gib * 1024
        and tasks["gpu_memory"].max() <= cluster.gpu_memory_gib * 1024
        and tasks["cpu_demand"].max() <= cluster.cpu_cores * 1000
    )


def _check_fit(workload: Workload, cluster: ClusterConfig) -> None:
    jobs, tasks = workload.jobs, workload.tasks
    total = cluster.total_gpus
    _require(jobs["num_gpus"] <= total, workload, None, "num_gpus", jobs["num_gpus"], f"at most the cluster's {total}")
    memory, gpu_memory = round(cluster.memory_gib * 1024), round(cluster.gpu_memory_gib * 1024)
    cpu = round(cluster.cpu_cores * 1000)
    for field, most, unit in (
        ("gpu_memory", gpu_memory, "MiB of one GPU"),
        ("memory", memory, "MiB of one server"),
        ("cpu_demand", cpu, "milli-cores of one server"),
    ):
        _require(
            tasks[field] <= most, workload, tasks["job"], f"task.{field}", tasks[field], f"at most the {most} {unit}"
        )
    # One replica with its parameter server must fit on the empty cluster, its largest task taken for all.
    largest = np.zeros(len(jobs), np.int64)
    np.maximum.at(largest, tasks["job"], tasks["memory"])
    sizes, servers = np.unique(cluster.server_sizes, return_counts=True)
    tasks_by_memory = memory // np.maximum(1, largest)
    room = sum(np.minimum(size, tasks_by_memory) * count for size, count in zip(sizes, servers, strict=True))
    _require(
        jobs["partitions"] + np.where(room < total, jobs["parameter_server"], 0) <= room,
        workload,
        None,
        "task.memory",
        largest,
        f"a replica that fits {cluster.total_servers} servers of {memory} MiB",
    )
