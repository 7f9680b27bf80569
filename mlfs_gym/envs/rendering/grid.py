"""How servers and GPUs are stacked into rows of pixels, whatever the size of the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mlfs_gym.cluster.arrays import Array, State

HEIGHT: Final = 448  # pixels for all rows
SMALLEST_GPU_ROW: Final = 4
LARGEST_GPU_ROW: Final = 40
SMALLEST_SERVER_ROW: Final = 4
LARGEST_GAP: Final = 8
SMALLEST_STACK: Final = 5  # lower rows of many GPUs cannot show who uses them
LABEL_HEIGHT: Final = 13
MILLI: Final = 1000.0


@dataclass(frozen=True)
class Grid:
    """Rows and blocks. A row is filled with the colours of its jobs; a block is what is marked as overloaded.

    While there is room, a row is a GPU and a block its server. In larger clusters row and block are a server, in the
    largest a group of neighbouring servers; where such a row is too low to be filled, its brightness is its load.

    Attributes:
        per_gpu: True if a row is a GPU.
        by_load: True if a row has one colour, by its load.
        servers_per_block: 1 unless servers are grouped.
        row_of_gpu: shape (G,).
        block_of_server: shape (S,).
        capacity: shape (R,), milli-GPU of a row.
        lanes: pixels of a row, without the gap below it.
        first_pixel: shape (R,), top of each row.
        row_of_pixel: shape (H,), -1 in gaps.
        block_of_pixel: shape (H,), -1 in gaps between blocks.
        mark_pixel: shape (B,), the line above a block, which marks it as overloaded.
        labels: (middle, text) of the blocks that have room for a label.
    """

    per_gpu: bool
    by_load: bool
    servers_per_block: int
    row_of_gpu: Array
    block_of_server: Array
    capacity: Array
    lanes: int
    first_pixel: Array
    row_of_pixel: Array
    block_of_pixel: Array
    mark_pixel: Array
    labels: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, state: State) -> Grid:
        """The grid for a cluster."""
        servers, gpus = len(state.servers), len(state.gpus)
        server_of_gpu = state.gpus["server"].astype(np.int64)
        gap = _gap(servers)
        per_gpu = gpus * SMALLEST_GPU_ROW + servers * gap <= HEIGHT
        if per_gpu:
            cell = min(LARGEST_GPU_ROW, (HEIGHT - servers * gap) // gpus)
            size, row_of_gpu, block_of_row = 1, np.arange(gpus), server_of_gpu
        else:
            size = -(-servers // (HEIGHT // SMALLEST_SERVER_ROW))
            blocks = -(-servers // size)
            cell, gap = min(LARGEST_GPU_ROW, HEIGHT // blocks) - 1, 1
            row_of_gpu, block_of_row = server_of_gpu // size, np.arange(blocks)
        block_of_server = np.arange(servers) // size
        capacity = np.bincount(row_of_gpu, minlength=len(block_of_row)) * MILLI
        # One pixel between the GPUs of a server; the gap above a block is for its mark.
        lanes = cell - 1 if per_gpu else cell
        first_pixel = np.arange(len(block_of_row)) * cell + (block_of_row + 1) * gap
        row_of_pixel = np.full(HEIGHT, -1)
        for row, top in enumerate(first_pixel):
            row_of_pixel[top : top + lanes] = row
        mark_pixel, block_of_pixel, labels = _blocks(first_pixel, block_of_row, lanes, gap, size, servers)
        return cls(
            per_gpu,
            not per_gpu and lanes < SMALLEST_STACK,
            size,
            row_of_gpu,
            block_of_server,
            capacity,
            lanes,
            first_pixel,
            row_of_pixel,
            block_of_pixel,
            mark_pixel,
            labels,
        )

    @property
    def height(self) -> int:
        """Pixels from the top to the end of the last row."""
        return int(self.first_pixel[-1]) + self.lanes


def _gap(servers: int) -> int:
    """Pixels between servers where rows are GPUs: few where servers are many."""
    return max(2, min(LARGEST_GAP, HEIGHT // (12 * servers)))


def _blocks(
    first_pixel: Array, block_of_row: Array, lanes: int, gap: int, size: int, servers: int
) -> tuple[Array, Array, tuple[tuple[int, str], ...]]:
    """Line above, pixels, and labels of the blocks."""
    blocks = int(block_of_row[-1]) + 1
    mark_pixel = np.zeros(blocks, np.int64)
    block_of_pixel = np.full(HEIGHT, -1)
    labels: list[tuple[int, str]] = []
    free_from = 0
    for block in range(blocks):
        tops = first_pixel[block_of_row == block]
        top, bottom = int(tops[0]), int(tops[-1]) + lanes
        mark_pixel[block] = top - max(1, gap // 2)
        block_of_pixel[top:bottom] = block
        middle = (top + bottom) // 2
        if middle - LABEL_HEIGHT // 2 >= free_from:
            last = min(servers, (block + 1) * size) - 1
            labels.append((middle, f"s{last}" if last == block * size else f"{block * size}-{last}"))
            free_from = middle + LABEL_HEIGHT // 2
    return mark_pixel, block_of_pixel, tuple(labels)
