"""Strips: rho in an interval, and further parameters on a grid of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces.interval import Interval
from semibandit.spaces.line import Axis, Line

__all__ = ["Alpha", "Strips"]

# Further parameters of a row: a number, or a tuple; on knobs, the values of the other knobs.
Alpha = float | tuple[Any, ...]

# Largest distance between an alpha and that of its row, relative to the range.
_SAME_ALPHA = 1e-9
_UNIT = Interval(0.0, 1.0)


@dataclass(frozen=True)
class Strips:
    """Two parameters, rho in an interval and alpha on a grid: rows of fixed alpha, laid end to end.

    A function of both parameters becomes a function on one line, row after row; on [0, 1] row i is
    [i, i + 1). So every learner on an interval also learns here, and feedback may cover several rows. With
    one row the line is that of the interval.

    Parameters
    ----------
    n_rows
        Number of rows, evenly spaced and including both ends of `over` (one row: its middle). A tuple for
        several further parameters: the rows are the points of a product grid, the last parameter varies
        fastest. None: enough rows for a `horizon` of T rounds that every alpha is within 1/√T (of the
        range) of a row; by dispersion only Õ(√T) losses change on the way to it.
    interval
        Range of rho.
    over
        Range of alpha; a tuple of intervals for several further parameters.
    horizon
        The T of `n_rows=None`.

    Examples
    --------
    >>> space = Strips(3, Interval(0, 1))
    >>> space.alphas
    (0.0, 0.5, 1.0)
    >>> space.place(0.25, alpha=0.5), space.line.read(1.25)
    (1.25, (1, 0.25))
    >>> space.lay_rows({0: PiecewiseConstant([0.2, 0.4], [0.7]), 2: PiecewiseConstant([0, 1], [0.1])})
    PiecewiseConstant([0.2, 0.4, 2.0, 3.0], [0.7, nan, 0.1])
    >>> len(Strips(None, Interval(0, 1), horizon=1000)), len(Strips((4, 5), Interval(0, 1)))
    (17, 20)
    """

    n_rows: int | tuple[int, ...] | None
    interval: Interval
    over: Interval | tuple[Interval, ...] = _UNIT
    horizon: InitVar[int | None] = None

    def __post_init__(self, horizon: int | None) -> None:
        if not isinstance(self.interval, Interval):
            raise TypeError(f"interval must be an Interval, got {self.interval!r}")
        n_axes = max(len(axis) if isinstance(axis, tuple | list) else 1 for axis in (self.n_rows, self.over))
        counts = _numbers_of_rows(self.n_rows, n_axes, horizon)
        axes = tuple(self.over) if isinstance(self.over, tuple | list) else (self.over,) * n_axes
        for axis in axes:
            if not isinstance(axis, Interval) or axis.margin:
                raise TypeError(f"over must be an Interval without a margin, or several, got {self.over!r}")
        if len(axes) != len(counts):
            raise ValueError(
                f"n_rows and over must be given for the same number of parameters, "
                f"got {len(counts)} and {len(axes)}"
            )
        object.__setattr__(self, "n_rows", counts[0] if n_axes == 1 else counts)
        object.__setattr__(self, "over", axes[0] if n_axes == 1 else axes)
        if not self.line.fits:
            raise ValueError(f"{len(self)} rows over {self.interval!r} do not fit on a line of doubles")

    # -- rows --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows along each further parameter."""
        return self.n_rows if isinstance(self.n_rows, tuple) else (_validate.integer("n_rows", self.n_rows),)

    @cached_property
    def axes(self) -> tuple[tuple[float, ...], ...]:
        """Values of each further parameter."""
        over = self.over if isinstance(self.over, tuple) else (self.over,)
        return tuple(
            tuple(np.linspace(axis.lo, axis.hi, n).tolist()) if n > 1 else (0.5 * (axis.lo + axis.hi),)
            for n, axis in zip(self.shape, over, strict=True)
        )

    @cached_property
    def alphas(self) -> tuple[Alpha, ...]:
        """Alpha of each row: a number, or a tuple if there are several further parameters."""
        return self.axes[0] if len(self.axes) == 1 else tuple(product(*self.axes))

    @cached_property
    def directions(self) -> tuple[Axis, ...]:
        """Positions of the rows along each further parameter."""
        index = np.indices(self.shape).reshape(len(self.shape), -1)
        return tuple(Axis(index[i] / n, float(n)) for i, n in enumerate(self.shape))

    @property
    def names(self) -> tuple[str, ...]:
        """Empty: the arguments of problems are positional."""
        return ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return math.prod(self.shape)

    def row_of(self, alpha: Any) -> int:
        """Return the row of an alpha."""
        given = alpha if np.ndim(alpha) else (alpha,)
        if len(given) != len(self.axes):
            raise ValueError(f"alpha must have {len(self.axes)} entries, got {alpha!r}")
        row = 0
        for value, axis in zip(given, self.axes, strict=True):
            x = _validate.number("alpha", value)
            length = axis[-1] - axis[0]
            share = (x - axis[0]) / length if length > 0.0 else 0.0
            i = round(min(max(share, 0.0), 1.0) * (len(axis) - 1))  # rows are evenly spaced
            if abs(x - axis[i]) > _SAME_ALPHA * max(length, abs(axis[i])):
                raise ValueError(f"alpha must be that of a row, got {x!r}; the nearest row has {axis[i]!r}")
            row = row * len(axis) + i
        return row

    def coordinates(self, rho: float, alpha: Any) -> tuple[float, Alpha]:
        """Return (rho, alpha) as floats, alpha exactly that of its row; raise if outside of the space."""
        return self.interval.check(rho), self.alphas[self.row_of(alpha)]

    @cached_property
    def line(self) -> Line:
        """Line of a learner's weights: the rows, end to end."""
        return Line(self.interval.lo, self.interval.hi, self.interval.margin, len(self))

    @property
    def span(self) -> tuple[float, float]:
        """Ends of the line of functions, without margins."""
        return self.line.span

    def place(self, rho: float, alpha: Any) -> float:
        """Return the point of the line of functions for (rho, alpha)."""
        return self.line.at(self.row_of(alpha), self.interval.check(rho))

    def parameters(self, row: int, rho: float) -> tuple[Any, ...]:
        """Return the arguments of a problem's methods."""
        return rho, self.alphas[row]

    def from_rows(self, functions: Sequence[PiecewiseConstant]) -> PiecewiseConstant:
        """Return a function on the line, given one function of rho for each row."""
        return self.lay_rows(dict(enumerate(functions)))

    def describe(self) -> str:
        """Return what a learner and its problems must agree on; the margin is the learner's own."""
        return f"{self.n_rows} rows of {self.interval.describe()} over {self.over}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `spaces.restore`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Strips:
        """Return the strips from their `to_dict`."""
        if not (isinstance(data, dict) and data.keys() >= {"n_rows", "over", "interval"}):
            raise ValueError(f"data must be a dict with 'n_rows', 'over' and 'interval', got {data!r}")
        n_rows, over = data["n_rows"], data["over"]
        return cls(
            tuple(n_rows) if isinstance(n_rows, list | tuple) else n_rows,
            Interval(**data["interval"]),
            Interval(**over) if isinstance(over, dict) else tuple(Interval(**axis) for axis in over),
        )

    def row(self, function: Piecewise, row: int) -> Piecewise:
        """Return one row of a function on the line, as a function of rho; nan where it is unseen."""
        return self.line.row(function, row)

    # -- building functions on the line ------------------------------------------------------------

    def lay_rows(self, functions: Mapping[int, PiecewiseConstant]) -> PiecewiseConstant:
        """Return a function on the line, given functions of rho for some rows; the other rows are unseen."""
        rows, lo, hi, values = [], [], [], []
        for row, function in functions.items():
            if not 0 <= _validate.integer("a row", row) < len(self):
                raise ValueError(f"a row must be in 0 to {len(self) - 1}, got {row}")
            if not isinstance(function, PiecewiseConstant):
                raise TypeError(f"functions[{row}] must be a PiecewiseConstant, got {function!r}")
            rows.append(np.full(len(function), row))
            lo.append(function.edges[:-1])
            hi.append(function.edges[1:])
            values.append(function.values)
        if not rows:
            raise ValueError("functions must hold at least one row, got none")
        return self.lay_pieces(*map(np.concatenate, (rows, lo, hi, values)))

    def lay_boxes(self, *boxes: tuple[Any, ...]) -> PiecewiseConstant:
        """Return a function on the line, given values on axis-aligned boxes.

        A box is ((rho_lo, rho_hi), (alpha_lo, alpha_hi), value), with a pair for each further parameter. It
        is half-open, but closed at the ends of the space. Boxes must not overlap. As feedback for a learner
        they must be one set of a partition of the space.

        >>> Strips(3, Interval(0, 1)).lay_boxes(((0.25, 0.5), (0.0, 0.7), 0.3))
        PiecewiseConstant([0.25, 0.5, 1.25, 1.5], [0.3, nan, 0.3])
        """
        pieces: list[tuple[int, float, float, float]] = []
        for box in boxes:
            if len(box) != 2 + len(self.axes):
                raise ValueError(
                    f"a box must be {1 + len(self.axes)} pairs (lo, hi), for rho and each further parameter, "
                    f"and a value, got {box!r}"
                )
            lo, hi = _pair("rho", box[0])
            value = _validate.number("the value of a box", box[-1])
            inside = [
                _within(*_pair("alpha", pair), axis) for pair, axis in zip(box[1:-1], self.axes, strict=True)
            ]
            for index in product(*inside):
                pieces.append((int(np.ravel_multi_index(index, self.shape)), lo, hi, value))
        if not pieces:
            raise ValueError(f"the boxes hold no row: {boxes!r}")
        rows, los, his, values = zip(*pieces, strict=True)
        return self.lay_pieces(np.array(rows), np.array(los), np.array(his), np.array(values))

    def lay_pieces(
        self, rows: npt.NDArray[Any], lo: FloatArray, hi: FloatArray, values: FloatArray
    ) -> PiecewiseConstant:
        """Return a function on the line, given values on the intervals [lo, hi) of rows. O(m log m).

        The intervals may be in any order. For families: the values, finite or nan, are not checked.
        """
        a, b = self.interval.span
        if not (a <= lo.min() and (lo < hi).all() and hi.max() <= b):
            i = int(((lo >= a) & (lo < hi) & (hi <= b)).argmin())
            raise ValueError(
                f"an interval must satisfy {a:g} <= lo < hi <= {b:g}, got lo = {lo[i]!s}, hi = {hi[i]!s}"
            )
        return self.line.pieces(rows, lo, hi, values)


