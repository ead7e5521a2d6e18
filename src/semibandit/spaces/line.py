"""The line that a learner works on: the rows of a space, laid end to end."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant

__all__ = ["Line"]


class Line:
    """`n_rows` copies of [lo, hi], one after the other; an interval is a line of one row.

    Functions of the parameters live on `span`, where row i begins at lo + i·(hi - lo). Weights live on
    `ends`: the same with a margin on both sides of each row, in which a point stands for the nearer end of
    its row (appendix A, r₀-interior minimisers). Without a margin the two are one.

    Parameters
    ----------
    lo, hi
        The ends of a row.
    margin
        The r₀ of the paper.
    n_rows
        The number of rows.

    Examples
    --------
    >>> line = Line(0.0, 1.0, n_rows=3)
    >>> line.read(1.25), line.at(2, 0.5)
    ((1, 0.25), 2.5)
    """

    def __init__(self, lo: float, hi: float, margin: float = 0.0, n_rows: int = 1) -> None:
        self.lo, self.hi, self.margin, self.n_rows = lo, hi, margin, n_rows
        self.bare = not margin  # functions are laid as they are

    @cached_property
    def span(self) -> tuple[float, float]:
        """The ends of the line that functions are on."""
        return float(self.starts[0]), float(self.starts[-1])

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The ends of the line that weights are on: margins belong to it."""
        return float(self._outer_starts[0]), float(self._outer_starts[-1])

    @cached_property
    def starts(self) -> FloatArray:
        """Where rows begin, and the end of the last one; margins aside."""
        return _end_to_end(self.lo, self.hi, self.n_rows)

    @cached_property
    def offsets(self) -> FloatArray:
        """What is added to rho in each row; margins aside."""
        return np.float64(self.hi - self.lo) * np.arange(self.n_rows, dtype=np.float64)

    @cached_property
    def _outer_starts(self) -> FloatArray:
        if not self.margin:
            return self.starts
        return _end_to_end(self.lo - self.margin, self.hi + self.margin, self.n_rows)

    @cached_property
    def _outer_offsets(self) -> FloatArray:
        if not self.margin:
            return self.offsets
        width = np.float64((self.hi + self.margin) - (self.lo - self.margin))
        return width * np.arange(self.n_rows, dtype=np.float64)

    # The same as lists, for one point at a time.
    @cached_property
    def _inner(self) -> list[float]:
        return list(self._outer_starts[1:-1].tolist())

    @cached_property
    def _shifts(self) -> list[float]:
        return list(self._outer_offsets.tolist())

    def outer(self, row: int) -> tuple[float, float]:
        """Where a row begins and ends on the weights' line."""
        return float(self._outer_starts[row]), float(self._outer_starts[row + 1])

    def shift(self, row: int) -> float:
        """What is added to rho in a row of the weights' line."""
        return self._shifts[row]

    # -- points ------------------------------------------------------------------------------------

    def read(self, x: float) -> tuple[int, float]:
        """The row and the rho that the point x of the weights' line stands for."""
        row = bisect_right(self._inner, x)
        rho = x - self._shifts[row]
        if rho < self.lo:
            return row, self.lo
        return row, rho if rho <= self.hi else self.hi

    def home(self, x: float) -> float:
        """The point of the weights' line where what x stands for lies: x itself, but for margins."""
        if self.n_rows == 1 and not self.margin:
            return x
        row, rho = self.read(x)
        at = _raised(rho + self._shifts[row], self._shifts[row], rho)
        if row > 0:  # rounding must not carry it into the row before
            at = max(at, self._inner[row - 1])
        return at if row == len(self._inner) else min(at, math.nextafter(self._inner[row], -math.inf))

    def at(self, row: int, rho: float) -> float:
        """The point of the functions' line for a row and a rho."""
        offset, end = float(self.offsets[row]), float(self.starts[row + 1])
        at = max(_raised(rho + offset, offset, rho), float(self.starts[row]))
        # The end of a row is where the next one begins, and belongs to that.
        return min(at, end if row == self.n_rows - 1 else math.nextafter(end, -math.inf))

    def place(self, rows: npt.NDArray[np.int64], rho: FloatArray) -> FloatArray:
        """The first points of the functions' line whose rho is at least the one given.

        So [lo, hi) keeps its points. The ends of the interval are placed at those of the row.
        """
        offsets = self.offsets[rows]
        at = rho + offsets
        at = np.where(at - offsets < rho, np.nextafter(at, math.inf), at)
        at = np.where(rho <= self.lo, self.starts[rows], np.maximum(at, self.starts[rows]))
        placed: FloatArray = np.where(rho >= self.hi, self.starts[rows + 1], at)
        return placed

    # -- values ------------------------------------------------------------------------------------

    def value(self, x: float) -> Any:
        """The value of the parameter at the place x of a row: x itself."""
        return x

    def stretch(self, lo: float, hi: float) -> tuple[Any, tuple[Any, Any]]:
        """The value in the middle of the stretch [lo, hi) of a row, and the values at its ends."""
        middle = 0.5 * lo + 0.5 * hi
        return middle if middle < hi else lo, (lo, hi)  # of two neighbouring doubles, the first

    @property
    def size(self) -> float:
        """Into how many parts a row can be cut at most."""
        return math.inf

    def cuts(self, n: int) -> FloatArray:
        """Where to cut a row into n parts of the same length."""
        return np.asarray(self.lo + (self.hi - self.lo) * (np.arange(1, n) / n))

    @property
    def log(self) -> bool:
        """Whether places are logarithms of values: a picture then has an axis to match."""
        return False

    def halfway(self, lo: float, hi: float) -> float:
        """Where on the line to cut [lo, hi) in two."""
        return 0.5 * (lo + hi)

    @property
    def extent(self) -> float:
        """The length of the line, if all rows were as likely to begin with as the least likely one."""
        return self.ends[1] - self.ends[0]

    def level(self, log: Piecewise) -> Piecewise:
        """The logarithm of weights on the line as that of weights on the parameters: they are the same."""
        return log

    @property
    def origins(self) -> npt.NDArray[np.int64]:
        """Of which row each row is a part, of those that there were to begin with."""
        return np.arange(self.n_rows)

    # -- functions ---------------------------------------------------------------------------------

    def on_rows(self, function: Any, at: float | None = None) -> Any:
        """What a problem shows, as a function on the functions' line: that is what it is already.

        Where it is not, the point `at` says which row was looked at; None: all of them.
        """
        return function

    def lay(self, function: Any, at: float | None = None) -> Piecewise:
        """What was seen, as a function on the weights' line: what touches an end covers its margin."""
        function = self.on_rows(function, at)
        a, b = self.span
        if function.edges.item(0) < a or function.edges.item(-1) > b:
            rows = f", {self.n_rows} rows laid end to end" if self.n_rows > 1 else ""
            raise ValueError(
                f"the function told must lie inside [{a:g}, {b:g}]{rows}, "
                f"got one on [{float(function.edges[0])!r}, {float(function.edges[-1])!r}]"
            )
        if not self.margin:
            return function  # type: ignore[no-any-return]
        if self.n_rows == 1:
            lo, hi = float(function.edges[0]), float(function.edges[-1])
            return function.continued(  # type: ignore[no-any-return]
                self.ends[0] if lo == self.lo else lo, self.ends[1] if hi == self.hi else hi
            )
        edges: list[FloatArray] = []
        left: list[FloatArray] = []
        right: list[FloatArray] = []
        for i, row in enumerate(self.rows(function)):
            if row.unseen.all():
                continue
            outer = row.continued(self.lo - self.margin, self.hi + self.margin)
            moved = outer.edges + self._outer_offsets[i]
            moved[0], moved[-1] = self._outer_starts[i], self._outer_starts[i + 1]
            if edges and edges[-1][-1] < moved[0]:  # rows in between were not seen
                left.append(np.array([np.nan]))
                right.append(np.array([np.nan]))
            elif edges:
                edges[-1] = edges[-1][:-1]
            edges.append(moved)
            left.append(outer.ends[0])
            right.append(outer.ends[1])
        laid: Piecewise = function.of_ends(*map(np.concatenate, (edges, left, right)))
        return laid

    def pieces(
        self, rows: npt.NDArray[Any], lo: FloatArray, hi: FloatArray, values: FloatArray
    ) -> PiecewiseConstant:
        """Values on [lo, hi) in rows, given as arrays in any order, as a function on the line. O(m log m)."""
        edges = np.empty(2 * rows.size)
        edges[::2], edges[1::2] = lo, hi
        edges = self.place(np.repeat(rows, 2), edges)
        if rows.size > 1:
            order = np.argsort(edges[::2], kind="stable")
            edges, values, rows = edges.reshape(-1, 2)[order].ravel(), values[order], rows[order]
        if not (edges[1:] > edges[:-1]).all():
            ends = self.place(rows, np.full(rows.size, self.hi))
            return self._laid_close(edges[::2].copy(), edges[1::2].copy(), ends, values)
        steps = np.full(edges.size - 1, math.nan)
        steps[::2] = values
        return PiecewiseConstant.trusted(edges, steps)

    def _laid_close(
        self, left: FloatArray, right: FloatArray, ends: FloatArray, values: FloatArray
    ) -> PiecewiseConstant:
        """The same where intervals touch, or are narrower than the doubles of the line."""
        # At the end of its row an interval without a point of the line gets the last one of the row.
        late = left >= ends
        left[late], right[late] = np.nextafter(ends[late], -math.inf), ends[late]
        right[:-1] = np.where(late[1:], np.minimum(right[:-1], left[1:]), right[:-1])
        # What has no point of the line is given one, if there is room for it.
        right = np.maximum(right, np.nextafter(left, math.inf))
        overlap = left[1:] < right[:-1]
        if (left[1:] < np.nextafter(right[:-1], -math.inf)).any():
            raise ValueError("the intervals of a row must not overlap")
        keep = np.append(~overlap, left[-1] < self.span[1])
        left, right, values = left[keep], right[keep], values[keep]
        edges, steps = np.empty(2 * left.size), np.full(2 * left.size - 1, math.nan)
        edges[::2], edges[1::2], steps[::2] = left, right, values
        wide = np.append(edges[1:] > edges[:-1], True)
        return PiecewiseConstant(edges[wide], steps[wide[:-1]])

    def rows(self, function: Piecewise) -> list[Piecewise]:
        """A function on the line as one function of rho for each row; nan where it is not seen.

        What spans the weights' line, such as a density, has its margins in each row.
        """
        starts, offsets = self._layout(function)
        return [self._row(function, starts, offsets, i) for i in range(self.n_rows)]

    def row(self, function: Piecewise, i: int) -> Piecewise:
        """The i-th of `rows`."""
        return self._row(function, *self._layout(function), i)

    def _row(self, function: Piecewise, starts: FloatArray, offsets: FloatArray, i: int) -> Piecewise:
        a, b = starts[i], starts[i + 1]
        first, last = np.searchsorted(function.edges, (a, b), side="right")
        inner = function.edges[first:last]
        inner = inner[inner < b]
        edges = np.concatenate(([a], inner, [b]))
        left, right = function.spread(edges)
        edges = edges - offsets[i]
        margin = self.margin if starts is self._outer_starts else 0.0
        edges[0], edges[-1] = self.lo - margin, self.hi + margin
        wide = np.append(np.diff(edges) > 0.0, True)
        return function.of_ends(edges[wide], left[wide[:-1]], right[wide[:-1]])

    def argmin(self, function: Piecewise) -> tuple[int, tuple[float, float]]:
        """The widest stretch within a row on which the minimum is attained: the row, and (lo, hi) in rho."""
        rows = self.rows(function)
        lowest = function.min()
        found = [
            (i, row.argmin()) for i, row in enumerate(rows) if not row.unseen.all() and row.min() == lowest
        ]
        i, (lo, hi) = max(found, key=lambda each: each[1][1] - each[1][0])
        return i, (self._inside(lo), self._inside(hi))

    def around(self, function: Piecewise, x: float) -> tuple[float, float]:
        """The values of rho around the point x, in its row, at which a function on the line is seen."""
        lo, hi = function.around(x)
        starts, offsets = self._layout(function)
        i = min(max(int(np.searchsorted(starts, x, side="right")) - 1, 0), self.n_rows - 1)
        lo, hi = max(lo, float(starts[i])), min(hi, float(starts[i + 1]))
        return self._inside(lo - float(offsets[i])), self._inside(hi - float(offsets[i]))

    def _inside(self, rho: float) -> float:
        return min(max(rho, self.lo), self.hi)

    def _layout(self, function: Piecewise) -> tuple[FloatArray, FloatArray]:
        """The rows of the line that a function is on: a density covers the margins, feedback does not."""
        if self.margin and (function.edges[0], function.edges[-1]) == self.ends:
            return self._outer_starts, self._outer_offsets
        return self.starts, self.offsets


def _end_to_end(lo: float, hi: float, n: int) -> FloatArray:
    return np.concatenate(([lo], hi + (hi - lo) * np.arange(n)))


def _raised(at: float, offset: float, rho: float) -> float:
    """The point, or the next one if rounding has put it below rho."""
    return math.nextafter(at, math.inf) if at - offset < rho else at
