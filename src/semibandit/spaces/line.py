"""Line on which a learner keeps its weights: the rows of a space, laid end to end."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._cached import cached_property
from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces.scales import ContinuousScale, Scale

__all__ = ["Axis", "Line"]


class Axis(NamedTuple):
    """Position of every row along one further parameter."""

    places: FloatArray  # one for each row, in [0, 1)
    size: float  # number of different places
    detached: bool = False  # True if the values have no order: no two rows are neighbours


class Line:
    """`n_rows` copies of [lo, hi], one after the other: row i begins at lo + i·(hi - lo).

    Functions of the parameters are defined on `span`. Weights are defined on `ends`, which adds the margin on
    both sides; a point in the margin stands for the nearer end (appendix A of the paper, r₀-interior
    minimisers).

    Parameters
    ----------
    lo, hi
        Ends of a row.
    margin
        The r₀ of the paper; only for a line of one row.
    n_rows
        Number of rows.
    scale
        Map between positions in a row and values; default: the identity.

    Attributes
    ----------
    value, stretch, size, log
        Those of the scale.
    bare
        Whether positions are values and there is no margin.

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
        self.bare = not margin and scale is None
        self.scale: Scale = ContinuousScale(lo, hi) if scale is None else scale
        self.value, self.stretch = self.scale.value, self.scale.stretch
        self.size, self.log = self.scale.size, self.scale.log

    @cached_property
    def starts(self) -> FloatArray:
        """Starts of the rows, and the end of the last row."""
        return np.concatenate(([self.lo], self.hi + self._offsets))

    @cached_property
    def _offsets(self) -> FloatArray:
        return np.float64(self.hi - self.lo) * np.arange(self.n_rows, dtype=np.float64)

    @cached_property
    def _lists(self) -> tuple[list[float], list[float]]:
        """Starts and offsets as lists, for quick access to single entries."""
        return self.starts.tolist(), self._offsets.tolist()

    @cached_property
    def span(self) -> tuple[float, float]:
        """Ends of the line of functions, without the margin."""
        return float(self.starts[0]), float(self.starts[-1])

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Ends of the line of weights, with the margin."""
        return self.span[0] - self.margin, self.span[1] + self.margin

    @property
    def extent(self) -> float:
        """Length of the line of weights."""
        return self.ends[1] - self.ends[0]

    def require_doubles(self) -> None:
        """Raise if the rows are not distinct intervals of doubles, or the length is not finite."""
        finite = math.isfinite(self.hi + (self.hi - self.lo) * self.n_rows)
        if not (finite and (np.diff(self.starts) > 0.0).all()):
            raise ValueError(f"{self.n_rows} rows of {self.scale.span} do not fit on a line of doubles")

    def outer(self, row: int) -> tuple[float, float]:
        """Return start and end of a row on the line of weights."""
        return float(self.starts[row]) - self.margin, float(self.starts[row + 1]) + self.margin

    def shift(self, row: int) -> float:
        """Return the offset of a row: its points are rho + shift."""
        return float(self._offsets[row])

    # -- points ------------------------------------------------------------------------------------

    def read(self, x: float) -> tuple[int, float]:
        """Return the row and the position in it (rho) of the point x of the line of weights."""
        starts, offsets = self._lists
        row = bisect_right(starts, x, 1, self.n_rows) - 1
        return row, self._clip(x - offsets[row])

    def at(self, row: int, rho: float) -> float:
        """Return the first point of a row at or after a position; the end of a row is its last double."""
        starts, offsets = self._lists
        x = rho + offsets[row]
        if x - offsets[row] < rho:
            x = math.nextafter(x, math.inf)
        end = starts[row + 1]
        last = end if row == self.n_rows - 1 else math.nextafter(end, -math.inf)
        return min(max(x, starts[row]), last)

    def position(self, x: float) -> float:
        """Return the point of the line of weights that represents the value at x.

        This is x, except in a margin and on scales where several points have the same value.
        """
        if self.bare and self.n_rows == 1:
            return x
        row, rho = self.read(x)
        return self.at(row, self.scale.place(self.scale.value(rho)))

    def cuts(self, n: int) -> FloatArray:
        """Return the inner ends of n cells of a row of about the same length; no value is cut in two."""
        even = self.lo + (self.hi - self.lo) * (np.arange(1, n) / n)
        snapped = np.unique([self.scale.snap(x) for x in even.tolist()])
        return snapped[(snapped > self.lo) & (snapped < self.hi)]

    def halfway(self, lo: float, hi: float) -> float:
        """Return the point at which to halve the cell [lo, hi) of the line; an end if it has one value."""
        middle = 0.5 * (lo + hi)
        row, x = self.read(middle)
        snapped = self.scale.snap(x)
        return middle if snapped == x else float(self._edges(np.array([row]), np.array([snapped]))[0])

    # -- functions ---------------------------------------------------------------------------------

    def on_rows(self, function: Any, at: float | None = None) -> Any:
        """Return a function that a problem has returned as a function on the line: here, unchanged.

        The point `at` names the row that was played; None: the function is defined on all rows.
        """
        return function

    def lay(self, function: Any, at: float | None = None) -> Piecewise:
        """Return feedback as a function on the line of weights; at an end it covers the margin."""
        function = self.on_rows(function, at)
        (a, b), (lo, hi) = self.span, (function.edges.item(0), function.edges.item(-1))
        if lo < a or hi > b:
            rows = f", {self.n_rows} rows laid end to end" if self.n_rows > 1 else ""
            raise ValueError(
                f"the function told must lie inside [{a:g}, {b:g}]{rows}, got one on [{lo!r}, {hi!r}]"
            )
        if self.margin:
            function = function.continued(self.ends[0] if lo == a else lo, self.ends[1] if hi == b else hi)
        return function  # type: ignore[no-any-return]

    def pieces(
        self, rows: npt.NDArray[Any], lo: FloatArray, hi: FloatArray, values: FloatArray
    ) -> PiecewiseConstant:
        """Return values on the intervals [lo, hi) of rows, in any order, as a function. O(m log m)."""
        edges, index = self.arrange(rows, lo, hi)
        return PiecewiseConstant.trusted(edges, np.append(values, math.nan)[index])

    def arrange(self, rows: npt.NDArray[Any], lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the edges of intervals of rows on the line, and the interval between each two; -1: none.

        An interval that contains no double gets the next double of its row, unless another
        interval has it.
        """
        left, right = self._edges(np.stack((rows, rows)), np.stack((lo, hi)))
        order = np.argsort(left, kind="stable")
        left, right = left[order], right[order]
        if not ((left < right).all() and (right[:-1] < left[1:]).all()):
            left, right, order = self._separated(left, right, self.starts[rows[order] + 1], order)
        edges, index = np.empty(2 * left.size), np.full(2 * left.size - 1, -1)
        edges[::2], edges[1::2], index[::2] = left, right, order
        wide = np.append(edges[1:] > edges[:-1], True)
        return edges[wide], index[wide[:-1]]

    def _separated(
        self, left: FloatArray, right: FloatArray, ends: FloatArray, order: IntArray
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return sorted intervals with at least one double each; `ends` are those of their rows."""
        late = left >= ends  # the end of a row belongs to the next row
        left[late], right[late] = np.nextafter(ends[late], -math.inf), ends[late]
        right[:-1] = np.where(late[1:], np.minimum(right[:-1], left[1:]), right[:-1])
        right = np.maximum(right, np.nextafter(left, math.inf))
        if (left[1:] < np.nextafter(right[:-1], -math.inf)).any():
            raise ValueError("the intervals of a row must not overlap")
        keep = np.append(left[1:] >= right[:-1], left[-1] < self.span[1])
        return left[keep], right[keep], order[keep]

    def _edges(self, rows: IntArray, rho: FloatArray) -> FloatArray:
        """Return the first points whose rho is at least the one given; ends of rows are exact."""
        starts, offsets = self.starts, self._offsets[rows]
        at = rho + offsets
        at = np.where(at - offsets < rho, np.nextafter(at, math.inf), at)
        at = np.where(rho <= self.lo, starts[rows], np.maximum(at, starts[rows]))
        placed: FloatArray = np.where(rho >= self.hi, starts[rows + 1], at)
        return placed

    def rows(self, function: Piecewise) -> list[Piecewise]:
        """Return a function on the line as one function of rho per row; nan where it is unseen.

        The row of a function on the line of weights, such as a density, includes the margin.
        """
        return [self.row(function, i) for i in range(self.n_rows)]

    def row(self, function: Piecewise, i: int) -> Piecewise:
        """Return the i-th of `rows`."""
        a, b = self.starts[i], self.starts[i + 1]
        if self.margin:
            a, b = min(a, function.edges[0]), max(b, function.edges[-1])
        inner = function.edges[(function.edges > a) & (function.edges < b)]
        edges = np.concatenate(([a], inner, [b]))
        left, right = function.spread(edges)
        if i:
            edges -= self._offsets[i]
            edges[0], edges[-1] = self.lo, self.hi
        wide = np.append(np.diff(edges) > 0.0, True)
        return function.of_ends(edges[wide], left[wide[:-1]], right[wide[:-1]])

    def argmin(self, function: Piecewise) -> tuple[int, tuple[float, float]]:
        """Return the widest interval within a row that attains the minimum: the row, and (lo, hi) in rho."""
        lowest = function.min()
        rows = enumerate(self.rows(function))
        found = [(i, row.argmin()) for i, row in rows if not row.unseen.all() and row.min() == lowest]
        i, (lo, hi) = max(found, key=lambda each: each[1][1] - each[1][0])
        return i, (self._clip(lo), self._clip(hi))

    def around(self, function: Piecewise, x: float) -> tuple[float, float]:
        """Return the interval of rho around the point x, within its row, on which a function is seen."""
        lo, hi = function.around(x)
        shift = self.shift(self.read(x)[0])
        return self._clip(lo - shift), self._clip(hi - shift)

    def _clip(self, rho: float) -> float:
        return self.lo if rho < self.lo else min(rho, self.hi)
