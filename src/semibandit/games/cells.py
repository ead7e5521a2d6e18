"""Cells of the line in which the minimum of a sum may lie: ruled out by bounds, made finer, summed in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.functions.exact import ExactSum

__all__ = ["Cells", "Outline"]

# Values of lines between their ends are rounded: bounds leave room for that, relative to the largest value.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Cells:
    """The intervals between consecutive edges; in those that are `open` the minimum may lie."""

    edges: FloatArray
    open: npt.NDArray[np.bool_]

    @classmethod
    def between(cls, edges: FloatArray) -> Cells:
        """All of them open."""
        return cls(edges, np.ones(edges.size - 1, np.bool_))

    @classmethod
    def even(cls, starts: FloatArray, end: float, n: int) -> Cells:
        """Some n cells with about equally many of the `starts` in each: fine where functions break often."""
        return cls.between(np.append(starts[:: max(starts.size // n, 1)], end))

    def keep(self, which: npt.NDArray[np.bool_]) -> Cells:
        """The same cells, with only those open that also were before."""
        return Cells(self.edges, self.open & which)

    def refined(self, breaks: IntArray, n: int) -> Cells:
        """Some n cells: open ones are cut into parts of one length, the more breaks the more; others join."""
        share = np.where(self.open, breaks, 0)
        parts = np.where(self.open, np.ceil(n * (share / max(share.sum(), 1))).astype(np.int64), 1)
        parts = np.maximum(parts, 1)
        which = np.repeat(np.arange(parts.size), parts)
        step = np.arange(which.size) - np.repeat(np.cumsum(parts) - parts, parts)
        lo, hi = self.edges[:-1][which], self.edges[1:][which]
        cut = lo + (hi - lo) * (step / parts[which])
        fine = Cells(np.append(cut, self.edges[-1]), self.open[which])
        # Cells may be as narrow as doubles, and then have no parts.
        begins = np.append(True, (cut[1:] > cut[:-1]) & (fine.open[1:] | fine.open[:-1]))
        return fine._starting(begins)

    def joined(self) -> Cells:
        """Neighbours joined, open ones with open ones."""
        return self._starting(np.append(True, self.open[1:] != self.open[:-1]))

    def _starting(self, first: npt.NDArray[np.bool_]) -> Cells:
        """Cells that begin where some of these do."""
        return Cells(np.append(self.edges[:-1][first], self.edges[-1]), self.open[first])

    def mask(self) -> PiecewiseConstant:
        """0 on the open cells, nan elsewhere."""
        return PiecewiseConstant(self.edges, np.where(self.open, 0.0, np.nan)).compress()

    def restrict(self, function: Piecewise) -> Piecewise:
        """The function on open cells, 0 elsewhere."""
        edges = np.union1d(function.edges, self.edges)
        inside = self.open[np.searchsorted(self.edges, edges[:-1], side="right") - 1]
        left, right = (np.where(inside, end, 0.0) for end in function.spread(edges))
        return function.of_ends(edges, left, right)


@dataclass(frozen=True, eq=False)
class Outline:
    """Bounds on a sum of functions in cells, exact sums themselves.

    Attributes
    ----------
    low
        Nowhere above the sum, and linear in each cell.
    reach
        At the start of each cell not below the sum.
    breaks
        How many breaks of the functions are in each cell.
    """

    low: ExactSum
    reach: ExactSum
    breaks: IntArray

    @classmethod
    def of(cls, functions: Iterable[Piecewise], cells: Cells) -> Outline:
        """The bounds on the sum of some functions."""
        functions = list(functions)
        if not any(function.degree for function in functions):
            return cls._of_steps(functions, cells.edges)
        breaks = np.zeros(cells.open.size, np.int64)
        low, reach = zip(*(_bounds(function, cells.edges, breaks) for function in functions), strict=True)
        return cls(ExactSum.of(low), ExactSum.of(reach), breaks)

    @classmethod
    def _of_steps(cls, functions: list[Piecewise], cells: FloatArray) -> Outline:
        """The same for step functions, all at once. O(breaks · log cells), without a loop over functions."""
        values = np.concatenate([function.ends[0] for function in functions])
        inner = np.concatenate([function.edges[1:-1] for function in functions])
        counts = np.array([len(function) - 1 for function in functions])
        first = np.cumsum(counts + 1) - (counts + 1)  # piece of each function
        before = np.arange(inner.size) + np.repeat(np.arange(counts.size), counts)  # piece before each break
        place = np.searchsorted(cells, inner, side="right") - 1
        # The breaks of one function in one cell go together; a cell begins in the piece before the first of
        # them, or behind it where that is at its start.
        change = np.append(True, (place[1:] != place[:-1]) | (before[1:] != before[:-1] + 1))[: inner.size]
        a = np.flatnonzero(change)
        b = np.append(a[1:], inner.size)[: a.size] - 1
        begin = before[a] + (cells[place[a]] == inner[a])
        old, new, start = values[before[a]], values[before[b] + 1], values[begin]
        least = _minimum_between(values, begin, before[b] + 2)
        inside = place[a] + 1 < cells.size - 1  # what happens at the end of the line is no change
        at = np.concatenate((np.full(first.size, cells[0]), cells[place[a]], cells[place[a] + 1][inside]))
        zeros = np.zeros(first.size)

        def total(within: FloatArray) -> ExactSum:
            """The sum of functions with these values in cells with breaks."""
            after = np.concatenate((values[first], within, new[inside]))
            previous = np.concatenate((zeros, old, within[inside]))
            return ExactSum.of_changes(len(functions), at, after, previous, float(cells[-1]))

        return cls(total(least), total(start), np.bincount(place, minlength=cells.size - 1))

    @classmethod
    def merge(cls, outlines: list[Outline]) -> Outline:
        """The bounds on the sum of all."""
        return cls(
            ExactSum.merge([each.low for each in outlines]),
            ExactSum.merge([each.reach for each in outlines]),
            np.sum([each.breaks for each in outlines], axis=0),
        )

    def possible(self, cells: Cells) -> npt.NDArray[np.bool_]:
        """The cells that may hold the minimum. Rounding is monotone, so none that does is left out."""
        low = np.minimum(*self.low.function().spread(cells.edges))
        reach = self.reach.function().spread(cells.edges)[0]
        return np.asarray(cells.open & (low <= reach[cells.open].min()))


def _bounds(function: Piecewise, cells: FloatArray, breaks: IntArray) -> tuple[Piecewise, Piecewise]:
    """The two bounds on one function. O(pieces · log cells), as they say nothing of cells without a break."""
    inner = function.edges[1:-1]
    place = np.searchsorted(cells, inner, side="right") - 1
    np.add.at(breaks, place, 1)
    at_start = cells[place] == inner
    broken = np.unique(place[~at_start])
    first = np.unique(np.concatenate(([0], place[at_start], broken, broken + 1)))
    first = first[first < cells.size - 1]
    is_broken = np.isin(first, broken, assume_unique=True)
    edges = np.append(cells[first], cells[-1])
    left, right = function.spread(edges)
    lowest = _minimum_between(
        function.lowest,
        np.searchsorted(function.edges, cells[broken], side="right") - 1,
        np.searchsorted(function.edges, cells[broken + 1], side="left"),
    )
    room = function.degree * _ROUNDING * max(float(np.abs(end).max()) for end in function.ends)
    low = np.array(left - room), np.array(right - room)
    low[0][is_broken] = low[1][is_broken] = lowest
    reach = left + room, np.where(is_broken, left, right) + room
    return function.of_ends(edges, *low), function.of_ends(edges, *reach)


def _minimum_between(values: FloatArray, first: Any, last: Any) -> FloatArray:
    """min(values[first:last]) for each pair; last > first."""
    padded = np.append(values, np.inf)
    pairs = np.stack((first, last), axis=1).ravel()
    return np.asarray(np.minimum.reduceat(padded, pairs)[::2]) if pairs.size else np.empty(0)
