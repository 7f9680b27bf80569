"""Learning curves for the tests: recorded ones and synthetic ones."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DATA = Path(__file__).parent / "data"
RUNS = ("conv", "conv_overfitting", "logistic", "mlp", "mlp_few_images", "mlp_overfitting", "mlp_slow", "svm")
MEASURES = ("training_loss", "training_accuracy", "validation_loss", "validation_accuracy")

Floats = npt.NDArray[np.float64]


class Curve(NamedTuple):
    name: str
    values: Floats
    minimise: bool


def recorded(run: str) -> dict[str, Floats]:
    """Columns of a recorded run."""
    with (DATA / f"{run}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("epoch", *MEASURES)}


def recorded_curves() -> list[Curve]:
    return [Curve(f"{run} {m}", recorded(run)[m], m.endswith("loss")) for run in RUNS for m in MEASURES]


def synthetic_curves(rng: np.random.Generator, count: int) -> list[Curve]:
    """Accuracies from four kinds of curve with normal noise."""
    curves = []
    for index in range(count):
        x = np.arange(1.0, rng.integers(50, 120) + 1.0)
        kind = ("pow3", "pow4", "exp4", "mmf")[index % 4]
        if kind == "pow3":
            lost = x ** -rng.uniform(0.3, 1.5)
        elif kind == "pow4":
            lost = (1 + x / rng.uniform(2, 20)) ** -rng.uniform(0.5, 2)
        elif kind == "exp4":
            lost = np.exp(-((x / rng.uniform(5, 40)) ** rng.uniform(0.6, 1.5)))
        else:
            lost = 1 / (1 + (x / rng.uniform(5, 40)) ** rng.uniform(0.8, 2.5))
        noise = rng.choice([0.002, 0.01, 0.03]) * rng.standard_normal(len(x))
        curves.append(Curve(kind, np.clip(rng.uniform(0.6, 0.98) * (1 - lost) + noise, 0, 1), False))
    return curves
