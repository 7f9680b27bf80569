"""The policy network: one scorer shared by all choices, and a critic of its own."""

from mlfs_gym.agents.policy.policy import SchedulingPolicy

__all__ = ["SchedulingPolicy"]
