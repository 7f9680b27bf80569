"""What must always hold. Used by tests and for debugging; far too slow for every step."""

from __future__ import annotations

import numpy as np

from mlfs_gym.cluster.arrays import FINISHED, NONE, PENDING, QUEUED, RUNNING, STOPPED, State


def check_invariants(state: State) -> None:
    """Compare every sum and list of the state with what the tasks say.

    Raises:
        AssertionError: naming the first thing that does not hold.
    """
    _check_sums(state)
    _check_lists(state)
    _check_capacity(state)
    _check_gangs(state)
    _check_counts(state)
    _check_marks(state)
    _check_finishing(state)


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def _check_sums(state: State) -> None:
    placed = state.tasks[state.tasks["server"] != NONE]
    on_gpu = placed[placed["gpu"] != NONE]
    for name, column, rows, key, table in (
        ("servers.gpu_used", "gpu_used", placed, "server", state.servers["gpu_used"]),
        ("servers.cpu_used", "cpu_used", placed, "server", state.servers["cpu_used"]),
        ("servers.nic_used", "nic_used", placed, "server", state.servers["nic_used"]),
        ("servers.memory_used", "memory", placed, "server", state.servers["memory_used"]),
        ("gpus.used", "gpu_used", on_gpu, "gpu", state.gpus["used"]),
        ("gpus.memory_used", "gpu_memory", on_gpu, "gpu", state.gpus["memory_used"]),
    ):
        sums = np.zeros(len(table), np.int64)
        np.add.at(sums, rows[key], rows[column])
        _require(bool((sums == table).all()), f"{name} is not the sum over its tasks")
    for name, key, rows, table in (
        ("servers.num_tasks", "server", placed, state.servers["num_tasks"]),
        ("gpus.num_tasks", "gpu", on_gpu, state.gpus["num_tasks"]),
    ):
        counts = np.bincount(rows[key], minlength=len(table))
        _require(bool((counts == table).all()), f"{name} is not the count of its tasks")
    _require(bool((state.gpus["server"][on_gpu["gpu"]] == on_gpu["server"]).all()), "a task's GPU is on another server")
    free = np.bincount(state.gpus["server"][state.gpus["num_tasks"] == 0], minlength=len(state.servers))
    _require(bool((free == state.servers["free_gpus"]).all()), "servers.free_gpus is not the count of its free GPUs")
    _require(state.clock["free_gpus"][0] == free.sum(), "clock.free_gpus is not the count of all free GPUs")


def _check_lists(state: State) -> None:
    for server in range(len(state.servers)):
        listed, task, before = 0, int(state.servers["first_task"][server]), NONE
        while task != NONE:
            row = state.tasks[task]
            _require(row["server"] == server, f"task {task} is in the list of server {server}, not on it")
            _require(row["previous_on_server"] == before, f"task {task}: broken list")
            listed, before, task = listed + 1, task, int(row["next_on_server"])
            _require(listed <= len(state.tasks), f"server {server}: the list has a cycle")
        _require(listed == state.servers["num_tasks"][server], f"server {server}: the list misses tasks")


def _check_capacity(state: State) -> None:
    _require(bool((state.gpus["memory_used"] <= state.gpus["memory"]).all()), "a GPU's memory is exceeded")
    _require(bool((state.servers["memory_used"] <= state.servers["memory"]).all()), "a server's memory is exceeded")
    if state.clock["sharing"][0] == 0:
        _require(bool((state.gpus["num_tasks"] <= 1).all()), "an exclusive GPU has two tasks")


def _check_gangs(state: State) -> None:
    for job, row in enumerate(state.jobs):
        first, partitions = row["first_task"], row["partitions"]
        placed = state.tasks["server"][first : first + row["num_tasks"]] != NONE
        grid = placed[: row["replicas"] * partitions].reshape(row["replicas"], partitions)
        _require(bool((grid.all(axis=1) == grid.any(axis=1)).all()), f"job {job}: a replica is placed in part")
        running = int(grid.all(axis=1).sum())
        _require(running == row["running_replicas"], f"job {job}: running_replicas is wrong")
        if row["parameter_server"]:
            _require(bool(placed[-1]) == (running > 0), f"job {job}: parameter server without replica or the reverse")
        _require((row["status"] == RUNNING) == (running > 0), f"job {job}: status {row['status']}, {running} replicas")
        hosts = state.tasks["server"][first : first + row["num_tasks"]][placed]
        _require(bool(row["spans_servers"]) == (len(set(hosts.tolist())) > 1), f"job {job}: spans_servers is wrong")


def _check_counts(state: State) -> None:
    clock, jobs = state.clock[0], state.jobs
    active = state.active[: clock["num_active"]]
    _require(bool((np.diff(active) > 0).all()), "active jobs are not in order")
    status = jobs["status"]
    expected = np.flatnonzero((status == QUEUED) | (status == RUNNING))
    _require(bool(np.array_equal(active, expected)), "the active list is not the set of active jobs")
    _require(clock["num_done"] == ((status == FINISHED) | (status == STOPPED)).sum(), "num_done is wrong")
    _require(clock["next_arrival"] == (status != PENDING).sum(), "next_arrival is wrong")
    _require(clock["num_running"] == (status == RUNNING).sum(), "num_running is wrong")
    waiting = active[(jobs["running_replicas"] < jobs["replicas"])[active]]
    listed = state.waiting[: clock["num_waiting"]]
    _require(bool(np.array_equal(listed, waiting)), "the waiting list is not the list of jobs that wait")


def _check_marks(state: State) -> None:
    marked = state.marked[: state.clock["num_marked"][0]]
    _require(len(np.unique(marked)) == len(marked), "a job is marked twice")
    dirty = np.flatnonzero(state.jobs["dirty"])
    _require(bool(np.isin(dirty, marked).all()), "a dirty job is not in the list of marked ones")


def _check_finishing(state: State) -> None:
    finish_at = state.jobs["finish_at"]
    heap = state.finishing[: state.clock["num_finishing"][0]]
    expected = np.flatnonzero(np.isfinite(finish_at))
    _require(bool(np.array_equal(np.sort(heap), expected)), "the heap is not the set of jobs with a finish time")
    positions = state.jobs["heap_position"][heap]
    _require(bool(np.array_equal(positions, np.arange(len(heap)))), "a job does not know its position in the heap")
    for position in range(1, len(heap)):
        above, here = heap[(position - 1) // 2], heap[position]
        ordered = (finish_at[above], above) < (finish_at[here], here)
        _require(bool(ordered), f"job {here} finishes before the one above it in the heap")