def _numbers_of_rows(n_rows: Any, n_axes: int, horizon: int | None) -> tuple[int, ...]:
    if n_rows is None:
        if horizon is None:
            raise ValueError("give n_rows, or a horizon to choose it by")
        # Rows are 1/(n - 1) apart: every point is within √n_axes/2 of that distance of a row.
        reach = 0.5 * math.sqrt(n_axes * _validate.integer("horizon", horizon, low=1))
        return (math.ceil(reach) + 1,) * n_axes
    counts: Iterable[Any] = n_rows if isinstance(n_rows, tuple | list) else (n_rows,) * n_axes
    return tuple(_validate.integer("n_rows", n, low=1) for n in counts)


def _pair(name: str, pair: Any) -> tuple[float, float]:
    lo, hi = _validate.vector(f"the range of {name} of a box", pair, length=2)
    if not lo < hi:
        raise ValueError(f"the range of {name} of a box must be (lo, hi) with lo < hi, got {pair!r}")
    return float(lo), float(hi)


def _within(lo: float, hi: float, axis: tuple[float, ...]) -> list[int]:
    """Return the indices of the values in [lo, hi); the end of the axis is closed."""
    return [i for i, x in enumerate(axis) if lo <= x < hi or (x == hi and i == len(axis) - 1)]
