"""Who decides: the scheduler interface, MLF-H and the schedulers it is compared with."""

from mlfs_gym.schedulers.base import Scheduler
from mlfs_gym.schedulers.registry import make_scheduler, scheduler_names

__all__ = ["Scheduler", "make_scheduler", "scheduler_names"]
