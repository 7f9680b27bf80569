"""The state of a cluster: NumPy structured arrays, one row per job, task, edge, server and GPU.

Compiled kernels and plain Python read and write the same arrays: ``jobs["deadline"]`` is a column,
``jobs[j]["deadline"]`` a value. Units: time in seconds, traffic in bytes, memory in MiB, GPU compute
in thousandths of a GPU ("milli"), CPU in thousandths of a core. Everything that is added to and taken
from a server is an integer, so that sums are exact and independent of the order of decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlfs_gym.cluster.bundle import I8, Bundle, Of

Array: TypeAlias = NDArray[Any]

# Values of jobs["status"].
PENDING: Final = 0  # has not arrived
QUEUED: Final = 1  # arrived, no replica runs
RUNNING: Final = 2  # at least one replica runs
FINISHED: Final = 3  # ran to its last iteration
STOPPED: Final = 4  # ended early by `stop`

# Values of jobs["stop_option"] and jobs["stop_option_limit"] (PAPER: MLF-C, section 3.5).
STOP_FIXED: Final = 0  # after max_iterations
STOP_OPTIMAL: Final = 1  # OptStop
STOP_REQUIRED_ACCURACY: Final = 2  # when required_accuracy is reached

NONE: Final = -1  # "no server", "no GPU", "no task"

JOB: Final = np.dtype(
    [
        # --- the request: never changes ---------------------------------------------------------
        ("arrival", np.float64),  # s
        ("deadline", np.float64),  # s, absolute
        ("urgency", np.float64),  # L_J in [0, 10], above 8 is urgent
        ("required_accuracy", np.float64),  # in [0, 1]
        ("model", np.int64),  # index into workloads.profiles.FAMILIES
        ("replicas", np.int64),  # R, data parallelism
        ("partitions", np.int64),  # P, model parallelism
        ("parameter_server", np.int64),  # 1: gradients go through a parameter server, 0: ring all-reduce
        ("num_gpus", np.int64),  # R * P
        ("first_task", np.int64),  # tasks first_task + r * P + p; a parameter server comes last
        ("num_tasks", np.int64),
        ("first_edge", np.int64),  # DAG of one replica, the same for all of them
        ("num_edges", np.int64),
        ("max_iterations", np.int64),  # I_max
        ("stop_option", np.int64),  # what the user picked
        ("stop_option_limit", np.int64),  # the furthest downgrade that the user permits
        ("gradient_bytes", np.float64),  # size of the model's gradients, exchanged once per iteration
        ("checkpoint_bytes", np.float64),  # what an eviction or a move transfers, whole job
        ("ideal_iteration_time", np.float64),  # s: R replicas, one server, no contention
        # learning curve, see workloads.curves
        ("loss_start", np.float64),
        ("loss_floor", np.float64),
        ("curve_scale", np.float64),  # iterations
        ("curve_power", np.float64),
        ("overfit_start", np.float64),  # iteration, inf: never
        ("overfit_slope", np.float64),  # loss per iteration
        ("loss_noise", np.float64),  # relative amplitude
        ("accuracy_ceiling", np.float64),  # in [0, 1]
        # --- the state --------------------------------------------------------------------------
        ("status", np.int64),
        ("running_replicas", np.int64),  # r
        ("spans_servers", np.int64),  # 1: its placed tasks sit on more than one server
        ("dirty", np.int64),  # 0: speed is up to date, 1: a neighbour changed, 2: its own placement changed
        ("heap_position", np.int64),  # in `State.finishing`, NONE: not in it
        ("restart_due", np.int64),  # 1: was evicted, pays the restart cost when placed again
        ("placed_round", np.int64),  # clock["rounds"] when last placed, evicted or moved
        ("held_gpus", np.int64),  # GPUs held since settled_at
        ("stall_due", np.float64),  # s, stall that the decisions of this round cost
        ("progress", np.float64),  # iterations done, fractional, as of settled_at
        ("settled_at", np.float64),  # s
        ("iteration_time", np.float64),  # s as placed now, inf while no replica runs
        ("stalled_until", np.float64),  # s, no progress before
        ("finish_at", np.float64),  # s, when it finishes if nothing changes, else inf
        ("bytes_per_iteration", np.float64),  # between servers, as placed now
        ("loss", np.float64),  # observed after the last whole iteration
        ("previous_loss", np.float64),  # observed after the iteration before that
        ("first_loss", np.float64),  # observed before training, iteration 0
        ("accuracy", np.float64),  # now
        ("accuracy_by_deadline", np.float64),  # now, or at the deadline once it has passed
        ("requirement_met", np.int64),  # 1: required_accuracy was reached by the deadline
        ("first_start", np.float64),  # s, nan before
        ("finish", np.float64),  # s, nan before
        ("waiting_time", np.float64),  # s with no replica running
        ("attained_service", np.float64),  # GPU-seconds held
        ("bytes_sent", np.float64),  # between servers, with checkpoints
        ("preemptions", np.int64),
        ("migrations", np.int64),
    ],
    align=True,
)

TASK: Final = np.dtype(
    [
        ("job", np.int64),
        ("replica", np.int64),
        ("partition", np.int64),  # NONE: the parameter server
        ("server", np.int64),  # NONE: not placed
        ("gpu", np.int64),  # NONE: not placed, or the parameter server
        ("next_on_server", np.int64),  # doubly linked list of the tasks on a server
        ("previous_on_server", np.int64),
        ("memory", np.int64),  # MiB of host memory, hard
        ("gpu_memory", np.int64),  # MiB, hard
        ("gpu_demand", np.int64),  # milli-GPU, nominal
        ("cpu_demand", np.int64),  # milli-core, nominal
        ("nic_demand", np.int64),  # bytes/s, nominal, used only while the job spans servers
        ("gpu_used", np.int64),  # what is booked on the GPU now: demand times fluctuation
        ("cpu_used", np.int64),
        ("nic_used", np.int64),
        ("compute_time", np.float64),  # s per iteration on a GPU of speed 1 without contention
        ("parameter_share", np.float64),  # S_k / S_J, sums to 1 over the partitions of a replica
        ("moved_at", np.float64),  # s, -inf: never
    ],
    align=True,
)

EDGE: Final = np.dtype(
    [
        ("source", np.int64),  # partition, always lower than target: partitions are in topological order
        ("target", np.int64),
        ("bytes", np.float64),  # per iteration
    ],
    align=True,
)

SERVER: Final = np.dtype(
    [
        ("first_gpu", np.int64),
        ("num_gpus", np.int64),
        ("cpu", np.int64),  # milli-core
        ("memory", np.int64),  # MiB
        ("nic", np.int64),  # bytes/s
        ("gpu_used", np.int64),  # milli-GPU, sum over its GPUs
        ("cpu_used", np.int64),
        ("memory_used", np.int64),
        ("nic_used", np.int64),
        ("num_tasks", np.int64),
        ("first_task", np.int64),  # head of the list of tasks, NONE: empty
        ("overloaded", np.int64),  # as of the last overload count
        ("free_gpus", np.int64),  # GPUs without a task
        ("version", np.int64),  # grows with every change of what it holds or what that uses
    ],
    align=True,
)

GPU: Final = np.dtype(
    [
        ("server", np.int64),
        ("num_tasks", np.int64),
        ("memory", np.int64),  # MiB
        ("memory_used", np.int64),
        ("used", np.int64),  # milli-GPU
        ("speed", np.float64),  # relative, 1.0 is the profiles' reference
    ],
    align=True,
)

CLOCK: Final = np.dtype(
    [
        # --- settings ---------------------------------------------------------------------------
        ("seed", np.uint64),
        ("sharing", np.int64),  # 1: several tasks may share a GPU
        ("contention", np.int64),  # 1: oversubscribed resources slow their tasks down
        ("round_seconds", np.float64),
        ("redraw_seconds", np.float64),
        ("fluctuation", np.float64),  # demand factors are uniform in [1 - f, 1 + f]
        ("restart_one_gpu", np.float64),  # s, restart after an eviction or a move, 1 GPU
        ("restart_up_to_8", np.float64),  # s, 2 to 8 GPUs
        ("restart_larger", np.float64),  # s, more
        ("overload_threshold", np.float64),  # utilisation above which a server counts as overloaded
        ("time_limit", np.float64),  # s
        ("largest_server", np.int64),  # GPUs
        ("largest_memory", np.int64),  # MiB of a server
        # --- the state --------------------------------------------------------------------------
        ("time", np.float64),  # s
        ("period", np.int64),  # number of the demand period
        ("rounds", np.int64),  # rounds begun
        ("last_round", np.float64),  # s, -inf before the first
        ("changed", np.int64),  # 1: something happened since the last round
        ("next_arrival", np.int64),  # first job that has not arrived
        ("num_active", np.int64),  # length of `active`
        ("num_marked", np.int64),  # length of `marked`
        ("num_finishing", np.int64),  # length of `finishing`
        ("num_running", np.int64),  # jobs with a running replica
        ("free_gpus", np.int64),  # GPUs without a task
        ("num_waiting", np.int64),  # active jobs with a replica that does not run, length of `waiting`
        ("num_done", np.int64),
        ("jct_integral", np.float64),  # s, sum of min(finish, now) - arrival over arrived jobs
        ("deadlines_met", np.int64),
        ("requirements_met", np.int64),
        ("accuracy_sum", np.float64),  # of accuracy_by_deadline over all jobs
        ("bytes_sent", np.float64),
        ("overloads", np.int64),
        ("preemptions", np.int64),
        ("migrations", np.int64),
    ],
    align=True,
)


@dataclass(frozen=True, eq=False, repr=False)
class State(Bundle):
    """All that a scheduler may look at and all that a kernel needs.

    Attributes:
        jobs: shape (J,), dtype `JOB`, in order of arrival.
        tasks: shape (T,), dtype `TASK`, grouped by job.
        edges: shape (E,), dtype `EDGE`, grouped by job.
        servers: shape (S,), dtype `SERVER`.
        gpus: shape (G,), dtype `GPU`, grouped by server.
        active: shape (J,), int64; the first ``clock["num_active"]`` entries are the jobs that have
            arrived and not ended, in order of arrival.
        waiting: shape (J,), int64; the first ``clock["num_waiting"]`` entries are the active jobs with a replica that
            does not run, in order of arrival.
        marked: shape (J,), int64; the first ``clock["num_marked"]`` entries are the jobs that have been marked
            ``dirty`` since the last refresh, each once; some may have ended since.
        finishing: shape (J,), int64; the first ``clock["num_finishing"]`` entries are the jobs with a finite
            ``finish_at``, a binary heap with the next to finish on top (see `mlfs_gym.sim.finishing`).
        clock: shape (1,), dtype `CLOCK`.
    """

    jobs: Annotated[Array, Of(JOB)]
    tasks: Annotated[Array, Of(TASK)]
    edges: Annotated[Array, Of(EDGE)]
    servers: Annotated[Array, Of(SERVER)]
    gpus: Annotated[Array, Of(GPU)]
    active: Annotated[Array, Of(I8)]
    waiting: Annotated[Array, Of(I8)]
    marked: Annotated[Array, Of(I8)]
    finishing: Annotated[Array, Of(I8)]
    clock: Annotated[Array, Of(CLOCK)]
