"""Tiresias with the Gittins index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from mlfs_gym.cluster.arrays import FINISHED, Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.tiresias import SECONDS_PER_HOUR, Tiresias, TiresiasSettings


class GittinsSettings(TiresiasSettings):
    """Queues, placement, and the distribution of service."""

    service_gpu_hours: tuple[float, ...] | None = Field(
        default=None, min_length=1, description="sample of jobs' total service; None: learned from jobs that finished"
    )
    fewest_finished: int = Field(
        default=20, ge=1, description="jobs that must have finished before they are learned from"
    )
    most_steps: int = Field(default=256, ge=2, le=4096, description="the sample is thinned to so many quantiles")

    @field_validator("service_gpu_hours")
    @classmethod
    def _check_service(cls, sample: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if sample is not None and min(sample) <= 0:
            raise PydanticCustomError("service", "GPU-hours above 0")
        return sample


class Gittins(Tiresias):
    """Discretised 2D-Gittins index (Gu et al., "Tiresias", NSDI 2019, section 3.2; Gittins, J. R. Stat. Soc. 1979).

    Knows not how long a job will run but how long jobs run. The index of a job with attained service a is the best
    rate of completion per GPU-second that investing a further service D in it can bring,
    sup over D of P(S - a <= D | S > a) / E[min(S - a, D) | S > a]. Queues as in `Tiresias`; within a queue the job
    with the higher index goes first and preempts, equal indices by the time of the first start.

    Deviations, beside those of `Tiresias`:
        - the index is a step function of a, constant between neighbouring values of the sample, so that
          priorities do not change all the time (as in the authors' simulator);
        - the sample is learned as jobs finish (anew with every tenth part more of them) instead of given, and only
          such jobs count as reached their last iteration; until there are enough, the queues are those of `Tiresias`;
        - the service of a finished job includes what restarts and contention cost it.

    Args:
        settings: `GittinsSettings`, a mapping, or None for the defaults.
    """

    name = "gittins"

    def __init__(self, settings: GittinsSettings | Mapping[str, Any] | None = None) -> None:
        parsed = GittinsSettings.parse(settings)
        super().__init__(parsed)
        self._given = parsed.service_gpu_hours
        self._fewest, self._most_steps = parsed.fewest_finished, parsed.most_steps
        self._steps = np.zeros(0)
        self._index = np.zeros(1)
        self._learned_from = 0
        if self._given is not None:
            self._learn(np.array(self._given) * SECONDS_PER_HOUR)

    def reset(self, cluster: Cluster) -> None:
        """Forget what was learned."""
        super().reset(cluster)
        if self._given is None:
            self._steps, self._index, self._learned_from = np.zeros(0), np.zeros(1), 0

    def index(self, attained: Array) -> Array:
        """Gittins index of jobs in completions per GPU-second, shape (n,); all 0 while nothing is known.

        Args:
            attained: shape (n,), GPU-seconds.
        """
        return self._index[np.searchsorted(self._steps, attained, side="right")]

    def decide(self, cluster: Cluster, active: Array) -> None:
        """By queue, then by index, then by first start."""
        if self._given is None:
            self._learn_from_finished(cluster.state)
        number = self.queue_number(cluster.state, active)
        index = self.index(cluster.jobs["attained_service"][active])
        order = np.lexsort((cluster.jobs["first_start"][active], -index, number))
        number, index = number[order], index[order]
        falls = (np.diff(number) != 0) | (np.diff(index) != 0)
        self.serve(cluster, active[order], np.concatenate([np.zeros(1), np.cumsum(falls)]))

    def _learn_from_finished(self, state: State) -> None:
        done = int(state.clock["num_done"][0])
        if done < max(self._fewest, 1.1 * self._learned_from):
            return
        finished = state.jobs["attained_service"][state.jobs["status"] == FINISHED]
        if len(finished) >= self._fewest:
            self._learn(finished)
            self._learned_from = done

    def _learn(self, service: Array) -> None:
        sample = np.sort(service)
        if len(sample) > self._most_steps:
            sample = np.quantile(sample, (np.arange(self._most_steps) + 0.5) / self._most_steps)
        self._steps = np.unique(sample)
        self._index = np.empty(len(self._steps) + 1)
        for step, attained in enumerate(np.concatenate([np.zeros(1), self._steps])):
            self._index[step] = gittins_index(sample, attained)


@kernel
def gittins_index(sample: Array, attained: float) -> float:
    """The Gittins index of a job under the empirical distribution of a sample.

    For a discrete distribution the supremum over D is taken where a + D is a value of the sample.

    Args:
        sample: shape (m,), ascending, total service of jobs.
        attained: service so far, in the same unit.

    Returns:
        Completions per unit of service; 0 if no value of the sample is larger.
    """
    first = 0
    while first < sample.shape[0] and sample[first] <= attained:
        first += 1
    best = 0.0
    invested = 0.0  # sum of S - a over the values that are reached
    for last in range(first, sample.shape[0]):
        quantum = sample[last] - attained
        invested += quantum
        completions = last - first + 1
        beyond = sample.shape[0] - last - 1
        best = max(best, completions / (invested + beyond * quantum))
    return best
