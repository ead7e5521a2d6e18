"""Step functions that may be known on a part of the line only: the type that carries all feedback."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["PiecewiseConstant"]


class PiecewiseConstant:
    """A right-continuous step function on [edges[0], edges[-1]], the last end closed.

    Immutable. A value may be nan: the function was not seen there.

    Parameters
    ----------
    edges
        Strictly increasing numbers, a finite distance apart, one more than there are values.
    values
        The value on [edges[i], edges[i + 1]); finite, or nan where nothing was seen.

    Examples
    --------
    >>> f = PiecewiseConstant([0, 1, 3], [0.5, 0.2])
    >>> f(1), f(3)
    (0.2, 0.2)
    >>> f.argmin()
    (1.0, 3.0)
    >>> f + PiecewiseConstant([0, 2, 3], [0, 1])
    PiecewiseConstant([0.0, 1.0, 2.0, 3.0], [0.5, 0.2, 1.2])
    """

    __slots__ = ("edges", "values")
    __array_ufunc__ = None  # an array does not add or multiply a function to each of its entries
    edges: FloatArray
    values: FloatArray

    def __init__(self, edges: npt.ArrayLike, values: npt.ArrayLike) -> None:
        e, v = _frozen("edges", edges), _frozen("values", values)
        if v.size == 0:
            raise ValueError("values must have at least one entry, got none")
        if e.size != v.size + 1:
            raise ValueError(
                f"edges must have one entry more than values, got {e.size} edges and {v.size} values"
            )
        # Strictly increasing rules out nan anywhere and infinities but at the ends.
        if not ((e[1:] > e[:-1]).all() and math.isfinite(float(e[-1]) - float(e[0]))):
            raise ValueError(
                f"edges must be strictly increasing and a finite distance apart, got {_fault(e)}"
            )
        _require_finite(v)
        self._set(e, v)

    @classmethod
    def constant(cls, lo: float, hi: float, value: float) -> PiecewiseConstant:
        """One piece: `value` on [lo, hi]. The quick way to write the feedback of a single interval.

        >>> PiecewiseConstant.constant(0.2, 0.3, 0.7)
        PiecewiseConstant([0.2, 0.3], [0.7])
        """
        try:
            length, unlimited = hi - lo, math.isinf(value)
        except (TypeError, OverflowError):
            _validate.number("lo", lo)
            _validate.number("hi", hi)
            _validate.number("value", value)
            raise
        if not 0.0 < length < math.inf:
            raise ValueError(f"lo and hi must be a finite distance apart, lo < hi, got {lo!r} and {hi!r}")
        if unlimited:
            raise ValueError(f"value must be finite or nan (not seen), got {value!r}")
        words = np.array((lo, hi, value), np.float64)
        words.flags.writeable = False  # and with it the two views
        function = cls.__new__(cls)
        function._set(words[:2], words[2:])
        return function

    @classmethod
    def _trusted(cls, edges: FloatArray, values: FloatArray) -> PiecewiseConstant:
        """Take over fresh arrays that are known to be valid."""
        function = cls.__new__(cls)
        edges.flags.writeable = False
        values.flags.writeable = False
        function._set(edges, values)
        return function

    def _set(self, edges: FloatArray, values: FloatArray) -> None:
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "values", values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"PiecewiseConstant is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"PiecewiseConstant is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseConstant, (np.array(self.edges), np.array(self.values))

    # -- reading ---------------------------------------------------------------------------------

    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: npt.NDArray[Any] | list[float]) -> FloatArray: ...
    def __call__(self, x: Any) -> Any:
        """The value at x (a number or an array), nan where it was not seen. O(log pieces) each."""
        points = _validate.floats("x", x, "a number or an array of numbers")
        outside = ~((points >= self.edges[0]) & (points <= self.edges[-1]))
        if outside.any():
            culprit = float(points[outside].flat[0]) if points.ndim else float(points)
            raise ValueError(f"x must be in [{self.edges[0]!s}, {self.edges[-1]!s}], got {culprit!r}")
        result = self.values[self._index(points)]
        return result if points.ndim else float(result)

    def piece(self, x: float) -> tuple[float, float, float]:
        """The piece that x lies in, as (lo, hi, value)."""
        value = self(x)
        i = int(self._index(np.float64(x)))
        return float(self.edges[i]), float(self.edges[i + 1]), value

    def _index(self, x: Any) -> Any:
        return np.minimum(np.searchsorted(self.edges, x, side="right") - 1, self.values.size - 1)

    def __len__(self) -> int:
        """The number of pieces."""
        return self.values.size

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Where the function is seen: ((lo, hi), ...), neighbours joined."""
        seen = np.concatenate(([False], ~np.isnan(self.values), [False]))
        change = np.flatnonzero(seen[1:] != seen[:-1])
        return tuple((float(self.edges[a]), float(self.edges[b])) for a, b in change.reshape(-1, 2))

    @property
    def widths(self) -> FloatArray:
        """The length of each piece."""
        return np.diff(self.edges)

    def integral(self) -> float:
        """The integral over the domain."""
        return float(np.nansum(self.values * self.widths))

    def mean(self) -> float:
        """The average over the domain."""
        self._require_seen("mean")
        seen = ~np.isnan(self.values)
        widths = self.widths[seen]
        # Shares first: value times width may leave the range of floats.
        return float(np.dot(self.values[seen], widths / widths.sum()))

    def min(self) -> float:
        """The smallest value seen."""
        self._require_seen("min")
        return float(np.nanmin(self.values))

    def argmin(self) -> tuple[float, float]:
        """The widest interval (lo, hi) on which the minimum is attained, the leftmost of equals."""
        lowest = self.min()
        lowest_only = np.where(self.values == lowest, lowest, np.nan)
        stretches = PiecewiseConstant._trusted(self.edges, lowest_only).domain
        return max(stretches, key=lambda stretch: stretch[1] - stretch[0])

    def _require_seen(self, what: str) -> None:
        if np.isnan(self.values).all():
            raise ValueError(f"{what} of a function that was seen nowhere")

    # -- deriving --------------------------------------------------------------------------------

    def compress(self) -> PiecewiseConstant:
        """The same function with equal neighbours joined.

        >>> PiecewiseConstant([0, 1, 2, 3], [0.5, 0.5, 0.1]).compress()
        PiecewiseConstant([0.0, 2.0, 3.0], [0.5, 0.1])
        """
        v = self.values
        differs = (v[1:] != v[:-1]) & ~(np.isnan(v[1:]) & np.isnan(v[:-1]))
        inner = np.flatnonzero(differs) + 1
        keep = np.concatenate(([0], inner))
        return self._trusted(self.edges[np.append(keep, v.size)], v[keep])

    def restrict(self, lo: float, hi: float) -> PiecewiseConstant:
        """The function on [lo, hi], which must lie inside its span."""
        if not self.edges[0] <= lo < hi <= self.edges[-1]:
            raise ValueError(
                f"lo and hi must satisfy {self.edges[0]!s} <= lo < hi <= {self.edges[-1]!s}, "
                f"got {lo!r} and {hi!r}"
            )
        first = int(self._index(np.float64(lo)))
        last = int(np.searchsorted(self.edges, hi, side="left"))
        edges = np.array(self.edges[first : last + 1])
        edges[0], edges[-1] = lo, hi
        return self._trusted(edges, np.array(self.values[first:last]))

    def __add__(self, other: Any) -> PiecewiseConstant:
        """Pointwise sum with a function or a number; seen where both are."""
        if isinstance(other, PiecewiseConstant):
            edges = np.union1d(self.edges, other.edges)
            with np.errstate(over="ignore"):
                return PiecewiseConstant(edges, self._spread(edges) + other._spread(edges))
        if isinstance(other, int | float | np.floating | np.integer):
            with np.errstate(over="ignore"):
                return PiecewiseConstant(self.edges, self.values + _validate.number("the number", other))
        return NotImplemented

    __radd__ = __add__

    def __mul__(self, factor: Any) -> PiecewiseConstant:
        """Pointwise product with a number."""
        if isinstance(factor, int | float | np.floating | np.integer):
            with np.errstate(over="ignore"):
                return PiecewiseConstant(self.edges, self.values * _validate.number("the number", factor))
        return NotImplemented

    __rmul__ = __mul__

    def _spread(self, edges: FloatArray) -> FloatArray:
        """The values on a finer set of edges; nan outside the span."""
        left = edges[:-1]
        inside = (left >= self.edges[0]) & (left < self.edges[-1])
        return np.where(inside, self.values[self._index(np.where(inside, left, self.edges[0]))], np.nan)

    @staticmethod
    def sum(functions: Iterable[PiecewiseConstant]) -> PiecewiseConstant:
        """The pointwise sum of many functions by one sorted merge, seen where all of them are.

        O(N log N) for N edges in all. Values are added as integers (fixed point, 90 bits below the
        largest one), so that the result does not depend on the order, rounding does not build up along
        the line, and equal sums are equal: the minimum and where it is attained are exact.

        >>> PiecewiseConstant.sum([PiecewiseConstant([0, x, 1], [0, 1]) for x in (0.25, 0.5)])
        PiecewiseConstant([0.0, 0.25, 0.5, 1.0], [0.0, 1.0, 2.0])
        """
        if not isinstance(functions, Iterable):
            raise TypeError(f"functions must be a collection of functions, got {functions!r}")
        functions = list(functions)
        if not functions:
            raise ValueError("functions must hold at least one function, got none")
        if set(map(type, functions)) != {PiecewiseConstant}:
            i = next(i for i, f in enumerate(functions) if type(f) is not PiecewiseConstant)
            raise TypeError(f"functions[{i}] must be a PiecewiseConstant, got {functions[i]!r}")
        from semibandit.functions._merge import add_up

        edges = [f.edges for f in functions]
        sizes = np.array([e.size for e in edges])
        values = np.concatenate([f.values for f in functions])
        total_edges, total = add_up(np.concatenate(edges), values, sizes)
        _require_finite(total)
        return PiecewiseConstant._trusted(total_edges, total)

    # -- identity and exchange -------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewiseConstant):
            return NotImplemented
        return np.array_equal(self.edges, other.edges) and np.array_equal(
            self.values, other.values, equal_nan=True
        )

    def __hash__(self) -> int:
        # Adding zero makes -0.0 and 0.0, which are equal, hash alike.
        return hash((tuple(self.edges + 0.0), tuple(np.nan_to_num(self.values, nan=math.inf) + 0.0)))

    def __repr__(self) -> str:
        if len(self) <= 4:
            return f"PiecewiseConstant({self.edges.tolist()}, {self.values.tolist()})"
        if np.isnan(self.values).all():
            return f"<PiecewiseConstant on [{self.edges[0]:g}, {self.edges[-1]:g}], not seen anywhere>"
        unseen = float(self.widths[np.isnan(self.values)].sum() / (self.edges[-1] - self.edges[0]))
        note = f", {unseen:.1%} not seen" if unseen else ""
        return (
            f"<PiecewiseConstant on [{self.edges[0]:g}, {self.edges[-1]:g}]: {len(self)} pieces, "
            f"values {np.nanmin(self.values):g} to {np.nanmax(self.values):g}{note}>"
        )

    def to_dict(self) -> dict[str, list[float | None]]:
        """Plain lists, ready for JSON; None where nothing was seen."""
        return {
            "edges": self.edges.tolist(),
            "values": [None if math.isnan(value) else value for value in self.values.tolist()],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PiecewiseConstant:
        """Undo `to_dict`."""
        if not (isinstance(data, dict) and {"edges", "values"} <= data.keys()):
            raise ValueError(f"expected a dict with 'edges' and 'values', got {data!r}")
        values = data["values"]
        if not isinstance(values, list | tuple):
            raise TypeError(f"values must be a list of numbers and None, got {values!r}")
        return cls(data["edges"], [math.nan if value is None else value for value in values])


def _frozen(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.array(_validate.floats(name, values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    array.flags.writeable = False
    return array


def _require_finite(values: FloatArray) -> None:
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        where = int(infinite[0])
        raise ValueError(f"values must be finite or nan (not seen), got values[{where}] = {values[where]}")


def _fault(edges: FloatArray) -> str:
    """The first place where edges are not finite and increasing, for an error message."""
    for i, edge in enumerate(edges.tolist()):
        if not math.isfinite(edge):
            return f"edges[{i}] = {edge}"
        if i and edge <= edges[i - 1]:
            return f"edges[{i - 1}] = {edges[i - 1]!s}, edges[{i}] = {edge}"
    return f"edges[0] = {edges[0]!s} and edges[{edges.size - 1}] = {edges[-1]!s}"
