"""Rows split into parts: the first part stays where the row was, the others follow at the end of the line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.spaces import Line

__all__ = ["moved", "parts", "split_log"]


def parts(parents: Sequence[int], n_rows: int) -> FloatArray:
    """Into how many parts each of so many rows is split; `parents` are the rows of the new parts.

    >>> parts([1, 1], 3)
    array([1., 3., 1.])
    """
    return np.asarray(1.0 + np.bincount(parents, minlength=n_rows), np.float64)


def moved(edges: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Edges moved from one row to another, given marks of both; marks land on marks, to the bit.

    >>> moved(np.array([0.0, 0.3, 0.5]), np.array([0.0, 0.5, 1.0]), np.array([4.0, 4.5, 5.0]))
    array([4. , 4.3, 4.5])
    """
    mark = np.searchsorted(start, edges, side="right") - 1
    return np.asarray(end[mark] + (edges - start[mark]))


def split_log(log: Piecewise, parents: Sequence[int], line: Line) -> Piecewise:
    """The logarithm of a function on the first rows of a line, with the mass of rows shared with their parts.

    O(P + P') for P pieces before, and P' of the new rows.
    """
    starts = line.starts
    n_rows = line.n_rows - len(parents)
    edges = np.union1d(log.edges, starts[: n_rows + 1])
    first = np.searchsorted(edges, starts[: n_rows + 1])
    less = np.repeat(np.log(parts(parents, n_rows)), np.diff(first))
    left, right = (end - less for end in log.spread(edges))
    places, lefts, rights = [edges[:-1]], [left], [right]
    for new, row in enumerate(parents, n_rows):
        inside = slice(int(first[row]), int(first[row + 1]))
        places.append(moved(edges[inside], starts[row : row + 2], starts[new : new + 2]))
        lefts.append(left[inside])
        rights.append(right[inside])
    places.append(starts[-1:])
    wide = np.append(np.diff(np.concatenate(places)) > 0.0, True)
    return log.of_ends(
        np.concatenate(places)[wide], np.concatenate(lefts)[wide[:-1]], np.concatenate(rights)[wide[:-1]]
    )
