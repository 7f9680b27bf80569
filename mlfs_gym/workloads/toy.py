"""A workload small enough to solve by hand."""

from __future__ import annotations

from typing import Final

from mlfs_gym.config import ClusterConfig
from mlfs_gym.workloads.specs import EdgeSpec, JobSpec, PartitionSpec, workload_from_specs
from mlfs_gym.workloads.workload import Workload

TOY_CLUSTER: Final = ClusterConfig(servers=1, gpus_per_server=2)

TOY_FIFO_JCT_SECONDS: Final = 810.0
TOY_SHORTEST_FIRST_JCT_SECONDS: Final = 480.0
TOY_OPTIMAL_JCT_SECONDS: Final = 450.0


def toy() -> Workload:
    """Four jobs that arrive together on one server with two GPUs, `TOY_CLUSTER`.

    ====== ==== ============ ====================================
    job    GPUs run time (s) shape
    ====== ==== ============ ====================================
    wide   2    600          2 partitions, 60 iterations of 5 + 5
    short  1    120          60 iterations of 2
    middle 1    240          60 iterations of 4
    long   1    360          60 iterations of 6
    ====== ==== ============ ====================================

    With exclusive GPUs and no fluctuation, nothing evicted, times in seconds:

    - First come, first served: wide 0-600; then short 600-720 beside middle 600-840, long 720-1080 after short.
      Average JCT (600 + 720 + 840 + 1080) / 4 = 810.
    - Shortest first: short 0-120 beside middle 0-240; long 120-480 after short; wide waits for both GPUs, 480-1080.
      Average JCT (120 + 240 + 480 + 1080) / 4 = 480.
    - Optimal: long 0-360 on one GPU, short 0-120 and middle 120-360 on the other, wide 360-960.
      Average JCT (360 + 120 + 360 + 960) / 4 = 450. The three narrow jobs fill both GPUs to 360, so wide cannot end
      before 960 without being in front of one of them, which then ends at 720 or later; and 120 + 360 + 360 = 840 is
      also the least sum that two GPUs allow for the narrow ones.

    Deadlines are 900 s for wide and 400 s for the others: the optimal order meets three of four, first come, first
    served one.
    """
    half = PartitionSpec(compute_seconds=5.0, gpu_demand_milli=900)
    wide = JobSpec(
        id="wide",
        partitions=(half, half),
        edges=(EdgeSpec(source=0, target=1, megabytes=50.0),),
        max_iterations=60,
        deadline_seconds=900.0,
        required_accuracy=0.5,
    )
    narrow = [
        JobSpec(
            id=name,
            partitions=(PartitionSpec(compute_seconds=seconds, gpu_demand_milli=900),),
            max_iterations=60,
            deadline_seconds=400.0,
            required_accuracy=0.5,
        )
        for name, seconds in (("short", 2.0), ("middle", 4.0), ("long", 6.0))
    ]
    return workload_from_specs([wide, *narrow], name="toy")
