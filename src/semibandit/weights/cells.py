"""Cells of a line, halved along each parameter by turns: where neighbours learn from each other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.spaces import Line, Space

__all__ = ["COARSE", "HALVINGS", "Cells", "dyadic_cells", "n_nodes"]

_HALVINGS = 3  # of each parameter, in the mean; twice as many where there is but one

# What is seen of a place speaks for its cell, which is halved while it holds more than a share of
# COARSE·t^(-1/3) of the mass in round t, at most so many times: fine where much is played.
COARSE = 4.0
HALVINGS = 6


class Cells(NamedTuple):
    """Cells of a line, their nodes in a binary tree in heap order, and whether there are several rows."""

    edges: FloatArray
    leaf: IntArray
    along_rows: bool


def n_nodes(cells: Cells) -> int:
    """The size of an array that has a place for each node."""
    return 1 << int(cells.leaf.max()).bit_length()


def dyadic_cells(space: Space) -> Cells:
    """The cells of a space's line, and their nodes in a binary tree.

    First of all what has no neighbours is told apart. Then a node of the tree is halved along the parameter
    that has been halved least, rho first among equals, so that the cells around a point grow in all
    directions alike.

    >>> from semibandit.spaces import Interval, Strips
    >>> dyadic_cells(Interval(0, 1)).leaf[:3]
    array([64, 65, 66])
    >>> len(set(dyadic_cells(Strips(4, Interval(0, 1))).leaf.tolist()))
    64
    """
    line, axes = space.line, space.directions
    order = _halvings([axis.size for axis in axes] + [line.size], [axis.apart for axis in axes] + [False])
    levels = [order.count(i) for i in range(len(axes) + 1)]
    inner = line.cuts(2 ** levels[-1])
    ends = np.concatenate(([line.lo], inner, [line.hi]))
    middles = (0.5 * ends[1:] + 0.5 * ends[:-1] - line.lo) / (line.hi - line.lo)
    places = [np.repeat(axis.places, middles.size) for axis in axes] + [np.tile(middles, line.n_rows)]
    bits = [(place * 2**level).astype(np.int64) for place, level in zip(places, levels, strict=True)]
    used = [0] * len(levels)
    leaf = np.ones(middles.size * line.n_rows, np.int64)
    for axis in order:
        used[axis] += 1
        leaf = 2 * leaf + ((bits[axis] >> (levels[axis] - used[axis])) & 1)
    return Cells(_edges(line, inner), leaf, line.n_rows > 1)


def _halvings(sizes: list[float], apart: list[bool]) -> list[int]:
    """The axis that is halved at each level of the tree."""
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
    """The ends of the cells, on the line that carries weights: margins belong to the first and the last."""
    edges = []
    for row in range(line.n_rows):
        start, end = line.outer(row)
        shift = start - (line.lo - line.margin)
        edges.append(np.concatenate(([start], inner + shift)))
    return np.concatenate((*edges, [end]))
