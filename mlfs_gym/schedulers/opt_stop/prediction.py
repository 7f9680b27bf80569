"""The predictive distribution of a value at I_max: a mixture of normal distributions within bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from mlfs_gym.schedulers.opt_stop.families import Floats

FAR = 38.0  # standard deviations: no mass beyond in double precision
HALVINGS = 80


@dataclass(frozen=True)
class Prediction:
    """What the value at I_max may be. Mass beyond a bound sits on the bound.

    Args:
        weights: of the normal distributions, shape (k,), sum 1.
        means: shape (k,).
        deviations: shape (k,), more than 0.
        lower: least possible value; may be -inf.
        upper: largest possible value; may be inf.
        minimise: True for losses: a threshold is reached from above.
    """

    weights: Floats
    means: Floats
    deviations: Floats
    lower: float
    upper: float
    minimise: bool

    @property
    def mean(self) -> float:
        """Expected value."""
        return float(self.weights @ self._moments()[0])

    @property
    def std(self) -> float:
        """Standard deviation."""
        means, variances = self._moments()
        return float(np.sqrt(self.weights @ (variances + (means - self.weights @ means) ** 2)))

    def cdf(self, value: float) -> float:
        """Probability that the value at I_max is at most this."""
        if value >= self.upper:
            return 1.0
        return self._mass_below(value) if value >= self.lower else 0.0

    def probability(self, threshold: float) -> float:
        """Probability that the value at I_max reaches a threshold: at least it, or at most it when minimising."""
        if self.minimise:
            return self.cdf(threshold)
        if threshold <= self.lower:
            return 1.0
        return 1.0 - self._mass_below(threshold) if threshold <= self.upper else 0.0

    def quantile(self, probability: float) -> float:
        """Value below which the value at I_max lies with a probability in [0, 1]."""
        low = float(np.min(self.means - FAR * self.deviations))
        high = float(np.max(self.means + FAR * self.deviations))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if self._mass_below(middle) < probability:
                low = middle
            else:
                high = middle
        return float(min(max(0.5 * (low + high), self.lower), self.upper))

    def interval(self, probability: float) -> tuple[float, float]:
        """Central interval that holds the value at I_max with a probability."""
        return self.quantile(0.5 - 0.5 * probability), self.quantile(0.5 + 0.5 * probability)

    def _mass_below(self, value: float) -> float:
        """The same as the distribution function, without bounds."""
        with np.errstate(all="ignore"):
            mass = float(self.weights @ ndtr((value - self.means) / self.deviations))
        return min(max(mass, 0.0), 1.0)

    def _moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each normal distribution, clipped to the bounds."""
        with np.errstate(all="ignore"):
            low = np.clip((self.lower - self.means) / self.deviations, -FAR, FAR)
            high = np.clip((self.upper - self.means) / self.deviations, -FAR, FAR)
            density_low, density_high = _density(low), _density(high)
            below, inside, above = ndtr(low), ndtr(high) - ndtr(low), ndtr(-high)
            first = low * below + high * above + density_low - density_high
            second = low**2 * below + high**2 * above + inside + low * density_low - high * density_high
            variances = np.maximum(second - first**2, 0.0) * self.deviations**2
        return self.means + self.deviations * first, variances


def _density(z: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return density
