"""A window on the screen, for `render_mode="human"`."""

from __future__ import annotations

from typing import Any

from mlfs_gym.cluster.arrays import Array

TITLE = "mlfs-gym"


class Window:
    """Shows frames with pygame. Opens with the first frame; when the user has closed it, frames go nowhere.

    Args:
        width: of the frames, in pixels.
        height: of the frames.
        fps: frames per second; `show` waits as long as that takes.

    Raises:
        ImportError: if pygame is not installed.
    """

    def __init__(self, width: int, height: int, fps: float) -> None:
        self._pygame = _import_pygame()
        self._size = (width, height)
        self._fps = fps
        self._screen: Any = None
        self._clock: Any = None
        self.closed = False

    def show(self, frame: Array) -> None:
        """Show a frame of shape (height, width, 3), uint8."""
        if self.closed:
            return
        pygame = self._pygame
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(TITLE)
            self._screen = pygame.display.set_mode(self._size)
            self._clock = pygame.time.Clock()
        self._screen.blit(pygame.image.frombuffer(frame.tobytes(), self._size, "RGB"), (0, 0))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            return
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window. It stays closed."""
        self.closed = True
        if self._screen is not None:
            self._screen = None
            self._pygame.display.quit()


def _import_pygame() -> Any:
    try:
        import pygame
    except ImportError as error:
        raise ImportError("render_mode='human' needs pygame: pip install 'mlfs-gym[human]'") from error
    return pygame
