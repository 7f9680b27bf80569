"""Parametric learning curves, those of Domhan et al. (IJCAI 2015, table 1), as offset + scale * shape(x).

Most of their eleven curves have an offset and a scale already; what is left are six shapes:

| shape | parameters | their curves |
|---|---|---|
| x^-a | a | pow3: c - a x^-alpha |
| (1 + x / b)^-a | b, a | pow4: c - (a x + b)^-alpha |
| exp(-(x / t)^d) | t, d | exp4, Janoschek, Weibull: one curve with three sets of names |
| 1 / (1 + (x / t)^d) | t, d | MMF; log power and Hill3 are its cases that start at zero |
| 1 / log(1 + x) | - | ilog2: c - a / log x |
| log(log x + b) | b | log log linear: log(a log x + b), here with a free scale |

The eleventh, vapor pressure exp(a + b / x + c log x), has no offset and grows without bound: left out.

With a free offset and scale (least squares in closed form) they fit losses and accuracies alike. Parameters are kept as
logarithms: all of them are positive and range over decades.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Shape = Callable[[Any, Floats], Floats]
Bounds = tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class Family:
    """A shape and what its parameters may be.

    Args:
        name: of the curve.
        shape: of log-parameters and iterations; parameters broadcast against the iterations.
        gradient: derivatives of the shape with respect to the log-parameters, first axis the parameter.
        bounds: of a horizon: lowest and highest value of each parameter and number of grid points between them.
    """

    name: str
    shape: Shape
    gradient: Shape
    bounds: Callable[[int], Bounds]

    def log_bounds(self, horizon: int) -> tuple[Floats, Floats]:
        """Lowest and highest log-parameters, shape (parameters,) each."""
        bounds = np.array([(low, high) for low, high, _ in self.bounds(horizon)], float).reshape(-1, 2)
        return np.log(bounds[:, 0]), np.log(bounds[:, 1])

    def grid(self, horizon: int) -> Floats:
        """Log-parameters, shape (points, parameters): every combination, equally spaced."""
        axes = [np.linspace(np.log(low), np.log(high), points) for low, high, points in self.bounds(horizon)]
        if not axes:
            return np.zeros((1, 0))
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _pow3(log_parameters: Any, x: Floats) -> Floats:
    return np.exp(-np.exp(log_parameters[0]) * np.log(x))


def _pow3_gradient(log_parameters: Any, x: Floats) -> Floats:
    exponent = np.exp(log_parameters[0])
    return -(np.exp(-exponent * np.log(x)) * exponent * np.log(x))[np.newaxis]


def _pow4(log_parameters: Any, x: Floats) -> Floats:
    return np.exp(-np.exp(log_parameters[1]) * np.log1p(x / np.exp(log_parameters[0])))


def _pow4_gradient(log_parameters: Any, x: Floats) -> Floats:
    ratio, exponent = x / np.exp(log_parameters[0]), np.exp(log_parameters[1])
    shape = np.exp(-exponent * np.log1p(ratio))
    return np.stack([shape * exponent * ratio / (1.0 + ratio), -shape * exponent * np.log1p(ratio)])


def _exp4(log_parameters: Any, x: Floats) -> Floats:
    return np.exp(-np.exp(np.exp(log_parameters[1]) * (np.log(x) - log_parameters[0])))


def _exp4_gradient(log_parameters: Any, x: Floats) -> Floats:
    steepness = np.exp(log_parameters[1])
    log_ratio = np.log(x) - log_parameters[0]
    power = np.exp(steepness * log_ratio)
    slope = np.exp(-power) * power * steepness
    return np.stack([slope, -slope * log_ratio])


def _mmf(log_parameters: Any, x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(np.exp(log_parameters[1]) * (np.log(x) - log_parameters[0])))


def _mmf_gradient(log_parameters: Any, x: Floats) -> Floats:
    shape = _mmf(log_parameters, x)
    slope = shape * (1.0 - shape) * np.exp(log_parameters[1])
    return np.stack([slope, -slope * (np.log(x) - log_parameters[0])])


def _ilog2(_: Any, x: Floats) -> Floats:
    return 1.0 / np.log1p(x)


def _ilog2_gradient(_: Any, x: Floats) -> Floats:
    return np.zeros((0, *np.shape(x)))


def _log_log_linear(log_parameters: Any, x: Floats) -> Floats:
    return np.log(np.log(x) + np.exp(log_parameters[0]))


def _log_log_linear_gradient(log_parameters: Any, x: Floats) -> Floats:
    offset = np.exp(log_parameters[0])
    return (offset / (np.log(x) + offset))[np.newaxis]


FAMILIES: Final = (
    Family("pow3", _pow3, _pow3_gradient, lambda _: ((0.1, 4.0, 16),)),
    Family("pow4", _pow4, _pow4_gradient, lambda horizon: ((1.0, 2.0 * horizon, 8), (0.3, 8.0, 10))),
    Family("exp4", _exp4, _exp4_gradient, lambda horizon: ((1.0, 3.0 * horizon, 16), (0.3, 5.0, 12))),
    Family("mmf", _mmf, _mmf_gradient, lambda horizon: ((1.0, 3.0 * horizon, 16), (0.3, 5.0, 12))),
    Family("ilog2", _ilog2, _ilog2_gradient, lambda _: ()),
    Family("log_log_linear", _log_log_linear, _log_log_linear_gradient, lambda _: ((0.1, 10.0, 6),)),
)
