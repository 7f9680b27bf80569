"""Rectangles and text on a NumPy image. Pillow draws a text once; after that it is a cached patch of pixels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from mlfs_gym.envs.rendering.colours import BACKGROUND, Colour

Anchor = Literal["left", "middle", "right"]

SMALL: Final = 11
NORMAL: Final = 13
LARGE: Final = 19


class Canvas:
    """An image to draw on.

    Args:
        pixels: shape (H, W, 3), uint8, drawn on in place.
    """

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self.pixels = pixels

    def fill(self, x: int, y: int, width: int, height: int, colour: Colour) -> None:
        """A filled rectangle."""
        if width > 0 and height > 0:
            self.pixels[y : y + height, x : x + width] = colour

    def bar(self, x: int, y: int, width: int, height: int, share: float, colour: Colour, rest: Colour) -> None:
        """A horizontal bar, filled from the left."""
        filled = round(width * min(1.0, max(0.0, share)))
        self.fill(x, y, filled, height, colour)
        self.fill(x + filled, y, width - filled, height, rest)

    def text(
        self,
        x: int,
        y: int,
        text: str,
        colour: Colour,
        size: int = SMALL,
        anchor: Anchor = "left",
        on: Colour = BACKGROUND,
    ) -> int:
        """A line of text with its digits centred on `y`, over the plain colour `on`. Returns its width."""
        patch, above = _patch(text, size, colour, on)
        height, width, _ = patch.shape
        left = x - (0 if anchor == "left" else width // 2 if anchor == "middle" else width)
        region = self.pixels[y - above : y - above + height, left : left + width]
        region[:] = patch[:, : region.shape[1]]  # cut off at the right edge
        return width


@lru_cache(maxsize=16_384)
def _patch(text: str, size: int, colour: Colour, on: Colour) -> tuple[NDArray[np.uint8], int]:
    """A text as pixels, shape (h, w, 3), and how many of its rows lie above the middle of digits."""
    font = _font(size)
    words = text.split(" ")
    # The font's own space is hardly seen at small sizes.
    space = round(size / 3)
    widths = [int(np.ceil(font.getlength(word))) for word in words]
    image = Image.new("L", (max(1, sum(widths) + space * (len(words) - 1)), sum(font.getmetrics())))
    x = 0
    for word, width in zip(words, widths, strict=True):
        ImageDraw.Draw(image).text((x, 0), word, fill=255, font=font)
        x += width + space
    mask = np.asarray(image, np.float32)[:, :, None] / 255.0
    _, digit_top, _, digit_bottom = font.getbbox("0")
    inked = np.flatnonzero(mask.any(axis=(1, 2)))
    top, bottom = (int(inked[0]), int(inked[-1]) + 1) if len(inked) else (0, 1)
    mask = mask[top:bottom]
    patch = np.rint(np.array(on) * (1.0 - mask) + np.array(colour) * mask).astype(np.uint8)
    patch.setflags(write=False)  # shared by all who draw this text
    return patch, int(digit_top + digit_bottom) // 2 - top


@lru_cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)
