"""Line on which a learner keeps its weights: the rows of a space, laid end to end."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces.scales import ContinuousScale, Scale

__all__ = ["Axis", "Line"]


class Axis(NamedTuple):
    """Position of every row along one further parameter."""

    places: FloatArray  # one for each row, in [0, 1)
    size: float  # number of different places
    apart: bool = False  # whether the values have no order, so that no two are neighbours


class _Rows:
    """Row i at [lo, hi] + i·(hi - lo), as arrays, and as lists for access to single entries."""

    def __init__(self, lo: float, hi: float, n: int) -> None:
        steps = np.arange(n, dtype=np.float64)
        self.starts: FloatArray = np.concatenate(([lo], hi + (hi - lo) * steps))
        self.offsets: FloatArray = np.float64(hi - lo) * steps
        self._starts: list[float] = self.starts.tolist()
        self._offsets: list[float] = self.offsets.tolist()

    def read(self, x: float) -> tuple[int, float]:
        """Return the row of the point x and x minus the offset of the row."""
        row = bisect_right(self._starts, x, 1, len(self._starts) - 1) - 1
        return row, x - self._offsets[row]

    def point(self, row: int, rho: float) -> float:
        """Return the first point of the row whose rho is at least the one given."""
        offset, end = self._offsets[row], self._starts[row + 1]
        at = rho + offset
        if at - offset < rho:
            at = math.nextafter(at, math.inf)
        at = max(at, self._starts[row])
        # The end of a row is the start of the next one and belongs to that row.
        return min(at, end if row == len(self._offsets) - 1 else math.nextafter(end, -math.inf))


class Line:
    """`n_rows` copies of [lo, hi], one after the other; the line of an interval has one row.

    Functions of the parameters are defined on `span`, where row i begins at lo + i·(hi - lo). Weights are
    defined on `ends`: the same rows with a margin on both sides of each, whose points stand for the nearer
    end of the row (appendix A of the paper, r₀-interior minimisers). Without a margin both lines are equal.

    Parameters
    ----------
    lo, hi
        Ends of a row.
    margin
        The r₀ of the paper.
    n_rows
        Number of rows.
    scale
        Map between positions in a row and values; default: the identity.

    Examples
    --------
    >>> line = Line(0.0, 1.0, n_rows=3)
    >>> line.read(1.25), line.at(2, 0.5)
    ((1, 0.25), 2.5)
    """

    def __init__(
        self, lo: float, hi: float, margin: float = 0.0, n_rows: int = 1, scale: Scale | None = None
    ) -> None:
        self.lo, self.hi, self.margin, self.n_rows = lo, hi, margin, n_rows
        self.scale: Scale = ContinuousScale(lo, hi) if scale is None else scale
        self.bare = not margin and scale is None  # whether functions are laid without any change

    @cached_property
    def _rows(self) -> _Rows:
        return _Rows(self.lo, self.hi, self.n_rows)

    @cached_property
    def _outer_rows(self) -> _Rows:
        if not self.margin:
            return self._rows
        return _Rows(self.lo - self.margin, self.hi + self.margin, self.n_rows)

    @cached_property
    def span(self) -> tuple[float, float]:
        """Ends of the line of functions, without margins."""
        return float(self.starts[0]), float(self.starts[-1])

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Ends of the line of weights, with margins."""
        return float(self._outer_rows.starts[0]), float(self._outer_rows.starts[-1])

    @property
    def extent(self) -> float:
        """Length of the line of weights."""
        return self.ends[1] - self.ends[0]

    @property
    def starts(self) -> FloatArray:
        """Starts of the rows on the line of functions, and the end of the last row."""
        return self._rows.starts

    @property
    def fits(self) -> bool:
        """Whether all rows are distinct intervals of doubles and the length of the line is finite."""
        return bool((np.diff(self.starts) > 0.0).all()) and math.isfinite(self.extent)

    def outer(self, row: int) -> tuple[float, float]:
        """Return start and end of a row on the line of weights."""
        return float(self._outer_rows.starts[row]), float(self._outer_rows.starts[row + 1])

    def shift(self, row: int) -> float:
        """Return the offset of a row on the line of weights: its points are rho + shift."""
        return float(self._outer_rows.offsets[row])

    # -- points ------------------------------------------------------------------------------------

    def read(self, x: float) -> tuple[int, float]:
        """Return the row and the position in it (rho) of the point x of the line of weights."""
        row, rho = self._outer_rows.read(x)
        if rho < self.lo:
            return row, self.lo
        return row, rho if rho <= self.hi else self.hi

    def home(self, x: float) -> float:
        """Return the point of the line of weights that represents the value at x.

        This is x, except in a margin and on scales where several points have the same value.
        """
        if self.bare and self.n_rows == 1:
            return x
        row, rho = self.read(x)
        return self._outer_rows.point(row, self.scale.place(self.scale.value(rho)))

    def at(self, row: int, rho: float) -> float:
        """Return the point of the line of functions at a position of a row."""
        return self._rows.point(row, rho)

    def place(self, rows: npt.NDArray[np.int64], rho: FloatArray) -> FloatArray:
        """Return the first points of the line of functions whose rho is at least the one given.

        Intervals [lo, hi) keep their points. The ends of the interval are mapped to those of the row.
        """
        starts, offsets = self._rows.starts, self._rows.offsets[rows]
        at = rho + offsets
        at = np.where(at - offsets < rho, np.nextafter(at, math.inf), at)
        at = np.where(rho <= self.lo, starts[rows], np.maximum(at, starts[rows]))
        placed: FloatArray = np.where(rho >= self.hi, starts[rows + 1], at)
        return placed

    # -- values ------------------------------------------------------------------------------------

    def value(self, x: float) -> Any:
        """Return the value of the parameter at position x of a row."""
        return self.scale.value(x)

    def stretch(self, lo: float, hi: float) -> tuple[Any, tuple[Any, Any]]:
        """Return the value in the middle of the positions [lo, hi) of a row, and the values at both ends."""
        return self.scale.stretch(lo, hi)

    @property
    def size(self) -> float:
        """Upper bound for the number of useful cells of a row."""
        return self.scale.size

    @property
    def log(self) -> bool:
        """Whether positions are logarithms of values."""
        return self.scale.log

    def cuts(self, n: int) -> FloatArray:
        """Return the inner ends of n cells of a row of about the same length; no value is cut in two."""
        even = self.lo + (self.hi - self.lo) * (np.arange(1, n) / n)
        if math.isinf(self.size):
            return np.asarray(even)
        snapped = np.unique([self.scale.snap(x) for x in even.tolist()])
        return snapped[(snapped > self.lo) & (snapped < self.hi)]

    def halfway(self, lo: float, hi: float) -> float:
        """Return the point at which to halve the cell [lo, hi) of the line; an end if it has one value."""
        middle = 0.5 * (lo + hi)
        if math.isinf(self.size):
            return middle
        row, x = self.read(middle)
        return float(self.place(np.array([row]), np.array([self.scale.snap(x)]))[0])

    # -- functions ---------------------------------------------------------------------------------

    def on_rows(self, function: Any, at: float | None = None) -> Any:
        """Return a function that a problem has returned as a function on the line: here, unchanged.

        The point `at` names the row that was played; None: the function is defined on all rows.
        """
        return function

    def lay(self, function: Any, at: float | None = None) -> Piecewise:
        """Return feedback as a function on the line of weights; at an end of a row it covers the margin."""
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
        return self._with_margins(function)

    def _with_margins(self, function: Any) -> Piecewise:
        edges: list[FloatArray] = []
        left: list[FloatArray] = []
        right: list[FloatArray] = []
        for i, row in enumerate(self.rows(function)):
            if row.unseen.all():
                continue
            outer = row.continued(self.lo - self.margin, self.hi + self.margin)
            moved = outer.edges + self._outer_rows.offsets[i]
            moved[0], moved[-1] = self.outer(i)
            if edges and edges[-1][-1] < moved[0]:  # the rows in between are unseen
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
        """Return values on the intervals [lo, hi) of rows, in any order, as a function. O(m log m)."""
        edges = np.empty(2 * rows.size)
        edges[::2], edges[1::2] = lo, hi
        edges = self.place(np.repeat(rows, 2), edges)
        if rows.size > 1:
            order = np.argsort(edges[::2], kind="stable")
            edges, values, rows = edges.reshape(-1, 2)[order].ravel(), values[order], rows[order]
        if not (edges[1:] > edges[:-1]).all():
            ends = self.place(rows, np.full(rows.size, self.hi))
            return self._touching_pieces(edges[::2].copy(), edges[1::2].copy(), ends, values)
        steps = np.full(edges.size - 1, math.nan)
        steps[::2] = values
        return PiecewiseConstant.trusted(edges, steps)

    def _touching_pieces(
        self, left: FloatArray, right: FloatArray, ends: FloatArray, values: FloatArray
    ) -> PiecewiseConstant:
        """Return `pieces` of intervals that touch, or that contain no double of the line."""
        # At the end of its row such an interval gets the last double of the row.
        late = left >= ends
        left[late], right[late] = np.nextafter(ends[late], -math.inf), ends[late]
        right[:-1] = np.where(late[1:], np.minimum(right[:-1], left[1:]), right[:-1])
        # Elsewhere it gets the next double, unless another interval has it.
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
        """Return a function on the line as one function of rho per row; nan where it is unseen.

        The rows of a function on the line of weights, such as a density, include their margins.
        """
        layout = self._layout(function)
        return [self._row(function, layout, i) for i in range(self.n_rows)]

    def row(self, function: Piecewise, i: int) -> Piecewise:
        """Return the i-th of `rows`."""
        return self._row(function, self._layout(function), i)

    def _row(self, function: Piecewise, layout: _Rows, i: int) -> Piecewise:
        a, b = layout.starts[i], layout.starts[i + 1]
        first, last = np.searchsorted(function.edges, (a, b), side="right")
        inner = function.edges[first:last]
        inner = inner[inner < b]
        edges = np.concatenate(([a], inner, [b]))
        left, right = function.spread(edges)
        edges = edges - layout.offsets[i]
        edges[0], edges[-1] = layout.starts[:2]
        wide = np.append(np.diff(edges) > 0.0, True)
        return function.of_ends(edges[wide], left[wide[:-1]], right[wide[:-1]])

    def argmin(self, function: Piecewise) -> tuple[int, tuple[float, float]]:
        """Return the widest interval within a row that attains the minimum: the row, and (lo, hi) in rho."""
        rows = self.rows(function)
        lowest = function.min()
        found = [
            (i, row.argmin()) for i, row in enumerate(rows) if not row.unseen.all() and row.min() == lowest
        ]
        i, (lo, hi) = max(found, key=lambda each: each[1][1] - each[1][0])
        return i, (self._clip(lo), self._clip(hi))

    def around(self, function: Piecewise, x: float) -> tuple[float, float]:
        """Return the interval of rho around the point x, within its row, on which a function is seen."""
        lo, hi = function.around(x)
        layout = self._layout(function)
        row, _ = layout.read(x)
        lo, hi = max(lo, float(layout.starts[row])), min(hi, float(layout.starts[row + 1]))
        offset = float(layout.offsets[row])
        return self._clip(lo - offset), self._clip(hi - offset)

    def _clip(self, rho: float) -> float:
        return min(max(rho, self.lo), self.hi)

    def _layout(self, function: Piecewise) -> _Rows:
        """Return the rows that a function is on: with margins for a density, without for feedback."""
        if self.margin and (function.edges[0], function.edges[-1]) == self.ends:
            return self._outer_rows
        return self._rows
