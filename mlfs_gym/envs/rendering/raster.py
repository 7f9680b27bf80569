"""A frame: an image of the cluster now and over time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mlfs_gym.cluster.arrays import State
from mlfs_gym.envs.rendering import panels
from mlfs_gym.envs.rendering.canvas import Canvas
from mlfs_gym.envs.rendering.colours import BACKGROUND
from mlfs_gym.envs.rendering.gantt import GanttView
from mlfs_gym.envs.rendering.grid import Grid
from mlfs_gym.envs.rendering.history import History
from mlfs_gym.envs.rendering.summary import Summary

FRAME_WIDTH: Final = 1280  # multiples of 16, as video encoders ask for
FRAME_HEIGHT: Final = 720


class RasterRenderer:
    """Draws frames of one fixed size with NumPy; Pillow only supplies the letters.

    Args:
        grid: the rows of the cluster; the same that the history uses.
    """

    def __init__(self, grid: Grid) -> None:
        self._gantt = GanttView(grid)
        self._fixed = np.empty((FRAME_HEIGHT, FRAME_WIDTH, 3), np.uint8)
        self._fixed[:] = BACKGROUND
        canvas = Canvas(self._fixed)
        panels.draw_fixed(canvas, len(grid.block_of_server), len(grid.row_of_gpu))
        self._gantt.draw_fixed(canvas)

    def frame(self, state: State, history: History) -> NDArray[np.uint8]:
        """A new image of shape (FRAME_HEIGHT, FRAME_WIDTH, 3), a function of the arguments alone."""
        canvas = Canvas(self._fixed.copy())
        summary = Summary.of(state)
        self._gantt.draw(canvas, state, history, summary)
        panels.draw_header(canvas, state, summary)
        panels.draw_metrics(canvas, state, summary)
        panels.draw_queue(canvas, state, summary)
        panels.draw_running(canvas, state, summary)
        return canvas.pixels
