"""Cells of a line in a binary tree: the resolution at which the baseline generalises."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.spaces import Line, Space

__all__ = ["HALVINGS", "Cells", "dyadic_cells", "n_nodes"]

_HALVINGS = 3  # of each parameter, on average; a single parameter is halved six times

# Corrections are averaged over cells. A cell is halved, at most HALVINGS times, while its share of the mass
# in round t exceeds a multiple of t^(-1/3).
HALVINGS = 6


class Cells(NamedTuple):
    """Edges of the cells of a line, the heap index of each cell's node, and whether there are several rows.

    Cells of different rows may share a node.
    """

    edges: FloatArray
    leaf: IntArray
    along_rows: bool


def n_nodes(cells: Cells) -> int:
    """Return the size of an array with a place for each node."""
    return 1 << int(cells.leaf.max()).bit_length()


def dyadic_cells(space: Space) -> Cells:
    """Return the cells of a space's line, and their nodes in a binary tree.

    Parameters without an order (choices) are told apart first. Then a node is halved along the parameter that
    was halved least, rho first among equals, so that the cells around a point grow alike in all directions.
    Rho is halved less often if there are not enough floats between the edges.

    >>> from semibandit.spaces import Interval, Strips
    >>> dyadic_cells(Interval(0, 1)).leaf[:3]
    array([64, 65, 66])
    >>> len(set(dyadic_cells(Strips(4, Interval(0, 1))).leaf.tolist()))
    64
    >>> dyadic_cells(Interval(1e15, 1e15 + 1)).leaf.size
    8
    """
    line, axes = space.line, space.directions
    rho = len(axes)
    order = _halvings([axis.size for axis in axes] + [line.size], [axis.detached for axis in axes] + [False])
    inner = line.cuts(2 ** order.count(rho))
    while not (np.diff(_edges(line, inner)) > 0.0).all():
        del order[len(order) - 1 - order[::-1].index(rho)]
        inner = line.cuts(2 ** order.count(rho))
    levels = [order.count(i) for i in range(len(axes) + 1)]
    ends = np.concatenate(([line.lo], inner, [line.hi]))
    middles = (0.5 * ends[1:] + 0.5 * ends[:-1] - line.lo) / (line.hi - line.lo)
    places = [np.repeat(axis.places, middles.size) for axis in axes] + [np.tile(middles, line.n_rows)]
    bits = [(place * 2**level).astype(np.int64) for place, level in zip(places, levels, strict=True)]
    if line.size == math.inf:  # exact, even if rounding moves a middle to an end
        bits[-1] = np.tile(np.arange(middles.size), line.n_rows)
    used = [0] * len(levels)
    leaf = np.ones(middles.size * line.n_rows, np.int64)
    for axis in order:
        used[axis] += 1
        leaf = 2 * leaf + ((bits[axis] >> (levels[axis] - used[axis])) & 1)
    return Cells(_edges(line, inner), leaf, line.n_rows > 1)


def _halvings(sizes: list[float], apart: list[bool]) -> list[int]:
    """Return the axis that is halved at each level of the tree."""
    order = [i for i, size in enumerate(sizes) if apart[i] for _ in range(math.ceil(math.log2(size)))]
    levels = [math.inf if alone else 0 for alone in apart]
    for _ in range(_HALVINGS * max(len(sizes), 2)):
        open_axes = [i for i, size in enumerate(sizes) if 2 ** levels[i] < min(size, 4**_HALVINGS)]
        if not open_axes:
            break
        axis = min(open_axes, key=lambda i: (levels[i], -i))
        levels[axis] += 1
        order.append(axis)
    return order


def _edges(line: Line, inner: FloatArray) -> FloatArray:
    """Return the ends of the cells on the weights' line; margins belong to the first and the last cell."""
    edges = []
    for row in range(line.n_rows):
        start, end = line.outer(row)
        shift = start - (line.lo - line.margin)
        edges.append(np.concatenate(([start], inner + shift)))
    return np.concatenate((*edges, [end]))
