"""Distances on their way in: checked and laid out as a square, each entry touched once."""

import math
from typing import Any

from semibandit._jit import kernel

_TILE = 32  # a tile of the matrix and its mirror image fit into the fastest cache


@kernel
def extremes(flat: Any) -> tuple[int, float, float]:
    """The first entry that is no distance (-1: none), the smallest one above zero (or inf), the largest."""
    smallest, largest = math.inf, 0.0
    for i in range(flat.size):
        x = flat[i]
        if not 0.0 <= x < math.inf:
            return i, smallest, largest
        largest = max(largest, x)
        if 0.0 < x < smallest:
            smallest = x
    return -1, smallest, largest


@kernel
def unfold(condensed: Any, square: Any) -> None:
    """Write scipy's condensed form to both triangles of a square of zeros, tile by tile."""
    n = square.shape[0]
    for top in range(0, n, _TILE):
        for left in range(top, n, _TILE):
            for i in range(top, min(top + _TILE, n)):
                row = i * (2 * n - i - 1) // 2 - i - 1
                for j in range(max(left, i + 1), min(left + _TILE, n)):
                    x = condensed[row + j]
                    square[i, j] = x
                    square[j, i] = x


@kernel
def asymmetry(square: Any) -> tuple[float, int, int]:
    """The largest difference of two entries that should be the same, and where it is."""
    n = square.shape[0]
    worst, at, beside = 0.0, 0, 0
    for top in range(0, n, _TILE):
        for left in range(top, n, _TILE):
            for i in range(top, min(top + _TILE, n)):
                for j in range(max(left, i + 1), min(left + _TILE, n)):
                    difference = abs(square[i, j] - square[j, i])
                    if difference > worst:
                        worst, at, beside = difference, i, j
    return worst, at, beside
