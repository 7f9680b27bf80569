"""Least-squares fits of parametric learning curves.

A curve is offset + scale * shape(x). Given the shape, offset and scale follow in closed form, so only the one or two
parameters of the shape are searched (variable projection: Golub and Pereyra, SIAM J. Numer. Anal. 1973): first on a
grid whose shapes are computed once per horizon, then, where an exact fit is wanted, by bounded least squares
(`scipy.optimize.least_squares`) from the best grid point with the Jacobian in closed form (Kaufman, BIT 1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from mlfs_gym.schedulers.opt_stop.families import FAMILIES, Family, Floats

SMALLEST_SPREAD: Final = 1e-14  # of a shape over the observations: below it the shape is a constant
CACHED_ITERATIONS: Final = 1024
MOST_OBSERVATIONS: Final = 400
LARGEST_VALUE: Final = 1e100
SMALLEST_UNIT: Final = 1e-100  # squares of both stay in range
EVALUATIONS: Final = 20


@dataclass(frozen=True)
class Observations:
    """What was seen, without gaps, scaled to about [0, 1].

    Args:
        x: iterations, shape (n,), from 1.
        y: scaled values, shape (n,).
        weights: shape (n,), with mean 1.
        base: what 0 stands for.
        unit: what 1 stands for, more than 0.
    """

    x: Floats
    y: Floats
    weights: Floats
    base: float
    unit: float


@dataclass(frozen=True)
class Lines:
    """Weighted regressions of y on each of K shapes: y = offset + scale * shape.

    Args:
        offset: shape (K,).
        scale: shape (K,).
        squares: weighted sums of the squared residuals, shape (K,).
        centre: weighted mean of each shape, shape (K,).
        spread: weighted sum of squared differences to it, shape (K,).
    """

    offset: Floats
    scale: Floats
    squares: Floats
    centre: Floats
    spread: Floats


@dataclass(frozen=True)
class Grid:
    """All shapes on a grid of their parameters.

    Args:
        family: index into FAMILIES, shape (K,).
        points: log-parameters by family, each of shape (points, parameters).
        parameters: number of parameters with offset and scale, shape (K,).
        log_prior: logarithm of one over the number of grid points of the family, shape (K,).
    """

    family: npt.NDArray[np.int64]
    points: tuple[Floats, ...]
    parameters: Floats
    log_prior: Floats


@dataclass(frozen=True)
class Fit:
    """A curve fitted to observations.

    Args:
        family: which curve.
        log_parameters: of its shape.
        offset: of the curve, in the unit of the observations.
        scale: of the shape.
        deviation: root of the weighted mean squared residual.
    """

    family: Family
    log_parameters: Floats
    offset: float
    scale: float
    deviation: float

    def __call__(self, iterations: Any) -> Floats:
        """Values of the curve at iterations (1 or more), of the same shape."""
        x = np.asarray(iterations, float)
        with np.errstate(all="ignore"):
            return self.offset + self.scale * self.family.shape(self.log_parameters, x)


def observations(values: Sequence[float] | Floats, recency_decades: float = 0.0) -> Observations:
    """Drop what is not finite, thin out very long sequences, scale, weigh.

    Args:
        values: after iteration 1, 2, ...; nan where nothing was measured.
        recency_decades: the last value weighs 10 to this power times the first.
    """
    raw = np.asarray(values, float).ravel()
    where = np.flatnonzero(np.isfinite(raw))
    if len(where) > MOST_OBSERVATIONS:
        where = where[np.linspace(0, len(where) - 1, MOST_OBSERVATIONS).round().astype(np.int64)]
    y: Floats = np.clip(raw[where], -LARGEST_VALUE, LARGEST_VALUE)
    if not len(y):
        return Observations(np.zeros(0), np.zeros(0), np.zeros(0), 0.0, 1.0)
    weights: Floats = 10.0 ** (recency_decades * np.arange(len(y)) / len(y))
    base, unit = float(y[-1]), float(np.ptp(y))
    if unit <= max(1e-12 * float(np.abs(y).max()), SMALLEST_UNIT):  # constant: differences are rounding
        y, unit = np.full_like(y, base), 1.0
    x = where.astype(np.float64) + 1.0
    return Observations(x, (y - base) / unit, weights * (len(y) / float(weights.sum())), base, unit)


def size_of(horizon: int) -> int:
    """The grid's horizon: the next power of two, so that few grids serve all jobs."""
    return max(64, 1 << (int(horizon) - 1).bit_length())


@lru_cache(maxsize=64)
def shape_grid(size: int) -> Grid:
    """The grid for a horizon from `size_of`."""
    points = tuple(family.grid(size) for family in FAMILIES)
    counts = [len(point) for point in points]
    nonlinear = [point.shape[1] for point in points]
    return Grid(
        np.repeat(np.arange(len(FAMILIES)), counts),
        points,
        np.repeat(nonlinear, counts) + 2.0,
        np.repeat(-np.log(counts), counts),
    )


