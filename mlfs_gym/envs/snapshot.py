"""All that an episode must remember to be continued from here."""

from __future__ import annotations

from dataclasses import dataclass

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.schedulers.mlf_c.control import LoadControl


@dataclass(frozen=True)
class Snapshot:
    """A point of an episode, made by `JobSchedulingEnv.clone_state`.

    Attributes:
        state: copy of the cluster's arrays.
        blocked: shape (J,), jobs known not to fit in the open round.
        control: what MLF-C knows.
        account: what the reward had counted, dtype `reward.ACCOUNT`.
        counts: steps and invalid actions so far, dtype `episode.COUNTS`.
    """

    state: State
    blocked: Array
    control: LoadControl
    account: Array
    counts: Array
