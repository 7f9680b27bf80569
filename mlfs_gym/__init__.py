"""Gymnasium environments, schedulers and agents for job scheduling in machine learning clusters.

Importing the package registers its environments and does nothing else::

    import gymnasium as gym
    import mlfs_gym

    env = gym.make("mlfs_gym/JobScheduling-v0")
"""

from mlfs_gym.registration import register_environments

__version__ = "0.1.0"
__all__ = ["__version__"]

register_environments()
