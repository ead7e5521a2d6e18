"""Several parameters on one line: rows of the space, laid end to end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces.axes import Axis
from semibandit.spaces.interval import Interval
from semibandit.spaces.line import Line

__all__ = ["Alpha", "Strips"]

# What names a row: a number, or one for each further parameter; on knobs, the values of the others.
Alpha = float | tuple[Any, ...]

# An alpha this close to that of a row, relative to the range, names the row.
_SAME_ALPHA = 1e-9
_UNIT = Interval(0.0, 1.0)


@dataclass(frozen=True)
class Strips:
    """Two parameters, rho in an interval and alpha on a grid: rows of fixed alpha, laid end to end.

    A function of both parameters becomes a step function on one line, row after row; on [0, 1] row i takes
    up [i, i + 1). So all that learns on an interval learns here too, and feedback may be seen on several
    rows at once. With one row the line is that of the interval.

    Parameters
    ----------
    n_rows
        The number of rows; evenly spaced, both ends of `over` among them (one row: its middle). A tuple for
        several further parameters: rows are then the points of a product grid, the last parameter moving
        fastest. None: so many that the nearest row is never further than 1/√T (of the range) for a horizon
        of T rounds. By dispersion at most Õ(√T) losses change on the way to it.
    interval
        Where rho lives.
    over
        Where alpha lives; a tuple of intervals for several further parameters.
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
        if not (np.diff(self.line.starts) > 0.0).all() or not math.isfinite(
            self.line.ends[1] - self.line.ends[0]
        ):
            raise ValueError(f"{len(self)} rows over {self.interval!r} do not fit on a line of doubles")

    # -- rows --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows along each further parameter."""
        return self.n_rows if isinstance(self.n_rows, tuple) else (_validate.integer("n_rows", self.n_rows),)

    @cached_property
    def axes(self) -> tuple[tuple[float, ...], ...]:
        """The values that each further parameter takes."""
        over = self.over if isinstance(self.over, tuple) else (self.over,)
        return tuple(
            tuple(np.linspace(axis.lo, axis.hi, n).tolist()) if n > 1 else (0.5 * (axis.lo + axis.hi),)
            for n, axis in zip(self.shape, over, strict=True)
        )

    @cached_property
    def alphas(self) -> tuple[Alpha, ...]:
        """The alpha of each row: a number, or a tuple where there are several further parameters."""
        return self.axes[0] if len(self.axes) == 1 else tuple(product(*self.axes))

    @cached_property
    def directions(self) -> tuple[Axis, ...]:
        """Where the rows lie along each further parameter."""
        index = np.indices(self.shape).reshape(len(self.shape), -1)
        return tuple(Axis(index[i] / n, float(n)) for i, n in enumerate(self.shape))

    @property
    def names(self) -> tuple[str, ...]:
        """Problems are called by position."""
        return ()

    @property
    def finest(self) -> Strips:
        """The space with all rows that it may have: this one."""
        return self

    def finer(self, shares: FloatArray) -> None:
        """Rows stay as they are."""
        return None

    def __len__(self) -> int:
        """The number of rows."""
        return math.prod(self.shape)

    def row_of(self, alpha: Any) -> int:
        """The row of this alpha."""
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

    def check(self, rho: float, alpha: Any) -> tuple[float, Alpha]:
        """(rho, alpha) as floats, alpha exactly that of its row, or an error that names the space."""
        return self.interval.check(rho), self.alphas[self.row_of(alpha)]

    @cached_property
    def line(self) -> Line:
        """The line that a learner works on: the rows, end to end."""
        return Line(self.interval.lo, self.interval.hi, self.interval.margin, len(self))

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the line that functions of the parameters are on; margins aside."""
        return self.line.span

    def place(self, rho: float, alpha: Any) -> float:
        """The point of the line that functions are on which stands for (rho, alpha)."""
        return self.line.at(self.row_of(alpha), self.interval.check(rho))

    def parameters(self, row: int, rho: float) -> tuple[Any, ...]:
        """What the methods of a problem take."""
        return rho, self.alphas[row]

    def describe(self) -> str:
        """What a learner and its problems must agree on; margins are the learner's own."""
        return f"{self.n_rows} rows of {self.interval.describe()} over {self.over}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `spaces.restore` undoes it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Strips:
        """Undo `to_dict`."""
        if not (isinstance(data, dict) and data.keys() >= {"n_rows", "over", "interval"}):
            raise ValueError(f"data must be a dict with 'n_rows', 'over' and 'interval', got {data!r}")
        n_rows, over = data["n_rows"], data["over"]
        return cls(
            tuple(n_rows) if isinstance(n_rows, list | tuple) else n_rows,
            Interval(**data["interval"]),
            Interval(**over) if isinstance(over, dict) else tuple(Interval(**axis) for axis in over),
        )

    def row(self, function: Piecewise, row: int) -> Piecewise:
        """A function on the line, restricted to a row, as a function of rho; nan where it is not seen."""
        return self.line.row(function, row)

    # -- building functions on the line ------------------------------------------------------------

    def lay_rows(self, functions: Mapping[int, PiecewiseConstant]) -> PiecewiseConstant:
        """Functions of rho, by their row, as one function on the line; other rows are not seen."""
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
        """Values on axis-aligned boxes, as a function on the line.

        A box is ((rho_lo, rho_hi), (alpha_lo, alpha_hi), value), with a pair for each further parameter;
        half-open, but closed where the space ends. Boxes must not overlap. A learner that is told what this
        returns learns from boxes; they must be those of a partition of the space.

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
        """Values on [lo, hi) in rows, given as arrays in any order, as a function on the line. O(m log m).

        For families: values are taken as they are, finite or nan.
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
        # The nearest of rows 1/(n - 1) apart is √n_axes/2 times that away at most.
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
    """The places of an axis in [lo, hi); the end of the axis is closed."""
    return [i for i, x in enumerate(axis) if lo <= x < hi or (x == hi and i == len(axis) - 1)]
