"""Cells of a line, halved along each parameter by turns: where neighbours learn from each other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.spaces import Line

__all__ = ["Cells", "dyadic_cells", "n_nodes"]

_HALVINGS = 6


class Cells(NamedTuple):
    """Cells of a line, their nodes in a binary tree in heap order, and whether there are several rows."""

    edges: FloatArray
    leaf: IntArray
    along_rows: bool


def n_nodes(cells: Cells) -> int:
    """The size of an array that has a place for each node."""
    return 1 << int(cells.leaf.max()).bit_length()


def dyadic_cells(line: Line, shape: tuple[int, ...]) -> Cells:
    """The cells of a line whose rows are a grid of this shape, and their nodes in a binary tree.

    A node of the tree is halved along the parameter that has been halved least, rho first among equals, so
    that the cells around a point grow in all directions alike.

    >>> from semibandit.spaces import Interval, Strips
    >>> dyadic_cells(Interval(0, 1).line, ()).leaf[:3]
    array([64, 65, 66])
    >>> space = Strips(4, Interval(0, 1))
    >>> len(set(dyadic_cells(space.line, space.shape).leaf.tolist()))
    64
    """
    axes = (*shape, math.inf)
    levels = [0] * len(axes)
    order = []
    for _ in range(_HALVINGS):
        open_axes = [i for i, size in enumerate(axes) if 2 ** levels[i] < size]
        axis = min(open_axes, key=lambda i: (levels[i], -i))
        levels[axis] += 1
        order.append(axis)
    along = 2 ** levels[-1]
    index = np.indices((*shape, along)).reshape(len(axes), -1)
    sizes = (*shape, along)
    bits = [(index[i] << levels[i]) // sizes[i] for i in range(len(axes))]
    used = [0] * len(axes)
    leaf = np.ones(index.shape[1], np.int64)
    for axis in order:
        used[axis] += 1
        leaf = 2 * leaf + ((bits[axis] >> (levels[axis] - used[axis])) & 1)
    return Cells(_edges(line, along), leaf, math.prod(shape) > 1)


def _edges(line: Line, along: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The ends of the cells, on the line that carries weights: margins belong to the first and the last."""
    edges = []
    for row in range(line.n_rows):
        inner = line.lo + (line.hi - line.lo) * (np.arange(1, along) / along)
        start, end = line.outer(row)
        shift = start - (line.lo - line.margin)
        edges.append(np.concatenate(([start], inner + shift)))
    return np.concatenate((*edges, [end]))
