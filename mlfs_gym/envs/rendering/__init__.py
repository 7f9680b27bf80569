"""Text, images and a window of a cluster, drawn from the state arrays alone."""

from mlfs_gym.envs.rendering.ansi import render_ansi
from mlfs_gym.envs.rendering.episode import EpisodeRenderer
from mlfs_gym.envs.rendering.grid import Grid
from mlfs_gym.envs.rendering.history import History
from mlfs_gym.envs.rendering.modes import available_modes, check_mode

__all__ = ["EpisodeRenderer", "Grid", "History", "available_modes", "check_mode", "render_ansi"]
