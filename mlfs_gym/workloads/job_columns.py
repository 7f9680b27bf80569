"""Jobs before they are cut into tasks: one entry per job in every column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.bundle import F8, I8, Bundle, Of
from mlfs_gym.errors import WorkloadError


@dataclass(frozen=True, eq=False, repr=False)
class JobColumns(Bundle):
    """One entry per job in every array, each of shape (J,).

    Attributes:
        arrival: s.
        run_time: s, with all replicas on one server and no contention.
        family: index into `FAMILIES`.
        replicas: R.
        partitions: P.
        parameter_server: 1 or 0.
        max_iterations: I_max.
        urgency: in [0, 10].
        deadline: s, absolute.
        required_at: the accuracy of this part of the iterations is the required one, in [0, 1].
        stop_option: what the user picked.
        stop_option_limit: the furthest downgrade permitted.
        gpu_demand: milli-GPU of each task.
        link_bytes: per iteration on each edge.
        gradient_bytes: of the whole model, per iteration.
        data_bytes: training data, shared out to the replicas.
        curve_scale: iterations.
        overfit_start: iteration, inf for never.
        overfit_slope: loss per iteration.
        loss_noise: relative amplitude.
    """

    arrival: Annotated[Array, Of(F8)]
    run_time: Annotated[Array, Of(F8)]
    family: Annotated[Array, Of(I8)]
    replicas: Annotated[Array, Of(I8)]
    partitions: Annotated[Array, Of(I8)]
    parameter_server: Annotated[Array, Of(I8)]
    max_iterations: Annotated[Array, Of(I8)]
    urgency: Annotated[Array, Of(F8)]
    deadline: Annotated[Array, Of(F8)]
    required_at: Annotated[Array, Of(F8)]
    stop_option: Annotated[Array, Of(I8)]
    stop_option_limit: Annotated[Array, Of(I8)]
    gpu_demand: Annotated[Array, Of(I8)]
    link_bytes: Annotated[Array, Of(F8)]
    gradient_bytes: Annotated[Array, Of(F8)]
    data_bytes: Annotated[Array, Of(F8)]
    curve_scale: Annotated[Array, Of(F8)]
    overfit_start: Annotated[Array, Of(F8)]
    overfit_slope: Annotated[Array, Of(F8)]
    loss_noise: Annotated[Array, Of(F8)]

    def __post_init__(self) -> None:
        super().__post_init__()
        lengths = {name: len(column) for name, column in self.values().items()}
        if len(set(lengths.values())) > 1:
            raise WorkloadError(f"job columns: found lengths {lengths}, expected one entry per job in each")
