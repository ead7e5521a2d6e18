"""Step functions that may be known on a part of the line only: the type that carries all feedback."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions.piecewise import Piecewise, checked, listed

__all__ = ["PiecewiseConstant"]


class PiecewiseConstant(Piecewise):
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

    __slots__ = ("values",)
    degree = 0
    columns = ("values",)
    values: FloatArray

    def __init__(self, edges: npt.ArrayLike, values: npt.ArrayLike) -> None:
        super().__init__(edges, values)

    @classmethod
    def constant(cls, lo: float, hi: float, value: float) -> PiecewiseConstant:
        """One piece: `value` on [lo, hi]. The quick way to write the feedback of a single interval.

        >>> PiecewiseConstant.constant(0.2, 0.3, 0.7)
        PiecewiseConstant([0.2, 0.3], [0.7])
        """
        try:
            length, unlimited = hi - lo, math.isinf(value)
            apart = 0.0 < length < math.inf
        except (TypeError, ValueError, OverflowError):
            _validate.number("lo", lo)
            _validate.number("hi", hi)
            _validate.number("value", value)
            raise
        if not apart:
            raise ValueError(f"lo and hi must be a finite distance apart, lo < hi, got {lo!r} and {hi!r}")
        if unlimited:
            raise ValueError(f"value must be finite or nan (not seen), got {value!r}")
        words = np.array((lo, hi, value), np.float64)
        words.flags.writeable = False  # and with it the two views
        function = cls.__new__(cls)
        object.__setattr__(function, "edges", words[:2])
        object.__setattr__(function, "values", words[2:])
        return function

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The values, twice: a step ends as it began."""
        return self.values, self.values

    @classmethod
    def of_ends(cls, edges: FloatArray, left: FloatArray, right: FloatArray) -> PiecewiseConstant:
        """The steps that begin with `left`."""
        return cls.trusted(edges, left)

    def at(self, x: Any, piece: Any) -> Any:
        """The values of the pieces."""
        return self.values[piece]

    @property
    def middles(self) -> FloatArray:
        """The mean of each piece is its value."""
        return self.values

    def continued(self, lo: float, hi: float) -> PiecewiseConstant:
        """The function on the wider [lo, hi]: its first and its last piece grow."""
        edges = np.array(self.edges)
        edges[0], edges[-1] = lo, hi
        return self.trusted(edges, self.values)

    def argmin(self) -> tuple[float, float]:
        """The widest interval (lo, hi) on which the minimum is attained, the leftmost of equals."""
        lowest = self.min()
        lowest_only = np.where(self.values == lowest, lowest, np.nan)
        stretches = PiecewiseConstant.trusted(self.edges, lowest_only).domain
        return max(stretches, key=lambda stretch: stretch[1] - stretch[0])

    def between(self, edges: FloatArray) -> FloatArray:
        """The integral between consecutive edges, inside the span of a function seen everywhere.

        >>> PiecewiseConstant([0, 1, 3], [0.5, 0.25]).between(np.array([0.0, 2.0, 3.0]))
        array([0.75, 0.25])
        """
        cumulative = np.concatenate(([0.0], np.cumsum(self.values * self.widths)))
        return np.diff(np.interp(edges, self.edges, cumulative))

    def compress(self) -> PiecewiseConstant:
        """The same function with equal neighbours joined.

        >>> PiecewiseConstant([0, 1, 2, 3], [0.5, 0.5, 0.1]).compress()
        PiecewiseConstant([0.0, 2.0, 3.0], [0.5, 0.1])
        """
        v = self.values
        differs = (v[1:] != v[:-1]) & ~(np.isnan(v[1:]) & np.isnan(v[:-1]))
        keep = np.concatenate(([0], np.flatnonzero(differs) + 1))
        return self.trusted(self.edges[np.append(keep, v.size)], v[keep])

    @staticmethod
    def sum(functions: Iterable[PiecewiseConstant]) -> PiecewiseConstant:
        """The pointwise sum of many functions by one sorted merge, seen where all of them are.

        O(N log N) for N edges in all. Values are added as integers (fixed point, 90 bits below the
        largest one), so that the result does not depend on the order, rounding does not build up along
        the line, and equal sums are equal. Each sum is rounded once, at the end: the minimum, and where it
        is attained, are exact up to that (sums closer than a rounding count as equal).

        >>> PiecewiseConstant.sum([PiecewiseConstant([0, x, 1], [0, 1]) for x in (0.25, 0.5)])
        PiecewiseConstant([0.0, 0.25, 0.5, 1.0], [0.0, 1.0, 2.0])
        """
        functions = listed(functions, PiecewiseConstant)
        from semibandit.functions._merge import add_up

        edges = [f.edges for f in functions]
        sizes = np.array([e.size for e in edges])
        values = np.concatenate([f.values for f in functions])
        return checked(PiecewiseConstant.trusted(*add_up(np.concatenate(edges), values, sizes)))
