"""Base class of piecewise functions of the parameter."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["Piecewise"]


class Piecewise:
    """A right-continuous function on [edges[0], edges[-1]], the last end closed, seen in part.

    Immutable. Each piece is a polynomial of at most `degree`, given by the `columns`, or nan where the
    function was not observed. A subclass defines how columns are evaluated (`at`), built from the values at
    both ends of the pieces (`of_ends`), and added (`sum`).
    """

    __slots__ = ("edges",)
    __array_ufunc__ = None  # array + function is not elementwise
    degree: ClassVar[int]
    columns: ClassVar[tuple[str, ...]]
    edges: FloatArray

    def __init__(self, edges: npt.ArrayLike, *columns: npt.ArrayLike) -> None:
        e = _frozen("edges", edges)
        frozen = {name: _frozen(name, values) for name, values in zip(self.columns, columns, strict=True)}
        first = next(iter(frozen.values()))
        if first.size == 0:
            raise ValueError(f"{self.columns[0]} must have at least one entry, got none")
        if any(values.size != e.size - 1 for values in frozen.values()):
            sizes = [f"{e.size} edges", *(f"{values.size} {name}" for name, values in frozen.items())]
            raise ValueError(
                f"edges must have one entry more than {' and '.join(self.columns)}, "
                f"got {', '.join(sizes[:-1])} and {sizes[-1]}"
            )
        # Strictly increasing rules out nan, and infinities except at the ends. Counting is faster than all().
        increasing = np.count_nonzero(e[1:] > e[:-1]) == e.size - 1
        if not (increasing and math.isfinite(float(e[-1]) - float(e[0]))):
            raise ValueError(
                f"edges must be strictly increasing and a finite distance apart, got {_fault(e)}"
            )
        for name, values in frozen.items():
            _require_finite(name, values)
        self._set(e, *frozen.values())

    @classmethod
    def trusted(cls, edges: FloatArray, *columns: FloatArray) -> Self:
        """Build a function from new arrays that are known to be valid, without checks or copies."""
        function = cls.__new__(cls)
        for array in (edges, *columns):
            array.flags.writeable = False
        function._set(edges, *columns)
        return function

    def _set(self, edges: FloatArray, *columns: FloatArray) -> None:
        object.__setattr__(self, "edges", edges)
        for name, values in zip(self.columns, columns, strict=True):
            object.__setattr__(self, name, values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (np.array(self.edges), *map(np.array, self._values()))

    def _values(self) -> tuple[FloatArray, ...]:
        return tuple(getattr(self, name) for name in self.columns)

    # -- defined by subclasses --------------------------------------------------------------------

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Value at the left end of each piece, and limit at its right end."""
        raise NotImplementedError

    @classmethod
    def of_ends(cls, edges: FloatArray, left: FloatArray, right: FloatArray) -> Self:
        """Build the function with these values at both ends of its pieces."""
        raise NotImplementedError

    def at(self, x: Any, piece: Any) -> Any:
        """Return the values at x of the given pieces, extrapolated if x is outside."""
        raise NotImplementedError

    def continued(self, lo: float, hi: float) -> Self:
        """Extend the function to [lo, hi] with its values at both ends."""
        raise NotImplementedError

    @staticmethod
    def sum(functions: Iterable[Any]) -> Piecewise:
        """Return the sum of many functions of this kind by one sorted merge."""
        raise NotImplementedError

    # -- reading -----------------------------------------------------------------------------------

    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: npt.NDArray[Any] | list[float]) -> FloatArray: ...
    def __call__(self, x: Any) -> Any:
        """Return the value at x (a number or an array), nan where not observed. O(log pieces) each."""
        points = _validate.floats("x", x, "a number or an array of numbers")
        outside = ~((points >= self.edges[0]) & (points <= self.edges[-1]))
        if outside.any():
            culprit = float(points[outside].flat[0]) if points.ndim else float(points)
            raise ValueError(f"x must be in [{self.edges[0]!s}, {self.edges[-1]!s}], got {culprit!r}")
        result = self.at(points, self._index(points))
        return result if points.ndim else float(result)

    def piece(self, x: float) -> Self:
        """Return the piece that contains x, as a function."""
        x = _validate.number("x", x)
        self(x)  # raises if x is outside
        i = int(self._index(np.float64(x)))
        return self.trusted(
            np.array(self.edges[i : i + 2]), *(np.array(values[i : i + 1]) for values in self._values())
        )

    def _index(self, x: Any) -> Any:
        return np.minimum(np.searchsorted(self.edges, x, side="right") - 1, len(self) - 1)

    def __len__(self) -> int:
        """Return the number of pieces."""
        return self.edges.size - 1

    @property
    def unseen(self) -> npt.NDArray[np.bool_]:
        """Whether each piece is nan (not observed)."""
        return np.isnan(self.ends[0])

    @property
    def whole(self) -> bool:
        """Whether the function is observed everywhere on its span."""
        return not self.unseen.any()

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Intervals ((lo, hi), ...) on which the function is observed, neighbours joined."""
        return tuple(self._stretches(~self.unseen))

    def _stretches(self, where: npt.NDArray[np.bool_]) -> list[tuple[float, float]]:
        """Return the intervals of consecutive pieces that are True in `where`."""
        change = np.flatnonzero(np.diff(where, prepend=False, append=False))
        return [(float(self.edges[a]), float(self.edges[b])) for a, b in change.reshape(-1, 2)]

    def around(self, x: float) -> tuple[float, float]:
        """Return the interval (lo, hi) of the domain that contains x; the right one, if two meet at x."""
        for lo, hi in reversed(self.domain):
            if lo <= x <= hi:
                return lo, hi
        raise ValueError(f"the function is not seen at {x!r}, but on {self.domain}")

    @property
    def widths(self) -> FloatArray:
        """Length of each piece."""
        return np.diff(self.edges)

    @property
    def lowest(self) -> FloatArray:
        """Smallest value on each piece, or its limit at the right end."""
        return np.minimum(*self.ends)

    @property
    def middles(self) -> FloatArray:
        """Mean of each piece."""
        left, right = self.ends
        return 0.5 * left + 0.5 * right

    @property
    def slopes(self) -> FloatArray:
        """Slope of each piece."""
        left, right = self.ends
        with np.errstate(over="ignore"):
            return (right - left) / self.widths

    def lipschitz(self) -> float:
        """Return the largest slope between jumps (the L of Definition 3)."""
        return float(np.nanmax(np.abs(self.slopes), initial=0.0))

    def integral(self) -> float:
        """Return the integral over the domain."""
        return float(np.nansum(self.middles * self.widths))

    def mean(self) -> float:
        """Return the average over the domain."""
        self._require_seen("mean")
        seen = ~self.unseen
        widths = self.widths[seen]
        # Shares first: value times width may overflow.
        return float(np.dot(self.middles[seen], widths / widths.sum()))

    def min(self) -> float:
        """Return the smallest value observed, or limit from the left at a jump."""
        self._require_seen("min")
        return float(np.nanmin(self.lowest))

    def max(self) -> float:
        """Return the largest value observed, or limit from the left at a jump."""
        return -(self * -1.0).min()

    def argmin(self) -> tuple[float, float]:
        """Return the widest interval (lo, hi) on which the minimum is attained, or a point (x, x).

        Of several, the leftmost is returned. If the minimum is only the limit of a line at a jump, the
        result is the largest double left of the first such jump.

        >>> from semibandit import PiecewiseLinear
        >>> PiecewiseLinear([0, 1, 2], [1, 0], [0, 1]).argmin()
        (1.0, 1.0)
        >>> PiecewiseLinear([0, 1, 2], [1, 1], [0, 1]).argmin()
        (0.9999999999999999, 0.9999999999999999)
        """
        lowest, (left, right) = self.min(), self.ends
        flat = (left == lowest) & (right == lowest)
        if flat.any():
            return max(self._stretches(flat), key=lambda stretch: stretch[1] - stretch[0])
        attained = np.append(left, right[-1]) == lowest
        if attained.any():
            x = float(self.edges[attained.argmax()])
        else:
            x = math.nextafter(self.edges[1:][(self.lowest == lowest).argmax()], -math.inf)
        return x, x

    def argmax(self) -> tuple[float, float]:
        """Return where the maximum is attained, as `argmin` does for the minimum."""
        return (self * -1.0).argmin()

    def _require_seen(self, what: str) -> None:
        if self.unseen.all():
            raise ValueError(f"{what} of a function that was seen nowhere")

    # -- deriving ----------------------------------------------------------------------------------

    def compress(self) -> Self:
        """Return the same function with neighbours joined if they are continuous and have the same slope.

        >>> from semibandit import PiecewiseConstant, PiecewiseLinear
        >>> PiecewiseConstant([0, 1, 2, 3], [0.5, 0.5, 0.1]).compress()
        PiecewiseConstant([0.0, 2.0, 3.0], [0.5, 0.1])
        >>> PiecewiseLinear([0, 1, 2], [0, 0.5], [0.5, 1]).compress()
        PiecewiseLinear([0.0, 2.0], [0.0], [1.0])
        """
        left, right = self.ends
        joined = right[:-1] == left[1:]
        if self.degree:
            slopes = self.slopes
            joined &= slopes[:-1] == slopes[1:]
        joined |= np.isnan(left[:-1]) & np.isnan(left[1:])
        inner = np.flatnonzero(~joined) + 1
        first, last = np.concatenate(([0], inner)), np.append(inner, len(self)) - 1
        return self.of_ends(self.edges[np.append(first, len(self))], left[first], right[last])

    def restrict(self, lo: float, hi: float) -> Self:
        """Return the function on [lo, hi], which must lie inside its span."""
        lo, hi = _validate.number("lo", lo), _validate.number("hi", hi)
        if not self.edges[0] <= lo < hi <= self.edges[-1]:
            raise ValueError(
                f"lo and hi must satisfy {self.edges[0]!s} <= lo < hi <= {self.edges[-1]!s}, "
                f"got {lo!r} and {hi!r}"
            )
        first = int(self._index(np.float64(lo)))
        last = int(np.searchsorted(self.edges, hi, side="left"))
        edges = np.array(self.edges[first : last + 1])
        edges[0], edges[-1] = lo, hi
        return self.of_ends(edges, *self.spread(edges))

    def spread(self, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values at both ends of the pieces of finer edges; nan outside the span."""
        lo, hi = edges[:-1], edges[1:]
        inside = (lo >= self.edges[0]) & (lo < self.edges[-1])
        lo, hi = np.where(inside, lo, self.edges[0]), np.where(inside, hi, self.edges[1])
        piece = self._index(lo)
        return (
            np.where(inside, self.at(lo, piece), np.nan),
            np.where(inside, self.at(hi, piece), np.nan),
        )

    def __add__(self: F, other: float | F) -> F:
        """Return the pointwise sum with a function or a number; observed where both are."""
        if isinstance(other, Piecewise):
            edges = np.union1d(self.edges, other.edges)
            kind = max(type(self), type(other), key=lambda kind: kind.degree)
            with np.errstate(over="ignore"):
                left, right = (a + b for a, b in zip(self.spread(edges), other.spread(edges), strict=True))
            return checked(kind.of_ends(edges, left, right))
        return self._each(other, np.add)

    __radd__ = __add__

    def __mul__(self, factor: float) -> Self:
        """Return the pointwise product with a number."""
        return self._each(factor, np.multiply)

    __rmul__ = __mul__

    def _each(self, number: Any, operation: np.ufunc) -> Self:
        if not isinstance(number, int | float | np.floating | np.integer):
            return NotImplemented  # type: ignore[no-any-return]
        number = _validate.number("the number", number)
        with np.errstate(over="ignore"):
            return type(self)(self.edges, *(operation(values, number) for values in self._values()))

    @staticmethod
    def total(functions: Iterable[Piecewise]) -> Piecewise:
        """Return the pointwise sum of functions of any kind by one sorted merge, observed where all are."""
        functions = listed(functions, Piecewise)
        most_general = max(functions, key=lambda function: function.degree)
        return most_general.sum(functions)

    # -- identity and exchange ---------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self.edges, other.edges) and all(
            np.array_equal(mine, theirs, equal_nan=True)
            for mine, theirs in zip(self._values(), other._values(), strict=True)
        )

    def __hash__(self) -> int:
        # Adding zero makes -0.0 and 0.0, which are equal, hash alike.
        values = np.nan_to_num(np.concatenate(self._values()), nan=math.inf) + 0.0
        return hash((tuple(self.edges + 0.0), tuple(values)))

    def __repr__(self) -> str:
        name = type(self).__name__
        if len(self) <= 4:
            arrays = (self.edges, *self._values())
            return f"{name}({', '.join(str(array.tolist()) for array in arrays)})"
        span = f"<{name} on [{self.edges[0]:g}, {self.edges[-1]:g}]"
        if self.unseen.all():
            return f"{span}, not seen anywhere>"
        unseen = float(self.widths[self.unseen].sum() / (self.edges[-1] - self.edges[0]))
        note = f", {unseen:.1%} not seen" if unseen else ""
        highest = np.nanmax(np.maximum(*self.ends))
        return f"{span}: {len(self)} pieces, values {self.min():g} to {highest:g}{note}>"

    def to_dict(self) -> dict[str, list[float | None]]:
        """Return plain lists, ready for JSON; None where not observed."""
        lists = {
            name: [None if math.isnan(value) else value for value in values.tolist()]
            for name, values in zip(self.columns, self._values(), strict=True)
        }
        return {"edges": self.edges.tolist()} | lists

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build the function from the result of `to_dict`."""
        names = ("edges", *cls.columns)
        if not (isinstance(data, dict) and data.keys() >= set(names)):
            raise ValueError(f"data must be a dict with the keys {names}, got {_validate.shown(data)}")
        columns = []
        for name in cls.columns:
            if not isinstance(data[name], list | tuple):
                raise TypeError(f"{name} must be a list of numbers and None, got {data[name]!r}")
            columns.append([math.nan if value is None else value for value in data[name]])
        return cls(data["edges"], *columns)


F = TypeVar("F", bound=Piecewise)


def listed(functions: Iterable[Any], kind: type[F]) -> list[F]:
    """Return the functions as a list; raise TypeError for the first one of another kind."""
    functions = list(_validate.iterable("functions", functions, "a collection of functions"))
    if not functions:
        raise ValueError("functions must hold at least one function, got none")
    if not all(issubclass(each, kind) for each in set(map(type, functions))):
        i = next(i for i, function in enumerate(functions) if not isinstance(function, kind))
        raise TypeError(f"functions[{i}] must be a {kind.__name__} function, got {functions[i]!r}")
    return functions


def checked(function: F) -> F:
    """Return the function; raise ValueError if a value has overflowed."""
    for name in function.columns:
        _require_finite(name, getattr(function, name))
    return function


def _frozen(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.array(_validate.floats(name, values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    array.flags.writeable = False
    return array


def _require_finite(name: str, values: FloatArray) -> None:
    infinite = np.isinf(values)
    if np.count_nonzero(infinite):
        where = int(infinite.argmax())
        raise ValueError(f"{name} must be finite or nan (not seen), got {name}[{where}] = {values[where]}")


def _fault(edges: FloatArray) -> str:
    """Return the first edges that are not finite and increasing, for an error message."""
    for i, edge in enumerate(edges.tolist()):
        if not math.isfinite(edge):
            return f"edges[{i}] = {edge}"
        if i and edge <= edges[i - 1]:
            return f"edges[{i - 1}] = {edges[i - 1]!s}, edges[{i}] = {edge}"
    return f"edges[0] = {edges[0]!s} and edges[{edges.size - 1}] = {edges[-1]!s}"
