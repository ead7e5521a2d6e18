"""Kernels that check distances and lay them out as a square, touching each entry once."""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel

INF_BITS: Any = np.int64(0x7FF0000000000000)
ZERO_BITS: Any = np.int64(0)
_TILE = 32  # a tile of the matrix and its mirror image fit into the fastest cache


@kernel
def extremes(flat: Any) -> tuple[int, float, float]:
    """Return the first invalid entry (-1: none), the smallest one above zero (or inf), and the largest.

    The bits of valid distances, as integers, have the same order, and those of invalid ones lie outside their
    range; the minimum of integers is vectorised. An invalid entry or a negative zero needs a slower loop.
    """
    bits = flat.view(np.int64)
    least, positive, most = INF_BITS, INF_BITS, ZERO_BITS
    for i in range(bits.size):
        least = min(least, bits[i])
        positive = min(positive, bits[i] if bits[i] != 0 else INF_BITS)
        most = max(most, bits[i])
    if least >= 0 and most < INF_BITS:
        ends = np.empty(2, np.int64)
        ends[0], ends[1] = positive, most
        return -1, float(ends.view(np.float64)[0]), float(ends.view(np.float64)[1])
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
    """Write scipy's condensed form to both triangles of a square, and zeros to its diagonal.

    In tiles, so that the columns of a group of rows are written while these rows are in the cache.
    """
    n = square.shape[0]
    at = 0
    for top in range(0, n, _TILE):
        bottom = min(top + _TILE, n)
        for i in range(top, bottom):
            square[i, i] = 0.0
            _copy(condensed[at : at + n - i - 1], square[i, i + 1 :])
            at += n - i - 1
        for j in range(top + 1, n):
            stop = min(bottom, j)
            _copy(square[top:stop, j], square[j, top:stop])


@inner
def _copy(source: Any, target: Any) -> None:
    """Copy an array. Indices from 0 are known not to be negative, so the loop is vectorised."""
    for k in range(target.size):
        target[k] = source[k]


@kernel
def asymmetry(square: Any) -> tuple[float, int, int]:
    """Return the largest difference of two entries that should be the same, and where it is."""
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
