"""The optimal-stopping form for many jobs at once: one record per job, one compiled call per iteration of a job.

The same rule as `OptimalStopping`, which explains it; a test holds both together.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.jit import kernel
from mlfs_gym.schedulers.opt_stop.decision import Phase, Reason
from mlfs_gym.schedulers.opt_stop.params import OptimalStoppingParams

STOPPING: Final = np.dtype(
    [
        ("max_iterations", np.int64),
        ("required", np.float64),  # accuracy; -inf: the literal rule
        ("watch_fraction", np.float64),
        ("rises_in_a_row", np.int64),
        ("detect_overfitting", np.int64),
        ("iteration", np.int64),  # seen so far
        ("stop", np.int64),  # 1: end the job
        ("phase", np.int64),  # of Phase
        ("reason", np.int64),  # of Reason
        ("best_iteration", np.int64),
        ("best", np.float64),  # loss
        ("reached", np.int64),  # 1: the required accuracy has been
        ("rule_phase", np.int64),  # of Phase, without HELD and STOPPED
        ("rule_reason", np.int64),  # of Reason
        ("before", np.float64),  # the last loss but one
        ("previous", np.float64),  # the last loss
        ("pivot", np.int64),  # the last iteration before the first rise
        ("minimum", np.float64),  # of the watched losses
        ("rises", np.int64),  # in a row
        ("minima", np.int64),  # number of local minima
        ("first_minimum", np.float64),
        ("last_minimum", np.float64),
    ]
)

_DEFAULT_PARAMS = OptimalStoppingParams()
_FAST_DROP, _WATCHING, _CHOOSING = int(Phase.FAST_DROP), int(Phase.WATCHING), int(Phase.CHOOSING)
_HELD, _STOPPED = int(Phase.HELD), int(Phase.STOPPED)
_NONE, _BELOW_MINIMUM, _LAST_ITERATION = int(Reason.NONE), int(Reason.BELOW_MINIMUM), int(Reason.LAST_ITERATION)
_RISING_LOSS, _RISING_MINIMA = int(Reason.RISING_LOSS), int(Reason.RISING_MINIMA)


def new_stopping(
    max_iterations: npt.ArrayLike,
    required: npt.ArrayLike | None = None,
    params: OptimalStoppingParams = _DEFAULT_PARAMS,
) -> Array:
    """Records of jobs that have not begun.

    Args:
        max_iterations: I_max of each job, shape (jobs,).
        required: accuracy before which a job never stops, shape (jobs,) or one for all; None: the literal rule.
        params: constants.

    Returns:
        Shape (jobs,), dtype STOPPING.
    """
    limits = np.asarray(max_iterations, np.int64)
    states = np.zeros(len(limits), STOPPING)
    states["max_iterations"] = limits
    states["required"] = -np.inf if required is None else required
    states["reached"] = states["required"] == -np.inf
    states["watch_fraction"] = params.watch_fraction
    states["rises_in_a_row"] = params.rises_in_a_row
    states["detect_overfitting"] = params.detect_overfitting
    for name in ("best", "before", "previous", "minimum"):
        states[name] = np.inf
    return states


@kernel
def observe(states: Array, job: int, loss: float, accuracy: float) -> bool:
    """Take what was measured after one more iteration of a job. Nothing changes once it has been stopped.

    Args:
        states: shape (jobs,), dtype STOPPING; changed in place.
        job: row.
        loss: of the iteration.
        accuracy: of the iteration, nan if it was not measured.

    Returns:
        True if the job is to end.
    """
    row = states[job]
    if row.stop == 1:
        return True
    row.iteration += 1
    if not np.isfinite(loss):
        loss = np.inf
    if accuracy >= row.required:
        row.reached = 1
    if loss < row.best:
        row.best = loss
        row.best_iteration = row.iteration
    if row.rule_reason == _NONE:
        row.rule_reason = _follow_rule(row, loss)
    row.phase = row.rule_phase
    row.reason = row.rule_reason
    if row.rule_reason != _NONE and row.reached == 1:
        row.stop = 1
        row.phase = _STOPPED
    elif row.iteration >= row.max_iterations:
        row.stop = 1
        row.phase = _STOPPED
        row.reason = _LAST_ITERATION
    elif row.rule_reason != _NONE:
        row.phase = _HELD
    return row.stop == 1


@kernel
def _follow_rule(row: Any, loss: float) -> int:
    """The literal rule: why it stops here, if it does; a value of Reason."""
    before, previous = row.before, row.previous
    row.before = previous
    row.previous = loss
    if row.iteration == 1:
        return _NONE
    rose = loss > previous or loss == np.inf
    row.rises = row.rises + 1 if rose else 0
    if rose and previous < before and row.iteration > 2:
        if row.minima == 0:
            row.first_minimum = previous
        row.last_minimum = previous
        row.minima += 1
    if rose and row.rule_phase == _FAST_DROP:
        row.rule_phase = _WATCHING
        row.pivot = row.iteration - 1
        row.minimum = previous
    if row.rule_phase == _FAST_DROP:
        return _NONE
    if rose and row.detect_overfitting == 1:
        if row.rises > row.rises_in_a_row:
            return _RISING_LOSS
        if row.minima > 1 and row.last_minimum > row.first_minimum:
            return _RISING_MINIMA
    watched = int((row.max_iterations - row.pivot) * row.watch_fraction)
    if row.iteration - row.pivot <= watched:
        row.minimum = min(row.minimum, loss)
        return _NONE
    row.rule_phase = _CHOOSING
    if loss < row.minimum:
        return _BELOW_MINIMUM
    return _NONE