def grid_shapes(size: int, x: Floats) -> Floats:
    """Every shape of the grid at iterations x, shape (K, len(x))."""
    if len(x) and x[-1] <= CACHED_ITERATIONS:
        return _cached_shapes(size)[:, x.astype(np.int64) - 1]
    return _computed_shapes(size, x)


@lru_cache(maxsize=8)
def _cached_shapes(size: int) -> Floats:
    return _computed_shapes(size, np.arange(1.0, min(size, CACHED_ITERATIONS) + 1.0))


def _computed_shapes(size: int, x: Floats) -> Floats:
    rows = []
    with np.errstate(all="ignore"):
        for family, points in zip(FAMILIES, shape_grid(size).points, strict=True):
            rows.append(np.broadcast_to(family.shape(points.T[:, :, np.newaxis], x), (len(points), len(x))))
    return np.concatenate(rows)


def regress(shapes: Floats, seen: Observations) -> Lines:
    """Offset and scale of each shape by weighted least squares.

    Args:
        shapes: shape (K, n).
        seen: n observations.
    """
    total = float(seen.weights.sum())
    centre = shapes @ seen.weights / total
    mean = float(seen.y @ seen.weights) / total
    weighted = seen.weights * (seen.y - mean)
    centred = shapes - centre[:, np.newaxis]
    spread = (centred * centred) @ seen.weights
    product = centred @ weighted
    with np.errstate(all="ignore"):
        scale = np.where(spread > SMALLEST_SPREAD, product / spread, 0.0)
    squares = np.maximum(float(weighted @ (seen.y - mean)) - scale * product, 0.0)
    return Lines(mean - scale * centre, scale, squares, centre, spread)


def refine(family: Family, start: Floats, size: int, seen: Observations) -> Floats:
    """Log-parameters of the least-squares fit within the family's bounds, from a start on the grid.

    Args:
        family: which curve.
        start: log-parameters, shape (parameters,).
        size: horizon that sets the bounds.
        seen: observations, at least two.
    """
    low, high = family.log_bounds(size)
    if not len(start):
        return start
    roots = np.sqrt(seen.weights)
    total = float(seen.weights.sum())

    def projected(log_parameters: Floats) -> tuple[Floats, Floats, float]:
        """Centred shape, its weighted square, the best scale."""
        shape = family.shape(log_parameters, seen.x)
        shape = shape - float(shape @ seen.weights) / total
        square = float((shape * shape) @ seen.weights) or 1.0
        return shape, shape * seen.weights / square, float(shape @ (seen.weights * seen.y)) / square

    def residuals(log_parameters: Floats) -> Floats:
        shape, _, scale = projected(log_parameters)
        return roots * (scale * shape - centred)

    def jacobian(log_parameters: Floats) -> Floats:
        shape, dual, scale = projected(log_parameters)
        slopes = family.gradient(log_parameters, seen.x)
        slopes = slopes - (slopes @ seen.weights / total)[:, np.newaxis]
        return (roots * scale * (slopes - np.outer(slopes @ dual, shape))).T

    centred = seen.y - float(seen.y @ seen.weights) / total
    found = least_squares(residuals, np.clip(start, low, high), jacobian, (low, high), max_nfev=EVALUATIONS)
    return np.asarray(found.x)


def refined_points(size: int, seen: Observations, lines: Lines) -> list[tuple[int, Floats]]:
    """Family and log-parameters of each family's least-squares fit, from the best point of the grid.

    Args:
        size: horizon of the grid.
        seen: observations.
        lines: regressions on all shapes of the grid.
    """
    grid = shape_grid(size)
    fitted = []
    for index, family in enumerate(FAMILIES):
        mine = np.flatnonzero((grid.family == index) & (lines.spread > SMALLEST_SPREAD))
        if len(mine) and len(seen.y) > 2:
            best = int(mine[np.argmin(lines.squares[mine])])
            first = int(np.argmax(grid.family == index))
            fitted.append((index, refine(family, grid.points[index][best - first], size, seen)))
    return fitted


@np.errstate(all="ignore")
def fit_curves(values: Sequence[float] | Floats, horizon: int = 0, recency_decades: float = 0.0) -> list[Fit]:
    """Least-squares fits of all families, the closest first.

    Args:
        values: after iteration 1, 2, ...; losses or accuracies, rising or falling; nan where nothing was measured.
        horizon: iteration up to which the curves will be used; sets the bounds of their parameters.
        recency_decades: the last value weighs 10 to this power times the first.

    Returns:
        One fit per family. None when there are fewer than three finite values.
    """
    seen = observations(values, recency_decades)
    if len(seen.y) < 3:
        return []
    size = size_of(max(horizon, int(seen.x[-1])))
    fits = []
    for index, log_parameters in refined_points(size, seen, regress(grid_shapes(size, seen.x), seen)):
        family = FAMILIES[index]
        line = regress(family.shape(log_parameters, seen.x)[np.newaxis], seen)
        offset = float(seen.base + seen.unit * line.offset[0])
        deviation = float(seen.unit * np.sqrt(line.squares[0] / len(seen.y)))
        fits.append(Fit(family, log_parameters, offset, float(seen.unit * line.scale[0]), deviation))
    return sorted(fits, key=lambda fit: fit.deviation)
