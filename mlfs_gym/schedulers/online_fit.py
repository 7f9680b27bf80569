"""Learning curves fitted online to what a job has shown so far.

The curve is f(k) = 1 / (a k^2 + b k + c) + d with a, b >= 0 and c > 0: the sublinear convergence of first-order
methods. With a it is the form of SLAQ (Zhang et al., SoCC 2017, section 4), without it that of Optimus (Peng et al.,
EuroSys 2018, section 3.1). For a given floor d, 1 / (value - d) is a polynomial in k, and a weighted linear
least-squares problem; d is searched on a grid between 0 and the lowest value seen. Later values weigh more.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.cluster.jit import kernel

SAMPLES: Final = 16  # values kept for each job
LEAST_SAMPLES: Final = 4  # with fewer no curve is fitted
SPACING: Final = 0.05  # a value is kept when so much of the iterations has passed since the last one kept
FADING: Final = 0.9  # weight of a value relative to the next later one
FLOORS: Final = 10  # candidates for d

CURVE: Final = np.dtype(
    [
        ("count", np.int64),  # values kept
        ("fitted", np.int32),  # 1: a, b, c, d hold a curve
        ("a", np.float64),
        ("b", np.float64),
        ("c", np.float64),
        ("d", np.float64),
        ("steepest", np.float64),  # largest fall per iteration seen between two kept values
    ],
    align=True,
)


class Curves(NamedTuple):
    """What is known of the learning curve of every job.

    Attributes:
        rows: shape (J,), dtype `CURVE`.
        iterations: shape (J, SAMPLES), of the kept values, ascending.
        values: shape (J, SAMPLES), the kept values; they should fall.
    """

    rows: Array
    iterations: Array
    values: Array


def new_curves(jobs: int) -> Curves:
    """Nothing known of so many jobs."""
    return Curves(np.zeros(jobs, CURVE), np.zeros((jobs, SAMPLES)), np.zeros((jobs, SAMPLES)))


@kernel(allocates=True)
def learn_from_losses(state: State, active: Array, curves: Curves, quadratic: bool) -> None:
    """Take note of the losses that jobs have reported, and fit the curves of those with news.

    Args:
        state: the cluster, observed.
        active: shape (n,), jobs.
        curves: updated in place.
        quadratic: True for the form of SLAQ, False for that of Optimus.
    """
    for job in active:
        row = state.jobs[job]
        if curves.rows[job].count == 0:
            keep(curves, job, 0.0, row.first_loss)
        if row.progress >= 1.0 and keep(curves, job, np.floor(row.progress), row.loss):
            fit(curves, job, quadratic)


@kernel(allocates=True)
def learn_from_accuracies(state: State, active: Array, curves: Curves, quadratic: bool) -> None:
    """The same for 1 - accuracy."""
    for job in active:
        row = state.jobs[job]
        if curves.rows[job].count == 0:
            keep(curves, job, 0.0, 1.0)
        if row.progress >= 1.0 and keep(curves, job, row.progress, 1.0 - row.accuracy):
            fit(curves, job, quadratic)


@kernel(allocates=True)
def keep(curves: Curves, job: int, iteration: float, value: float) -> bool:
    """Keep a value if it is far enough from the last one. When there is no place, every second value goes.

    Returns:
        True if it was kept.
    """
    row = curves.rows[job]
    iterations = curves.iterations[job]
    values = curves.values[job]
    if row.count > 0:
        passed = iteration - iterations[row.count - 1]
        if passed < max(1.0, SPACING * iteration):
            return False
        row.steepest = max(row.steepest, (values[row.count - 1] - value) / passed)
    if row.count == SAMPLES:
        for index in range(SAMPLES // 2):
            iterations[index] = iterations[2 * index]
            values[index] = values[2 * index]
        row.count = SAMPLES // 2
    iterations[row.count] = iteration
    values[row.count] = value
    row.count += 1
    return True


@kernel(allocates=True)
def fit(curves: Curves, job: int, quadratic: bool) -> None:
    """Fit the curve of one job to its kept values, if there are enough of them."""
    row = curves.rows[job]
    count = row.count
    if count < LEAST_SAMPLES:
        return
    iterations = curves.iterations[job][:count]
    values = curves.values[job][:count]
    lowest = np.inf
    for index in range(count):
        lowest = min(lowest, values[index])
    if lowest <= 0.0:
        return
    best = np.inf
    for candidate in range(FLOORS):
        floor = lowest * candidate / FLOORS
        a, b, c = _polynomial(iterations, values, floor, quadratic)
        error = 0.0
        for index in range(count):
            k = iterations[index]
            miss = 1.0 / (a * k * k + b * k + c) + floor - values[index]
            error += FADING ** (count - 1 - index) * miss * miss
        if error < best:
            best = error
            row.a = a
            row.b = b
            row.c = c
            row.d = floor
            row.fitted = 1


@kernel(allocates=True)
def _polynomial(iterations: Array, values: Array, floor: float, quadratic: bool) -> tuple[float, float, float]:
    """Non-negative weighted least squares of a k^2 + b k + c to 1 / (value - floor).

    An error e of that is an error of e (value - floor)^2 of the value: hence the fourth power in the weights.
    """
    scale = iterations[-1]
    moments = np.zeros(5)  # weighted sums of x^0 ... x^4, x = k / scale
    targets = np.zeros(3)  # weighted sums of y x^0 ... y x^2
    weight = 1.0
    for index in range(iterations.shape[0] - 1, -1, -1):
        x = iterations[index] / scale
        gap = values[index] - floor
        w = weight * gap**4
        power = 1.0
        for exponent in range(5):
            moments[exponent] += w * power
            if exponent < 3:
                targets[exponent] += w * power / gap
            power *= x
        weight *= FADING
    if quadratic:
        a, b, c = _three_terms(moments, targets)
        if a >= 0.0 and b >= 0.0 and c > 0.0:
            return a / scale**2, b / scale, c
        a, c = _two_terms(moments[0], moments[2], moments[4], targets[0], targets[2])
        if a > 0.0 and c > 0.0 and b < 0.0:
            return a / scale**2, 0.0, c
    b, c = _two_terms(moments[0], moments[1], moments[2], targets[0], targets[1])
    if b >= 0.0 and c > 0.0:
        return 0.0, b / scale, c
    return 0.0, 0.0, targets[0] / moments[0]


@kernel(allocates=True)
def _two_terms(one: float, cross: float, square: float, y: float, xy: float) -> tuple[float, float]:
    """Slope and constant of a weighted linear regression from its sums; slope -1 if it has no solution."""
    determinant = one * square - cross * cross
    if determinant <= 0.0:
        return -1.0, y / one
    return (one * xy - cross * y) / determinant, (square * y - cross * xy) / determinant


@kernel(allocates=True)
def _three_terms(m: Array, t: Array) -> tuple[float, float, float]:
    """Coefficients of x^2, x and 1 of a weighted quadratic regression, by Cramer's rule; all -1 without solution."""
    determinant = _determinant(m[4], m[3], m[2], m[3], m[2], m[1], m[2], m[1], m[0])
    if determinant <= 0.0:
        return -1.0, -1.0, -1.0
    a = _determinant(t[2], m[3], m[2], t[1], m[2], m[1], t[0], m[1], m[0])
    b = _determinant(m[4], t[2], m[2], m[3], t[1], m[1], m[2], t[0], m[0])
    c = _determinant(m[4], m[3], t[2], m[3], m[2], t[1], m[2], m[1], t[0])
    return a / determinant, b / determinant, c / determinant


@kernel(allocates=True)
def _determinant(a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float) -> float:
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


@kernel(allocates=True)
def predicted(curves: Curves, job: int, iteration: float) -> float:
    """Value of the fitted curve after so many iterations."""
    row = curves.rows[job]
    return float(1.0 / (row.a * iteration * iteration + row.b * iteration + row.c) + row.d)


@kernel(allocates=True)
def predicted_fall(curves: Curves, job: int, now: float, then: float) -> float:
    """How far the fitted curve falls between two numbers of iterations."""
    return predicted(curves, job, now) - predicted(curves, job, then)
