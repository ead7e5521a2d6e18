"""Piecewise linear functions that may be known on a part of the line only: losses such as prices make."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions.constant import PiecewiseConstant, _fault, _frozen

__all__ = ["Piecewise", "PiecewiseLinear"]


class PiecewiseLinear:
    """A right-continuous piecewise linear function on [edges[0], edges[-1]], the last end closed.

    Immutable. It may jump at its edges. A piece may be nan: the function was not seen there.

    Parameters
    ----------
    edges
        Strictly increasing numbers, a finite distance apart, one more than there are pieces.
    left
        The value at the left end of each piece, edges[i].
    right
        The value that the piece reaches at its right end, edges[i + 1]; the function has it there only at
        the very end, or where the next piece begins with it.

    Examples
    --------
    >>> f = PiecewiseLinear([0, 1, 3], [0, 1], [1, 0])
    >>> f(0.5), f(1), f(2.5)
    (0.5, 1.0, 0.25)
    >>> f.mean()
    0.5
    >>> f + PiecewiseConstant([0, 2, 3], [0, 1])
    PiecewiseLinear([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.5], [1.0, 0.5, 1.0])
    """

    __slots__ = ("edges", "left", "right")
    __array_ufunc__ = None  # an array does not add or multiply a function to each of its entries
    edges: FloatArray
    left: FloatArray
    right: FloatArray

    def __init__(self, edges: npt.ArrayLike, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        e, l, r = _frozen("edges", edges), _frozen("left", left), _frozen("right", right)
        if l.size == 0:
            raise ValueError("left must have at least one entry, got none")
        if not e.size - 1 == l.size == r.size:
            raise ValueError(
                "edges must have one entry more than left and right, "
                f"got {e.size} edges, {l.size} left and {r.size} right"
            )
        if not ((e[1:] > e[:-1]).all() and math.isfinite(float(e[-1]) - float(e[0]))):
            raise ValueError(
                f"edges must be strictly increasing and a finite distance apart, got {_fault(e)}"
            )
        for name, values in (("left", l), ("right", r)):
            if np.isinf(values).any():
                i = int(np.flatnonzero(np.isinf(values))[0])
                raise ValueError(f"{name} must be finite or nan (not seen), got {name}[{i}] = {values[i]}")
        if (np.isnan(l) != np.isnan(r)).any():
            i = int(np.flatnonzero(np.isnan(l) != np.isnan(r))[0])
            raise ValueError(f"a piece is seen at both ends or at none, got {l[i]} and {r[i]} for piece {i}")
        self._set(e, l, r)

    @classmethod
    def line(cls, lo: float, hi: float, left: float, right: float) -> PiecewiseLinear:
        """One piece: from `left` at lo to `right` at hi.

        >>> PiecewiseLinear.line(0.2, 0.4, 0.7, 0.5)(0.3)
        0.6
        """
        return cls([lo, hi], [left], [right])

    @classmethod
    def of(cls, function: Piecewise) -> PiecewiseLinear:
        """A step function as a piecewise linear one; a piecewise linear one as it is.

        >>> PiecewiseLinear.of(PiecewiseConstant([0, 1], [0.5]))
        PiecewiseLinear([0.0, 1.0], [0.5], [0.5])
        """
        if isinstance(function, PiecewiseLinear):
            return function
        if not isinstance(function, PiecewiseConstant):
            raise TypeError(f"function must be a PiecewiseConstant or PiecewiseLinear, got {function!r}")
        return cls._trusted(function.edges, function.values, function.values)

    @classmethod
    def _trusted(cls, edges: FloatArray, left: FloatArray, right: FloatArray) -> PiecewiseLinear:
        """Take over fresh arrays that are known to be valid."""
        function = cls.__new__(cls)
        for array in (edges, left, right):
            array.flags.writeable = False
        function._set(edges, left, right)
        return function

    def _set(self, edges: FloatArray, left: FloatArray, right: FloatArray) -> None:
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"PiecewiseLinear is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"PiecewiseLinear is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseLinear, (np.array(self.edges), np.array(self.left), np.array(self.right))

    # -- reading ---------------------------------------------------------------------------------

    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: npt.NDArray[Any] | list[float]) -> FloatArray: ...
    def __call__(self, x: Any) -> Any:
        """The value at x (a number or an array), nan where it was not seen. O(log pieces) each."""
        self._starts(x)  # raises where x is outside
        points = np.asarray(x, dtype=np.float64)
        result = self._at(points, self._starts._index(points))
        return result if points.ndim else float(result)

    def _at(self, x: Any, piece: Any) -> Any:
        """The lines of the pieces at x: exact at both ends, and between them."""
        lo, hi = self.edges[piece], self.edges[piece + 1]
        left, right = self.left[piece], self.right[piece]
        share = (x - lo) / (hi - lo)
        value = left * (1.0 - share) + right * share
        return np.clip(value, np.minimum(left, right), np.maximum(left, right))

    def piece(self, x: float) -> tuple[float, float, float, float]:
        """The piece that x lies in, as (lo, hi, left, right)."""
        lo, hi, left = self._starts.piece(x)
        return lo, hi, left, float(self.right[self._starts._index(np.float64(x))])

    @property
    def _starts(self) -> PiecewiseConstant:
        """The step function of the left ends: it has the same pieces."""
        return PiecewiseConstant._trusted(self.edges, self.left)

    def __len__(self) -> int:
        """The number of pieces."""
        return self.left.size

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Where the function is seen: ((lo, hi), ...), neighbours joined."""
        return self._starts.domain

    @property
    def widths(self) -> FloatArray:
        """The length of each piece."""
        return np.diff(self.edges)

    @property
    def slopes(self) -> FloatArray:
        """The slope of each piece."""
        with np.errstate(over="ignore"):
            return (self.right - self.left) / self.widths

    @property
    def _middles(self) -> PiecewiseConstant:
        """The step function of the means: it has the same integrals."""
        return PiecewiseConstant._trusted(self.edges, 0.5 * self.left + 0.5 * self.right)

    def integral(self) -> float:
        """The integral over the domain."""
        return self._middles.integral()

    def mean(self) -> float:
        """The average over the domain."""
        return self._middles.mean()

    def min(self) -> float:
        """The smallest value seen, or approached from the left at a jump."""
        return float(min(self._starts.min(), np.nanmin(self.right)))

    def argmin(self) -> tuple[float, float]:
        """Where the minimum is attained: the widest interval (lo, hi), or else the leftmost point (x, x).

        A minimum that is only approached, from the left at a jump, is taken to be at the number just left
        of the jump.

        >>> PiecewiseLinear([0, 1, 2], [1, 0], [0, 1]).argmin()
        (1.0, 1.0)
        >>> PiecewiseLinear([0, 1, 2], [1, 1], [0, 1]).argmin()
        (0.9999999999999999, 0.9999999999999999)
        """
        lowest = self.min()
        flat = (self.left == lowest) & (self.right == lowest)
        if flat.any():
            return PiecewiseConstant._trusted(self.edges, np.where(flat, 0.0, np.nan)).argmin()
        first = int(np.flatnonzero((self.left == lowest) | (self.right == lowest))[0])
        if self.left[first] == lowest:
            x = float(self.edges[first])
        else:
            x = float(self.edges[first + 1])
            if first + 1 < len(self) and self.left[first + 1] != lowest:
                x = math.nextafter(x, -math.inf)
        return x, x

    # -- deriving --------------------------------------------------------------------------------

    def compress(self) -> PiecewiseLinear:
        """The same function with neighbours joined that continue each other with the same slope.

        >>> PiecewiseLinear([0, 1, 2], [0, 0.5], [0.5, 1]).compress()
        PiecewiseLinear([0.0, 2.0], [0.0], [1.0])
        """
        slopes = self.slopes
        unseen = np.isnan(self.left)
        same = (self.right[:-1] == self.left[1:]) & (slopes[:-1] == slopes[1:])
        inner = np.flatnonzero(~(same | (unseen[:-1] & unseen[1:]))) + 1
        first, last = np.concatenate(([0], inner)), np.append(inner, len(self)) - 1
        return self._trusted(self.edges[np.append(first, len(self))], self.left[first], self.right[last])

    def restrict(self, lo: float, hi: float) -> PiecewiseLinear:
        """The function on [lo, hi], which must lie inside its span."""
        edges = np.array(self._starts.restrict(lo, hi).edges)
        return self._trusted(edges, *self._spread(edges))

    def __add__(self, other: Any) -> PiecewiseLinear:
        """Pointwise sum with a function or a number; seen where both are."""
        if isinstance(other, PiecewiseLinear | PiecewiseConstant):
            edges = np.union1d(self.edges, other.edges)
            mine, theirs = self._spread(edges), PiecewiseLinear.of(other)._spread(edges)
            with np.errstate(over="ignore"):
                return PiecewiseLinear(edges, mine[0] + theirs[0], mine[1] + theirs[1])
        if isinstance(other, int | float | np.floating | np.integer):
            shift = _validate.number("the number", other)
            with np.errstate(over="ignore"):
                return PiecewiseLinear(self.edges, self.left + shift, self.right + shift)
        return NotImplemented

    __radd__ = __add__

    def __mul__(self, factor: Any) -> PiecewiseLinear:
        """Pointwise product with a number."""
        if isinstance(factor, int | float | np.floating | np.integer):
            factor = _validate.number("the number", factor)
            with np.errstate(over="ignore"):
                return PiecewiseLinear(self.edges, self.left * factor, self.right * factor)
        return NotImplemented

    __rmul__ = __mul__

    def _spread(self, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The left and right ends on a finer set of edges; nan outside the span."""
        lo, hi = edges[:-1], edges[1:]
        inside = (lo >= self.edges[0]) & (lo < self.edges[-1])
        lo, hi = np.where(inside, lo, self.edges[0]), np.where(inside, hi, self.edges[1])
        piece = self._starts._index(lo)
        return (
            np.where(inside, self._at(lo, piece), np.nan),
            np.where(inside, self._at(hi, piece), np.nan),
        )

    @staticmethod
    def sum(functions: Iterable[Piecewise]) -> PiecewiseLinear:
        """The pointwise sum of many functions by one sorted merge, seen where all of them are.

        Step functions may be among them. O(N log N) for N edges in all. Values and slopes are carried
        along the line with 106 bits, so that rounding does not build up.

        >>> PiecewiseLinear.sum([PiecewiseLinear([0, x, 1], [0, 1], [1, 1]) for x in (0.25, 0.5)])
        PiecewiseLinear([0.0, 0.25, 0.5, 1.0], [0.0, 1.5, 2.0], [1.5, 2.0, 2.0])
        """
        if not isinstance(functions, Iterable):
            raise TypeError(f"functions must be a collection of functions, got {functions!r}")
        linear = [PiecewiseLinear.of(function) for function in functions]
        if not linear:
            raise ValueError("functions must hold at least one function, got none")
        from semibandit.functions._merge_linear import add_up

        ends = np.column_stack(
            (np.concatenate([f.left for f in linear]), np.concatenate([f.right for f in linear]))
        )
        edges, total = add_up(
            np.concatenate([f.edges for f in linear]), ends, np.array([f.edges.size for f in linear])
        )
        return PiecewiseLinear(edges, total[:, 0], total[:, 1])

    # -- identity and exchange -------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewiseLinear):
            return NotImplemented
        return (
            np.array_equal(self.edges, other.edges)
            and np.array_equal(self.left, other.left, equal_nan=True)
            and np.array_equal(self.right, other.right, equal_nan=True)
        )

    def __hash__(self) -> int:
        # Adding zero makes -0.0 and 0.0, which are equal, hash alike.
        ends = np.nan_to_num(np.concatenate((self.left, self.right)), nan=math.inf) + 0.0
        return hash((tuple(self.edges + 0.0), tuple(ends)))

    def __repr__(self) -> str:
        if len(self) <= 4:
            return f"PiecewiseLinear({self.edges.tolist()}, {self.left.tolist()}, {self.right.tolist()})"
        span = f"<PiecewiseLinear on [{self.edges[0]:g}, {self.edges[-1]:g}]"
        if np.isnan(self.left).all():
            return f"{span}, not seen anywhere>"
        unseen = float(self.widths[np.isnan(self.left)].sum() / (self.edges[-1] - self.edges[0]))
        note = f", {unseen:.1%} not seen" if unseen else ""
        highest = max(np.nanmax(self.left), np.nanmax(self.right))
        return f"{span}: {len(self)} pieces, values {self.min():g} to {highest:g}{note}>"

    def to_dict(self) -> dict[str, list[float | None]]:
        """Plain lists, ready for JSON; None where nothing was seen."""
        return {
            "edges": self.edges.tolist(),
            "left": [None if math.isnan(value) else value for value in self.left.tolist()],
            "right": [None if math.isnan(value) else value for value in self.right.tolist()],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PiecewiseLinear:
        """Undo `to_dict`."""
        if not (isinstance(data, dict) and {"edges", "left", "right"} <= data.keys()):
            raise ValueError(f"expected a dict with 'edges', 'left' and 'right', got {data!r}")
        ends = []
        for name in ("left", "right"):
            if not isinstance(data[name], list | tuple):
                raise TypeError(f"{name} must be a list of numbers and None, got {data[name]!r}")
            ends.append([math.nan if value is None else value for value in data[name]])
        return cls(data["edges"], *ends)


Piecewise = PiecewiseConstant | PiecewiseLinear
