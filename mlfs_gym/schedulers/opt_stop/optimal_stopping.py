"""OptStop, optimal-stopping form: stop near the iteration of minimum loss.

The rule of the authors' code (hiddenlayer2020/ML-Job-Scheduler-MLFS, `Simu/workload.py`) for "OptStop" of CoNEXT 2020,
section 3.5. With I_p the last iteration before the loss first rises:

1. Fast drop, until that rise.
2. Watch the first `int(0.37 (I_max - I_p))` iterations after I_p; remember the minimum, I_p's loss included.
3. Stop at the first iteration whose loss is below it: the secretary problem, whose best share to watch is 1/e.
4. From the first rise on, stop at once on overfitting: the loss has just risen, and either more than 5 times in a row
   or the latest of two or more local minima lies above the first.

Ours: what is not finite counts as a rise, and `required`. The literal rule may stop before the accuracy that the user
asked for; with `required` the job goes on until that has been reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite, isnan, nan

from mlfs_gym.errors import SettingsError
from mlfs_gym.schedulers.opt_stop.decision import Decision, Phase, Reason
from mlfs_gym.schedulers.opt_stop.params import OptimalStoppingParams

DEFAULT_PARAMS = OptimalStoppingParams()


class OptimalStopping:
    """The optimal-stopping form for one job; constant time per iteration.

    Args:
        max_iterations: I_max.
        required: accuracy before which the job never stops; None: the literal rule.
        minimise: the values are losses; False: accuracies, whose negatives serve as losses.
        params: constants.

    Raises:
        SettingsError: if an argument makes no sense.
    """

    def __init__(
        self,
        max_iterations: int,
        *,
        required: float | None = None,
        minimise: bool = True,
        params: OptimalStoppingParams = DEFAULT_PARAMS,
    ) -> None:
        if max_iterations < 1:
            raise SettingsError(f"max_iterations: found {max_iterations}, expected at least 1")
        if required is not None and isnan(required):
            raise SettingsError("required: found nan, expected an accuracy or None")
        self.max_iterations = max_iterations
        self.required = required
        self.minimise = minimise
        self.params = params
        self._reached = required is None or required == -inf
        self._phase = Phase.FAST_DROP  # of the rule: does not know HELD
        self._reason = Reason.NONE
        self._before = self._previous = inf  # the last two losses
        self._pivot = 0  # I_p
        self._minimum = inf  # of the watched losses
        self._rises = 0  # in a row, up to the last loss
        self._minima: tuple[float, float] | None = None  # the first and the latest local minimum
        self._best = inf
        self._decision = Decision(False, Phase.FAST_DROP, Reason.NONE, 0, 0)

    @property
    def decision(self) -> Decision:
        """The latest."""
        return self._decision

    def update(self, value: float, accuracy: float | None = None) -> Decision:
        """Take what was measured after one more iteration. Nothing changes once the job has been stopped.

        Args:
            value: loss (or accuracy, unless minimising).
            accuracy: for `required`; None if it was not measured, or if the values are accuracies themselves.
        """
        if self._decision.stop:
            return self._decision
        iteration = self._decision.iteration + 1
        loss = (value if self.minimise else -value) if isfinite(value) else inf
        if accuracy is None:
            accuracy = nan if self.minimise else value
        self._reached = self._reached or (self.required is not None and accuracy >= self.required)
        best_iteration = self._decision.best_iteration
        if loss < self._best:
            self._best, best_iteration = loss, iteration
        if not self._reason:
            self._reason = self._follow_rule(iteration, loss)
        self._decision = self._decide(iteration, best_iteration)
        return self._decision

    def _decide(self, iteration: int, best_iteration: int) -> Decision:
        if self._reason and self._reached:
            return Decision(True, Phase.STOPPED, self._reason, iteration, best_iteration)
        if iteration >= self.max_iterations:
            return Decision(True, Phase.STOPPED, Reason.LAST_ITERATION, iteration, best_iteration)
        if self._reason:
            return Decision(False, Phase.HELD, self._reason, iteration, best_iteration)
        return Decision(False, self._phase, Reason.NONE, iteration, best_iteration)

    def _follow_rule(self, iteration: int, loss: float) -> Reason:
        """The literal rule: why it stops here, if it does."""
        before, previous = self._before, self._previous
        self._before, self._previous = previous, loss
        if iteration == 1:
            return Reason.NONE
        rose = loss > previous or loss == inf
        self._rises = self._rises + 1 if rose else 0
        if rose and previous < before and iteration > 2:  # the previous loss was a local minimum
            self._minima = (self._minima[0] if self._minima else previous, previous)
        if rose and self._phase is Phase.FAST_DROP:
            self._phase = Phase.WATCHING
            self._pivot = iteration - 1
            self._minimum = previous
        if self._phase is Phase.FAST_DROP:
            return Reason.NONE
        if rose and self.params.detect_overfitting:
            if self._rises > self.params.rises_in_a_row:
                return Reason.RISING_LOSS
            if self._minima and self._minima[1] > self._minima[0]:
                return Reason.RISING_MINIMA
        watched = int((self.max_iterations - self._pivot) * self.params.watch_fraction)
        if iteration - self._pivot <= watched:
            self._minimum = min(self._minimum, loss)
            return Reason.NONE
        self._phase = Phase.CHOOSING
        return Reason.BELOW_MINIMUM if loss < self._minimum else Reason.NONE


def optimal_stop(
    values: Iterable[float],
    max_iterations: int,
    *,
    accuracies: Iterable[float] | None = None,
    required: float | None = None,
    minimise: bool = True,
    params: OptimalStoppingParams = DEFAULT_PARAMS,
) -> Decision:
    """The optimal-stopping form over a whole sequence.

    Args:
        values: after iteration 1, 2, ...
        max_iterations: I_max.
        accuracies: as long as the values, for `required`.
        required: as in `OptimalStopping`.
        minimise: as in `OptimalStopping`.
        params: constants.

    Returns:
        The decision that stopped the job, or the last one.

    Raises:
        SettingsError: if an argument makes no sense.
    """
    rule = OptimalStopping(max_iterations, required=required, minimise=minimise, params=params)
    values = list(values)
    measured = [None] * len(values) if accuracies is None else list(accuracies)
    if len(measured) != len(values):
        raise SettingsError(f"accuracies: found {len(measured)} of them, expected {len(values)} as there are values")
    for value, accuracy in zip(values, measured, strict=True):
        if rule.update(value, accuracy).stop:
            break
    return rule.decision
