"""OptStop (CoNEXT 2020, section 3.5; ToN 2022): end a training job early. Two forms, as published.

**Learning curve** (`LearningCurveStopping`, `predict`). The paper: predict the accuracy at I_max with a weighted
ensemble of parametric learning curves (Domhan, Springenberg and Hutter, IJCAI 2015); stop when the threshold will not
be reached, or when it has been. Published are the curves and that recent values weigh more; MLFS gives no constants.
Every constant of `LearningCurveParams` is ours, and so are the grid in place of MCMC, the free offset and scale of
every curve, the allowance for no curve being right, and the curve that stays as it is.

**Optimal stopping** (`OptimalStopping`, `optimal_stop`; `new_stopping`, `observe` for many jobs in compiled code). The
rule of the authors' code: fast drop until the loss first rises; watch 37% of the remaining iterations; stop at the
first loss below their minimum; stop at once on overfitting. Literal are 0.37, the more than 5 rises in a row, and the
rising local minima. Ours are the handling of values that are not finite, and `required`, before which a job does not
stop.

Both take values as they come, from a simulated or a real training run, and answer with a `Decision` that says why.

    rule = OptimalStopping(max_iterations=100, required=0.9)
    for epoch in range(100):
        loss, accuracy = train_one_epoch()
        if rule.update(loss, accuracy).stop:
            break
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlfs_gym.schedulers.opt_stop.compiled import STOPPING, new_stopping, observe
    from mlfs_gym.schedulers.opt_stop.decision import Decision, Phase, Reason
    from mlfs_gym.schedulers.opt_stop.fit import Fit, fit_curves
    from mlfs_gym.schedulers.opt_stop.learning_curve import LearningCurveStopping, predict
    from mlfs_gym.schedulers.opt_stop.optimal_stopping import OptimalStopping, optimal_stop
    from mlfs_gym.schedulers.opt_stop.params import LearningCurveParams, OptimalStoppingParams
    from mlfs_gym.schedulers.opt_stop.prediction import Prediction

__all__ = [
    "STOPPING",
    "Decision",
    "Fit",
    "LearningCurveParams",
    "LearningCurveStopping",
    "OptimalStopping",
    "OptimalStoppingParams",
    "Phase",
    "Prediction",
    "Reason",
    "fit_curves",
    "new_stopping",
    "observe",
    "optimal_stop",
    "predict",
]

# SciPy and Numba take a while to load: not before one of these is used.
_HOMES = {
    "compiled": ("STOPPING", "new_stopping", "observe"),
    "decision": ("Decision", "Phase", "Reason"),
    "fit": ("Fit", "fit_curves"),
    "learning_curve": ("LearningCurveStopping", "predict"),
    "optimal_stopping": ("OptimalStopping", "optimal_stop"),
    "params": ("LearningCurveParams", "OptimalStoppingParams"),
    "prediction": ("Prediction",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
