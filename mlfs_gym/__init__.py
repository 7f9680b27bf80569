"""Gymnasium environments, schedulers and agents for job scheduling in machine learning clusters.

Importing the package registers its environments and does nothing else::

    import gymnasium as gym
    import mlfs_gym

    env = gym.make("mlfs_gym/JobScheduling-v0")

One scheduler on one workload, without an environment::

    result = mlfs_gym.simulate("small", "mlf_h")

Many of them on many workloads::

    found = mlfs_gym.compare(["mlf_h", "fifo"], "comparisons/first", jobs=[155], seeds=3)
"""

import importlib
from typing import TYPE_CHECKING, Any

from mlfs_gym.registration import register_environments

if TYPE_CHECKING:
    from mlfs_gym.report.compare.compare import compare
    from mlfs_gym.report.simulate import simulate

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "simulate"]

register_environments()


# The simulator brings a compiler with it: only for those who use it.
_HOMES = {"compare": "mlfs_gym.report.compare.compare", "simulate": "mlfs_gym.report.simulate"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
