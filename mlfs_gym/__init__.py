"""Gymnasium environments, schedulers and agents for job scheduling in machine learning clusters.

Importing the package registers its environments and does nothing else::

    import gymnasium as gym
    import mlfs_gym

    env = gym.make("mlfs_gym/JobScheduling-v0")

One scheduler on one workload, without an environment::

    result = mlfs_gym.simulate("small", "mlf_h")
"""

from typing import TYPE_CHECKING, Any

from mlfs_gym.registration import register_environments

if TYPE_CHECKING:
    from mlfs_gym.report.simulate import simulate

__version__ = "0.1.0"
__all__ = ["__version__", "simulate"]

register_environments()


def __getattr__(name: str) -> Any:
    # The simulator brings a compiler with it: only for those who use it.
    if name != "simulate":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mlfs_gym.report.simulate import simulate

    return simulate


def __dir__() -> list[str]:
    return [*globals(), "simulate"]
