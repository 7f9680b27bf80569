"""From one row per job to a workload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlfs_gym.cluster.arrays import EDGE, JOB, TASK, Array
from mlfs_gym.workloads.job_columns import JobColumns
from mlfs_gym.workloads.job_graphs import graphs_of
from mlfs_gym.workloads.rows import set_ideal_iteration_times, write_rows
from mlfs_gym.workloads.skips import SkipReport
from mlfs_gym.workloads.validation import check_times
from mlfs_gym.workloads.workload import Workload


def assemble(
    columns: JobColumns,
    *,
    name: str,
    job_ids: Sequence[str] | None = None,
    connected: bool = True,
    skipped: SkipReport | None = None,
) -> Workload:
    """A workload from one row per job.

    Compute times are scaled so that the critical path of an iteration, times the iterations, is the run time.

    Args:
        columns: the jobs, in any order; the workload has them in order of arrival.
        name: of the workload.
        job_ids: in the order of the columns; numbers in order of arrival by default.
        connected: False cuts every job into equal partitions that exchange nothing: a plain gang.
        skipped: what the source held beside these jobs.
    """
    arrival = np.rint(columns.arrival * 1e6) / 1e6
    order = np.argsort(arrival, kind="stable")
    if job_ids is None:
        job_ids = [str(number) for number in range(len(order))]
    else:
        job_ids = [job_ids[row] for row in order.tolist()]
    graphs = graphs_of(columns, connected)
    num_tasks = columns.replicas * columns.partitions + columns.parameter_server
    jobs = np.zeros(len(order), JOB)
    tasks = np.zeros(int(num_tasks.sum()), TASK)
    edges = np.zeros(int(graphs.num_edges.sum()), EDGE)
    if len(jobs):
        write_rows(columns, graphs, arrival, order, jobs, tasks, edges)
        set_ideal_iteration_times(jobs, tasks, edges)
        jobs["required_accuracy"] = _accuracy(jobs, (columns.required_at * columns.max_iterations)[order])
    workload = Workload(jobs, tasks, edges, tuple(job_ids), name, skipped or SkipReport(), sound=True)
    check_times(workload)
    return workload


def _accuracy(jobs: Array, iteration: Array) -> Array:
    """`mlfs_gym.workloads.curves.accuracy` for a whole column."""
    to_go = (1.0 + iteration / jobs["curve_scale"]) ** -jobs["curve_power"]
    late = np.maximum(0.0, iteration - jobs["overfit_start"])  # inf - inf does not occur: iterations are finite
    lost = to_go + jobs["overfit_slope"] * late / (jobs["loss_start"] - jobs["loss_floor"])
    accuracy: Array = np.maximum(0.0, jobs["accuracy_ceiling"] * (1.0 - lost))
    return accuracy
