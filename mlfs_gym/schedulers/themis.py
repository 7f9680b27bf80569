"""Themis: finish-time fairness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from mlfs_gym.cluster.arrays import RUNNING, Array, State
from mlfs_gym.cluster.cluster import Cluster
from mlfs_gym.schedulers.preemptive import PreemptionSettings, PreemptiveScheduler, serve_in_order
from mlfs_gym.schedulers.room import Queue
from mlfs_gym.schedulers.srtf import remaining_with_restart


class ThemisSettings(PreemptionSettings):
    """Leases and the auction."""

    quantum_seconds: float = Field(default=1200.0, ge=0, le=1e7, description="a lease: GPUs are held at least so long")
    fairness: float = Field(
        default=0.8, ge=0, le=1, description="f: the auction is open to the 1 - f of the bidders that are worst off"
    )


class Themis(PreemptiveScheduler):
    """Finish-time fairness with leases.

    Mahajan et al., "Themis: fair and efficient GPU cluster scheduling", NSDI 2020. A job's finish-time fairness
    rho = T_shared / T_independent compares when it will finish here with when it would have finished on a cluster of
    its own with 1/N of the GPUs, N the average number of jobs during its life (section 3.2). GPUs that are free, or
    whose lease has run out, go to the 1 - f of the bidders whose rho is worst, the worst first; what they do not take
    goes to the rest (section 3.3).

    Simplifications and deviations:
        - no bidding and no hidden payments: the arbiter computes rho itself from the request, the progress and the
          undisturbed iteration time, which are the same for all jobs, so nobody can lie. The partial allocation,
          which maximises the product of the bids' valuations among the worst, becomes worst first;
        - T_shared = time since arrival + remaining time with all GPUs asked for, whatever the job holds now;
          T_independent = run time * max(1, GPUs asked for * N / GPUs of the cluster);
        - an app is one job, without a tuner that stops some of its trials;
        - who is offered GPUs gets all that it asks for as far as they fit, in place of a bid for each subset;
          consolidated placement replaces the bids' sensitivity to placement;
        - an expired lease goes on until somebody who is worse off needs the GPUs (a lease renewed at no cost);
        - what the worst leave is given in the order of rho instead of at random, without preemption.

    Args:
        settings: `ThemisSettings`, a mapping, or None for the defaults.
    """

    name = "themis"

    def __init__(self, settings: ThemisSettings | Mapping[str, Any] | None = None) -> None:
        parsed = ThemisSettings.parse(settings)
        super().__init__(parsed)
        self._fairness = parsed.fairness
        self._integral_at_arrival = np.zeros(0)

    def reset(self, cluster: Cluster) -> None:
        """Forget leases, and how many jobs there were."""
        super().reset(cluster)
        self._integral_at_arrival = np.zeros(0)

    def rho(self, state: State, active: Array) -> Array:
        """Finish-time fairness of jobs, shape (n,); 1: as on a cluster of its own, more: worse.

        Args:
            state: the cluster.
            active: shape (n,), jobs.
        """
        jobs = state.jobs
        remaining = np.empty(len(active))
        remaining_with_restart(state, active, remaining)
        shared = state.clock["time"][0] - jobs["arrival"][active] + remaining
        run_time = jobs["max_iterations"][active] * jobs["ideal_iteration_time"][active]
        share = jobs["num_gpus"][active] * self._contention(state, active) / len(state.gpus)
        return shared / (run_time * np.maximum(1.0, share))

    def decide(self, cluster: Cluster, active: Array) -> None:
        """The auction: the worst off first; then the rest, who preempt nobody."""
        state = cluster.state
        rho = self.rho(state, active)
        order = np.argsort(-rho, kind="stable")
        invited = self._invited(state, self.make_queue(state, active[order], -rho[order]))
        level = np.where(invited, -rho[order], np.inf)
        first = np.argsort(~invited, kind="stable")
        serve_in_order(state, self.make_queue(state, active[order][first], level[first]), cluster.hosts_scratch)

    def _invited(self, state: State, queue: Queue) -> Array:
        """Which jobs, the worst off first, may bid for the GPUs on offer: the first 1 - f of those that want any."""
        jobs = state.jobs[queue.order]
        bids = (jobs["running_replicas"] < jobs["replicas"]) | ((jobs["status"] == RUNNING) & ~queue.held)
        offered = int(np.ceil((1.0 - self._fairness) * bids.sum() - 1e-9))
        invited: Array = bids & (np.cumsum(bids) <= max(1, offered))
        return invited

    def _contention(self, state: State, active: Array) -> Array:
        """Average number of jobs in the cluster since each one's arrival, shape (n,), 1 or more."""
        jobs, clock = state.jobs, state.clock[0]
        if len(self._integral_at_arrival) != len(jobs):
            self._integral_at_arrival = np.full(len(jobs), np.nan)
        integral = float(clock["jct_integral"])
        new = active[np.isnan(self._integral_at_arrival[active])]
        # First seen a moment after the arrival: as if the number had been the present one since.
        age = clock["time"] - jobs["arrival"][new]
        self._integral_at_arrival[new] = integral - len(active) * age
        life = clock["time"] - jobs["arrival"][active]
        during = integral - self._integral_at_arrival[active]
        return np.maximum(1.0, np.where(life > 0, during / np.where(life > 0, life, 1.0), len(active)))
