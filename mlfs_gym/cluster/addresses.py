"""Arrays by address, so that one compiled call can work on many clusters of different sizes.

Handing fifty arrays to a compiled function costs more than a step of the simulation does, and there is no way to hand
it a list of clusters. So the addresses and shapes of a cluster's arrays are written into a row of a table once, and a
kernel makes the arrays again from there (they own no memory, so nobody need count references to them). Whoever fills a table must keep the arrays alive, and fill it anew when they
move (after unpickling, for instance).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from mlfs_gym.cluster.arrays import Array
from mlfs_gym.cluster.jit import kernel

WIDTH: Final = 4  # address, then the lengths of up to three dimensions


def new_table(rows: int, arrays: int) -> Array:
    """An empty table of shape (rows, arrays, WIDTH), int64."""
    return np.zeros((rows, arrays, WIDTH), np.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer."""
    del typing_context, address

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@kernel
def note(table: Array, row: int, number: int, array: Array) -> None:
    """Write address and shape of an array of one to three dimensions, in C order, into a row of a table."""
    table[row, number, 0] = array.ctypes.data
    for axis in range(array.ndim):
        table[row, number, 1 + axis] = array.shape[axis]


@kernel(allocates=True)
def vector(table: Array, row: int, number: int, dtype: Any) -> Array:
    """An array of one dimension that stands in a table."""
    return carray(_pointer(table[row, number, 0]), (table[row, number, 1],), dtype)


@kernel(allocates=True)
def matrix(table: Array, row: int, number: int, dtype: Any) -> Array:
    """An array of two dimensions that stands in a table."""
    return carray(_pointer(table[row, number, 0]), (table[row, number, 1], table[row, number, 2]), dtype)


@kernel(allocates=True)
def cube(table: Array, row: int, number: int, dtype: Any) -> Array:
    """An array of three dimensions that stands in a table."""
    shape = (table[row, number, 1], table[row, number, 2], table[row, number, 3])
    return carray(_pointer(table[row, number, 0]), shape, dtype)
