"""Exact sums of functions: sums of parts can be added in any order and grouping, with the same result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.functions.constant import PiecewiseConstant
from semibandit.functions.dyadic import Dyadic, mantissas
from semibandit.functions.linear import PiecewiseLinear
from semibandit.functions.piecewise import Piecewise, listed

__all__ = ["ExactSum"]

# A slope is rounded so that its piece is off by less than 2^-GUARD units of its last bit at the right end;
# sums are rounded to multiples of 2^-(GUARD / 2) of these units. So 2^63 roundings cannot show.
_GUARD = 128


@dataclass(frozen=True, eq=False)
class ExactSum:
    """Sum of functions, as exact changes of its constant and its slope.

    Between two places the sum is constant + slope·x. At each place both change. The changes are integers
    times a power of two, so that addition is associative and commutative to the bit. `function` rounds
    each value once. Slopes of pieces are quotients, and are rounded up, per piece, to 128 bits below the
    last bit of its values: sums of lines are exact to that.

    Attributes
    ----------
    count
        Number of functions.
    places
        Edges of all functions, increasing.
    seen
        Change of the number of functions that are observed, at each place.
    constants, slopes
        Changes at each place; `slopes` is None for step functions.
    unit
        Exponent of the smallest last bit of all values.

    Examples
    --------
    >>> parts = [ExactSum.of([PiecewiseConstant([0, x, 1], [0.1, 0.2])]) for x in (0.25, 0.5, 0.75)]
    >>> total = (parts[0] + parts[1]) + parts[2]
    >>> total.function()
    PiecewiseConstant([0.0, 0.25, 0.5, 0.75, 1.0], [0.30000000000000004, 0.4, 0.5, 0.6000000000000001])
    """

    count: int
    places: FloatArray
    seen: IntArray
    constants: Dyadic
    slopes: Dyadic | None = None
    unit: int = 0

    @classmethod
    def of(cls, functions: Iterable[Piecewise]) -> ExactSum:
        """Add functions. O(N log N) for N pieces."""
        functions = listed(functions, Piecewise)
        edges = np.concatenate([function.edges for function in functions])
        inside = np.ones(edges.size, np.bool_)
        inside[np.cumsum([function.edges.size for function in functions]) - 1] = False
        left = np.full(edges.size, np.nan)  # behind the last edge of a function, as where it is unseen
        left[inside] = np.concatenate([function.ends[0] for function in functions])
        seen = ~np.isnan(left)
        left[~seen] = 0.0
        constants, slopes = Dyadic.of(left), None
        unit = constants.exponent
        if any(function.degree for function in functions):
            right = np.zeros(edges.size)
            right[inside] = np.concatenate([function.ends[1] for function in functions])
            right[~seen] = 0.0
            unit = min(unit, Dyadic.of(right).exponent)
            slopes = _slopes(edges, left, right)
            constants = constants - slopes * Dyadic.of(edges)
            slopes = slopes.differences()
        changes = np.diff(seen.astype(np.int64), prepend=0)
        return cls(len(functions), edges, changes, constants.differences(), slopes, unit)._grouped()

    @classmethod
    def merge(cls, sums: Sequence[ExactSum]) -> ExactSum:
        """Add sums. O(N log N) for N places in all."""
        if len(sums) == 1:
            return sums[0]
        slopes = None
        if any(each.slopes is not None for each in sums):
            slopes = Dyadic.concatenate([each.slopes or _zeros(each.places.size) for each in sums])
        return cls(
            sum(each.count for each in sums),
            np.concatenate([each.places for each in sums]),
            np.concatenate([each.seen for each in sums]),
            Dyadic.concatenate([each.constants for each in sums]),
            slopes,
            min(each.unit for each in sums),
        )._grouped()

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum.merge([self, other])

    def _grouped(self) -> ExactSum:
        """Sort the changes, and add those at the same place."""
        order = np.argsort(self.places)
        places = self.places[order]
        firsts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
        return ExactSum(
            self.count,
            places[firsts] + 0.0,  # no -0.0
            np.add.reduceat(self.seen[order], firsts),
            self.constants[order].grouped(firsts),
            None if self.slopes is None else self.slopes[order].grouped(firsts),
            self.unit,
        )

    def function(self) -> Piecewise:
        """Return the sum as a function, nan where not all functions are observed."""
        edges, unseen = self.places.copy(), np.cumsum(self.seen)[:-1] != self.count
        constants = self.constants.running_sums()[:-1]
        if self.slopes is None:
            values = constants.to_floats()
            values[unseen] = np.nan
            return PiecewiseConstant.trusted(edges, values)
        slopes = self.slopes.running_sums()[:-1]
        points = edges[:-1], edges[1:]
        ends = [(constants + slopes * Dyadic.of(x)).to_floats(self.unit - _GUARD // 2) for x in points]
        for values in ends:
            values[unseen] = np.nan
        return PiecewiseLinear.trusted(edges, *ends)


def _zeros(size: int) -> Dyadic:
    return Dyadic(0, np.zeros(size, np.int64).astype(object))


def _slopes(edges: FloatArray, left: FloatArray, right: FloatArray) -> Dyadic:
    """Return the slope of each piece, rounded up, so that sums of losses are not negative.

    The rounding depends on the piece alone, and so not on the grouping of functions.
    """
    rises, runs = Dyadic.of(right) - Dyadic.of(left), Dyadic.of(edges).differences()
    sloping = np.flatnonzero(left != right)
    mantissa, exponents = mantissas(np.stack((left, right))[:, sloping])
    last_bits = np.where(mantissa == 0, 1 << 20, exponents).min(axis=0)
    widths = np.frexp(edges[sloping + 1] - edges[sloping])[1]
    units = (last_bits - _GUARD - widths).tolist()
    lowest = min(units, default=0)
    digits = np.zeros(edges.size, np.int64).astype(object)
    for i, unit in zip(sloping.tolist(), units, strict=True):
        shift = rises.exponent - runs.exponent - unit
        rise, run = rises.digits[i], runs.digits[i + 1]
        negative = (-rise << shift) // run if shift >= 0 else -rise // (run << -shift)
        digits[i] = -negative << (unit - lowest)
    return Dyadic(lowest, digits)
