"""Exact sums of functions: sums of parts can be added in any order and grouping, with the same result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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
        Change of the number of functions that are seen, at each place.
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

    def __len__(self) -> int:
        """Return the number of pieces."""
        return self.places.size - 1

    @classmethod
    def of(cls, functions: Iterable[Piecewise]) -> ExactSum:
        """Add functions. O(N log N) for N pieces."""
        return cls._of_pieces(_Pieces.of(listed(functions, Piecewise)))

    @classmethod
    def with_falls(cls, functions: Iterable[Piecewise], maximize: bool = False) -> tuple[ExactSum, ExactSum]:
        """Return the sum of functions, and how far they fall below their lines (of -f, with `maximize`).

        The second sum has the negative parts of all changes of value and slope, with the sign reversed. On
        [a, b), the sum of the functions is at least its line at a, less the changes in [a, b) at b.
        """
        pieces = _Pieces.of(listed(functions, Piecewise))
        return cls._of_pieces(pieces), pieces.falls(maximize)._grouped()

    @classmethod
    def _of_pieces(cls, pieces: _Pieces) -> ExactSum:
        slopes = None if pieces.slopes is None else pieces.slopes.differences()
        seen = np.diff(pieces.seen, prepend=0)
        changes = cls(pieces.count, pieces.edges, seen, pieces.constants.differences(), slopes, pieces.unit)
        return changes._grouped()

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

    def moved(self, places: FloatArray) -> ExactSum:
        """Move each change to another place, in the same order; the sum changes only between the two."""
        return ExactSum(self.count, places, self.seen, self.constants, self.slopes, self.unit)._grouped()

    def _grouped(self) -> ExactSum:
        """Sort the changes, and add those at the same place."""
        order = np.argsort(self.places, kind="stable")
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

    def cut(self, places: FloatArray) -> ExactSum:
        """Add places at which nothing changes."""
        unchanged = ExactSum(0, places, np.zeros(places.size, np.int64), _zeros(places.size), None, self.unit)
        return self + unchanged

    @property
    def quantum(self) -> int | None:
        """Exponent to which values are rounded before they are rounded to doubles; None for steps."""
        return None if self.slopes is None else self.unit - _GUARD // 2

    def exact_at(self, points: FloatArray, of: FloatArray | None = None) -> Dyadic:
        """Return the values at points inside the span; with `of`, those of the lines at these points."""
        at = points if of is None else of
        pieces = np.minimum(np.searchsorted(self.places, at, side="right"), self.places.size - 1) - 1
        return self._values(points, pieces)

    def at(self, points: FloatArray) -> FloatArray:
        """Return the values at points inside the span, each rounded once."""
        return self.exact_at(points).to_floats(self.quantum)

    def _values(self, points: FloatArray, pieces: Any) -> Dyadic:
        """Return the values of some pieces, one at each point."""
        constants = self.constants.running_sums()[pieces]
        if self.slopes is None:
            return constants
        return constants + self.slopes.running_sums()[pieces] * Dyadic.of(points)

    def function(self) -> Piecewise:
        """Return the sum as a function, nan where not all functions are seen."""
        unseen = np.cumsum(self.seen)[:-1] != self.count
        edges, pieces = self.places.copy(), slice(0, -1)
        left = self._values(edges[:-1], pieces).to_floats(self.quantum)
        left[unseen] = np.nan
        if self.slopes is None:
            return PiecewiseConstant.trusted(edges, left)
        right = self._values(edges[1:], pieces).to_floats(self.quantum)
        right[unseen] = np.nan
        return PiecewiseLinear.trusted(edges, left, right)


@dataclass(frozen=True)
class _Pieces:
    """Pieces of functions end to end, one entry per edge: 0 behind the last edge and where unseen."""

    count: int
    edges: FloatArray
    ends: IntArray  # index of the last edge of each function
    seen: IntArray
    constants: Dyadic
    slopes: Dyadic | None
    unit: int

    @classmethod
    def of(cls, functions: list[Piecewise]) -> _Pieces:
        edges = np.concatenate([function.edges for function in functions])
        ends = np.cumsum([function.edges.size for function in functions]) - 1
        inside = np.ones(edges.size, np.bool_)
        inside[ends] = False
        left = np.full(edges.size, np.nan)
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
        return cls(len(functions), edges, ends, seen.astype(np.int64), constants, slopes, unit)

    def falls(self, maximize: bool) -> ExactSum:
        """Return the changes by which functions fall below their lines."""
        jumps, slopes, x = self.constants.differences(), None, Dyadic.of(self.edges)
        if self.slopes is not None:
            kinks = self.slopes.differences()
            jumps = jumps + kinks * x
            slopes = self._inner_decrease(kinks, maximize)
        constants = self._inner_decrease(jumps, maximize)
        if slopes is not None:
            constants = constants - slopes * x
        return ExactSum(0, self.edges, np.zeros(self.edges.size, np.int64), constants, slopes, self.unit)

    def _inner_decrease(self, changes: Dyadic, maximize: bool) -> Dyadic:
        """Return max(-change, 0), or max(change, 0) with `maximize`; 0 at both ends of a function."""
        digits = np.maximum(changes.digits if maximize else -changes.digits, 0)
        digits[self.ends] = 0
        digits[np.append(0, self.ends[:-1] + 1)] = 0
        return Dyadic(changes.exponent, digits)


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
