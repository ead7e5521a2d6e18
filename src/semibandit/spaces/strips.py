"""Strips: rho in an interval, and a second parameter on a grid of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import InitVar, asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces.interval import Interval
from semibandit.spaces.line import Axis, Line

__all__ = ["Alpha", "Strips"]

# Further parameters of a row: a number, or on knobs the values of the other knobs.
Alpha = float | tuple[Any, ...]

# Largest distance between an alpha and that of its row, relative to the range.
_SAME_ALPHA = 1e-9
_UNIT = Interval(0.0, 1.0)


@dataclass(frozen=True)
class Strips:
    """Two parameters, rho in an interval and alpha on a grid: rows of fixed alpha, laid end to end.

    A function of both parameters becomes a function on one line, row after row; on [0, 1] row i is
    [i, i + 1). So every learner on an interval also learns here, and feedback may cover several rows. For
    more than two parameters use `Knobs`.

    Parameters
    ----------
    n_rows
        Number of rows, evenly spaced and including both ends of `over` (one row: its middle). None: the
        fewest rows such that the distance of every alpha to a row is at most 1/√T of the range, for a
        `horizon` of T rounds. On a stream with β = 1/2 only Õ(√T) losses break over this distance.
    interval
        Range of rho, without a margin.
    over
        Range of alpha.
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
    >>> len(Strips(None, Interval(0, 1), horizon=1000))
    17
    """

    n_rows: int | None
    interval: Interval
    over: Interval = _UNIT
    horizon: InitVar[int | None] = None

    names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self, horizon: int | None) -> None:
        for name, interval in (("interval", self.interval), ("over", self.over)):
            if not isinstance(interval, Interval) or interval.margin:
                raise TypeError(f"{name} must be an Interval without a margin, got {interval!r}")
        n_rows = self.n_rows
        if n_rows is None:
            if horizon is None:
                raise ValueError("give n_rows, or a horizon to choose it by")
            # Rows are 1/(n - 1) apart: every point is within half of that distance of a row.
            n_rows = math.ceil(0.5 * math.sqrt(_validate.integer("horizon", horizon, low=1))) + 1
        object.__setattr__(self, "n_rows", _validate.integer("n_rows", n_rows, low=1))
        self.line.require_doubles()

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.line.n_rows

    @cached_property
    def alphas(self) -> tuple[float, ...]:
        """Alpha of each row."""
        lo, hi = self.over.span
        return tuple(np.linspace(lo, hi, len(self)).tolist()) if len(self) > 1 else (0.5 * (lo + hi),)

    @cached_property
    def directions(self) -> tuple[Axis, ...]:
        """Positions of the rows along alpha."""
        return (Axis(np.arange(len(self)) / len(self), float(len(self))),)

    @cached_property
    def line(self) -> Line:
        """Line of a learner's weights: the rows, end to end."""
        return Line(*self.interval.span, n_rows=int(self.n_rows or 1))

    def row_of(self, alpha: float) -> int:
        """Return the row of an alpha."""
        x, n = _validate.number("alpha", alpha), len(self)
        share = (x - self.alphas[0]) / self.over.width
        row = round(min(max(share, 0.0), 1.0) * (n - 1))
        nearest = self.alphas[row]
        if abs(x - nearest) > _SAME_ALPHA * max(self.over.width, abs(nearest)):
            raise ValueError(f"alpha must be that of a row, got {x!r}; the nearest row has {nearest!r}")
        return row

    def place(self, rho: float, alpha: float) -> float:
        """Return the point of the line for (rho, alpha)."""
        return self.line.at(self.row_of(alpha), self.interval.check(rho))

    def coordinates(self, rho: float, alpha: float) -> tuple[float, float]:
        """Return rho, and the alpha of its row, checked."""
        return self.interval.check(rho), self.alphas[self.row_of(alpha)]

    def parameters(self, row: int, rho: float) -> tuple[Any, ...]:
        """Return the arguments of a problem's methods."""
        return rho, self.alphas[row]

    def describe(self) -> str:
        """Return the description that must be the same for a learner and its problems."""
        return f"{self.n_rows} rows of {self.interval.describe()} over {self.over}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `spaces.restore`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Strips:
        """Return the strips from their `to_dict`."""
        if not (isinstance(data, dict) and data.keys() >= {"n_rows", "over", "interval"}):
            raise ValueError(f"data must be a dict with 'n_rows', 'over' and 'interval', got {data!r}")
        return cls(data["n_rows"], Interval(**data["interval"]), Interval(**data["over"]))

    # -- functions on the line ---------------------------------------------------------------------

    def row(self, function: Piecewise, row: int) -> Piecewise:
        """Return one row of a function on the line, as a function of rho; nan where it is unseen."""
        return self.line.row(function, row)

    def lay_rows(self, functions: Mapping[int, PiecewiseConstant]) -> PiecewiseConstant:
        """Return a function on the line, given functions of rho for some rows; the other rows are unseen."""
        if not functions:
            raise ValueError("functions must hold at least one row, got none")
        pieces = []
        for row, function in functions.items():
            if not 0 <= _validate.integer("a row", row) < len(self):
                raise ValueError(f"a row must be in 0 to {len(self) - 1}, got {row}")
            if not isinstance(function, PiecewiseConstant):
                raise TypeError(f"functions[{row}] must be a PiecewiseConstant, got {function!r}")
            rows = np.full(len(function), row)
            pieces.append((rows, function.edges[:-1], function.edges[1:], function.values))
        return self.lay_pieces(*map(np.concatenate, zip(*pieces, strict=True)))

    def lay_pieces(
        self, rows: npt.NDArray[Any], lo: FloatArray, hi: FloatArray, values: FloatArray
    ) -> PiecewiseConstant:
        """Return a function on the line, given values on the intervals [lo, hi) of rows. O(m log m).

        The intervals may be in any order. For families: the values, finite or nan, are not checked.
        """
        a, b = self.interval.span
        bad = ~((lo >= a) & (lo < hi) & (hi <= b))
        if bad.any():
            i = int(bad.argmax())
            raise ValueError(
                f"an interval must satisfy {a:g} <= lo < hi <= {b:g}, got lo = {lo[i]!s}, hi = {hi[i]!s}"
            )
        return self.line.pieces(rows, lo, hi, values)
