"""Step functions, possibly observed only in part: the type that carries all feedback."""

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

    Immutable. A value may be nan: the function was not observed there.

    Parameters
    ----------
    edges
        Strictly increasing numbers, a finite distance apart, one more than there are values.
    values
        Value on [edges[i], edges[i + 1]): finite, or nan if not observed.

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
        """Return the function with one piece: `value` on [lo, hi].

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
        words.flags.writeable = False  # also for both views
        function = cls.__new__(cls)
        object.__setattr__(function, "edges", words[:2])
        object.__setattr__(function, "values", words[2:])
        return function

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Values at the left and right ends of the pieces, which are equal."""
        return self.values, self.values

    @classmethod
    def of_ends(cls, edges: FloatArray, left: FloatArray, right: FloatArray) -> PiecewiseConstant:
        """Build the step function with the values `left`."""
        return cls.trusted(edges, left)

    def at(self, x: Any, piece: Any) -> Any:
        """Return the values of the pieces."""
        return self.values[piece]

    @property
    def middles(self) -> FloatArray:
        """Mean of each piece: its value."""
        return self.values

    def continued(self, lo: float, hi: float) -> PiecewiseConstant:
        """Extend the first and the last piece to [lo, hi]."""
        edges = np.array(self.edges)
        edges[0], edges[-1] = lo, hi
        return self.trusted(edges, self.values)

    def between(self, edges: FloatArray) -> FloatArray:
        """Return the integrals between consecutive edges, for a function observed everywhere.

        >>> PiecewiseConstant([0, 1, 3], [0.5, 0.25]).between(np.array([0.0, 2.0, 3.0]))
        array([0.75, 0.25])
        """
        cumulative = np.concatenate(([0.0], np.cumsum(self.values * self.widths)))
        return np.diff(np.interp(edges, self.edges, cumulative))

    @staticmethod
    def sum(functions: Iterable[PiecewiseConstant]) -> PiecewiseConstant:
        """Return the pointwise sum by one sorted merge, observed where all functions are.

        O(N log N) for N edges in all, compiled. Values are added as integers in fixed point, with 90 bits
        below the largest value. So the result does not depend on the order, and equal sums are equal. Each
        sum is rounded once. `semibandit.functions.exact.ExactSum` is exact for all doubles.

        >>> PiecewiseConstant.sum([PiecewiseConstant([0, x, 1], [0, 1]) for x in (0.25, 0.5)])
        PiecewiseConstant([0.0, 0.25, 0.5, 1.0], [0.0, 1.0, 2.0])
        """
        functions = listed(functions, PiecewiseConstant)
        from semibandit.functions._merge import add_up

        edges = [f.edges for f in functions]
        sizes = np.array([e.size for e in edges])
        values = np.concatenate([f.values for f in functions])
        return checked(PiecewiseConstant.trusted(*add_up(np.concatenate(edges), values, sizes)))
