"""The cluster as plain text."""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.envs.rendering.occupancy import running_tasks
from mlfs_gym.envs.rendering.summary import Summary, clock_time, duration, percent, progress, traffic
from mlfs_gym.workloads.profiles import FAMILY_NAMES

MOST_SERVERS: Final = 40
MOST_GPUS: Final = 16  # of one server
MOST_JOBS: Final = 12


def render_ansi(state: State) -> str:
    """Time, jobs on every GPU, queue, running jobs and metrics as lines of text, without escape codes."""
    summary = Summary.of(state)
    lines = [*_head(state, summary), "", *_servers(state), "", *_queue(state, summary), "", *_running(state, summary)]
    return "\n".join(lines) + "\n"


def _head(state: State, summary: Summary) -> list[str]:
    clock = state.clock[0]
    accuracy = "-" if np.isnan(summary.average_accuracy) else f"{summary.average_accuracy:.2f}"
    return [
        f"{clock_time(summary.time)}  round {int(clock['rounds'])}  GPU use {percent(summary.used)}",
        f"jobs: {summary.ended} of {summary.jobs} ended, {len(summary.running)} running, "
        f"{len(summary.waiting)} waiting, {summary.jobs - summary.arrived} to come",
        f"average JCT {duration(summary.average_jct)}  in time {percent(summary.deadline_ratio)}  "
        f"accuracy {accuracy}  accurate {percent(summary.guarantee_ratio)}  "
        f"traffic {traffic(float(clock['bytes_sent']))}",
        f"overloads {int(clock['overloads'])}  moves {int(clock['migrations'])}  "
        f"preemptions {int(clock['preemptions'])}",
    ]


def _servers(state: State) -> list[str]:
    """One line a server: the jobs on each of its GPUs, and how much of each resource is used. "!": overloaded."""
    shown = state.servers[:MOST_SERVERS]
    jobs_on = _jobs_on_gpus(state)
    cells = [
        [jobs_on.get(gpu, ".") for gpu in range(row["first_gpu"], row["first_gpu"] + min(row["num_gpus"], MOST_GPUS))]
        for row in shown
    ]
    width = max(6, max((len(cell) for row in cells for cell in row), default=0) + 1)
    most = max((len(row) for row in cells), default=0)
    name = len(f"server {len(shown) - 1}")
    lines = [" " * (name + 3) + "".join(f"{f'GPU {gpu}':<{width}}" for gpu in range(most)) + "  GPU   CPU   RAM   NIC"]
    for number, (row, cell) in enumerate(zip(shown, cells, strict=True)):
        use = [row["gpu_used"] / max(1, 1000 * row["num_gpus"])]
        use += [row[f"{what}_used"] / max(1, row[what]) for what in ("cpu", "memory", "nic")]
        lines.append(
            f"{f'server {number}':<{name}} {'!' if row['overloaded'] else ' '} "
            + "".join(f"{text:<{width}}" for text in cell).ljust(width * most)
            + "".join(f"{percent(float(share)):>5} " for share in use).rstrip()
        )
    hidden = state.servers[MOST_SERVERS:]
    if len(hidden):
        used = hidden["gpu_used"].sum() / (1000 * hidden["num_gpus"].sum())
        lines.append(
            f"and {len(hidden)} more servers: GPU {percent(float(used))}, {int(hidden['overloaded'].sum())} overloaded"
        )
    return lines


def _jobs_on_gpus(state: State) -> dict[int, str]:
    tasks = running_tasks(state)
    gpus, jobs = state.tasks["gpu"][tasks], state.tasks["job"][tasks]
    names: dict[int, str] = {}
    for index in np.lexsort((jobs, gpus)):
        gpu, job = int(gpus[index]), str(jobs[index])
        names[gpu] = f"{names[gpu]},{job}" if gpu in names else job
    return names


def _queue(state: State, summary: Summary) -> list[str]:
    lines = [f"queue ({len(summary.waiting)})"]
    for job in summary.waiting[:MOST_JOBS]:
        row = state.jobs[job]
        gpus = (row["replicas"] - row["running_replicas"]) * row["partitions"]
        lines.append(
            f"  job {job:<5} {FAMILY_NAMES[row['model']]:<8} waits for {gpus} GPU{'s' if gpus != 1 else ''}, "
            f"urgency {row['urgency']:.1f}, deadline {_until(row['deadline'] - summary.time)}"
        )
    return lines + _rest(summary.waiting)


def _running(state: State, summary: Summary) -> list[str]:
    lines = [f"running ({len(summary.running)})"]
    shown = summary.running[:MOST_JOBS]
    for job, share in zip(shown, progress(state, shown, summary.time), strict=True):
        row = state.jobs[job]
        lines.append(
            f"  job {job:<5} {FAMILY_NAMES[row['model']]:<8} {row['running_replicas']}/{row['replicas']} replicas, "
            f"{percent(float(share))} of iterations, accuracy {row['accuracy']:.2f} of {row['required_accuracy']:.2f}, "
            f"deadline {_until(row['deadline'] - summary.time)}"
        )
    return lines + _rest(summary.running)


def _rest(jobs: Array) -> list[str]:
    return [f"  and {len(jobs) - MOST_JOBS} more"] if len(jobs) > MOST_JOBS else []


def _until(seconds: float) -> str:
    return f"in {duration(seconds)}" if seconds >= 0 else f"{duration(-seconds)} ago"
