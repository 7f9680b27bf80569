"""What is known not to fit within one round, so that it is not tried again for every job of a long queue.

Where GPUs are not shared, a job for which no room could be made speaks for those behind it that ask for as much or more
and may preempt nobody whom it could not: placements only take room away. An eviction frees GPUs and ends that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.bundle import F8, I8, Bundle, Of
from mlfs_gym.cluster.jit import kernel

MOST = 32  # refusals that are remembered; those of a few sizes cover nearly all

# Columns of Refusals.requests.
GPUS: Final = 0
JOB: Final = 1
OVERDUE: Final = 2
MEMORY: Final = 3  # MiB of host memory; 0: memory had no part in it
GPU_MEMORY: Final = 4


@dataclass(frozen=True, eq=False, repr=False)
class Refusals(Bundle):
    """Requests for which no room could be made.

    Attributes:
        requests: shape (MOST, 5), int64, see the columns above.
        level: shape (MOST,), of the job.
        count: shape (1,), int64.
    """

    requests: Annotated[Array, Of(I8, 2)]
    level: Annotated[Array, Of(F8)]
    count: Annotated[Array, Of(I8)]


def new_refusals() -> Refusals:
    """Nothing has been refused."""
    return Refusals(np.zeros((MOST, 5), np.int64), np.zeros(MOST), np.zeros(1, np.int64))


@kernel
def is_refused(
    refusals: Refusals, gpus: int, job: int, level: float, overdue: bool, memory: int, gpu_memory: int, largest: int
) -> bool:
    """True if a request is at least as hard as one that was refused.

    Args:
        refusals: of this round.
        gpus: that are needed together.
        job: who asks.
        level: of the job.
        overdue: may it preempt later arrivals of its own level?
        memory: of each task, MiB.
        gpu_memory: of each task, MiB.
        largest: GPUs of the largest server; larger gangs clear whole servers, which is another matter.
    """
    for index in range(refusals.count[0]):
        request = refusals.requests[index]
        fewer = request[GPUS] <= gpus and (request[GPUS] > largest) == (gpus > largest)
        smaller = request[MEMORY] <= memory and request[GPU_MEMORY] <= gpu_memory
        if fewer and smaller and _could_take_from_more(refusals, index, job, level, overdue):
            return True
    return False


@kernel
def _could_take_from_more(refusals: Refusals, index: int, job: int, level: float, overdue: bool) -> bool:
    """True if the job that was refused could have preempted all whom this one can."""
    if refusals.level[index] != level:
        return bool(refusals.level[index] < level)
    if not overdue:
        return True
    return bool(refusals.requests[index, OVERDUE] == 1 and refusals.requests[index, JOB] < job)


@kernel
def refuse(refusals: Refusals, gpus: int, job: int, level: float, overdue: bool, memory: int, gpu_memory: int) -> None:
    """Remember a request for which no room could be made; memory is 0 if it had no part in it."""
    index = refusals.count[0]
    if index == MOST:
        return
    refusals.requests[index, GPUS] = gpus
    refusals.requests[index, JOB] = job
    refusals.requests[index, OVERDUE] = 1 if overdue else 0
    refusals.requests[index, MEMORY] = memory
    refusals.requests[index, GPU_MEMORY] = gpu_memory
    refusals.level[index] = level
    refusals.count[0] += 1
