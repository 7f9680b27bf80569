"""What an environment needs for its render mode, behind one interface."""

from __future__ import annotations

from mlfs_gym.cluster.arrays import Array, State
from mlfs_gym.envs.rendering.ansi import render_ansi
from mlfs_gym.envs.rendering.grid import Grid
from mlfs_gym.envs.rendering.history import History


class EpisodeRenderer:
    """Renders one episode.

    Args:
        mode: "ansi", "rgb_array" or "human".
        state: of the episode; only the size of the cluster is taken from it.
        fps: frames per second of real time in a window.

    Raises:
        ImportError: if the mode is "human" and pygame is missing; the message names the extra to install.
    """

    def __init__(self, mode: str, state: State, fps: float) -> None:
        self.mode = mode
        if mode == "ansi":
            return
        # Pillow and pygame load only where there is something to draw.
        from mlfs_gym.envs.rendering.raster import FRAME_HEIGHT, FRAME_WIDTH, RasterRenderer
        from mlfs_gym.envs.rendering.window import Window

        grid = Grid.of(state)
        self._history = History(grid)
        self._raster = RasterRenderer(grid)
        self._window = Window(FRAME_WIDTH, FRAME_HEIGHT, fps) if mode == "human" else None

    def record(self, state: State) -> None:
        """Take note of the cluster for the pictures to come: after every step, in the middle of a round too."""
        if self.mode != "ansi":
            self._history.record(state)

    def render(self, state: State) -> str | Array | None:
        """A text, a frame of shape (H, W, 3), or None after the frame was shown in the window."""
        if self.mode == "ansi":
            return render_ansi(state)
        self._history.record(state)
        frame = self._raster.frame(state, self._history)
        if self._window is None:
            return frame
        self._window.show(frame)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self.mode == "human" and self._window is not None:
            self._window.close()
