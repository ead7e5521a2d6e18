"""Sums of functions without rounding: added in parts, in any order, by anyone, they come out the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.functions import _digits
from semibandit.functions._digits import Digits
from semibandit.functions.constant import PiecewiseConstant
from semibandit.functions.linear import PiecewiseLinear
from semibandit.functions.piecewise import Piecewise, checked, listed

__all__ = ["ExactSum"]


@dataclass(frozen=True, eq=False)
class ExactSum:
    """The sum of some functions on one span, seen everywhere: where it changes, and by how much, exactly.

    At each of the `starts` the sum jumps, and changes its slope where lines are among the functions. Both
    are kept as integers of as many digits as it takes, so that `merge` is associative and commutative to the
    bit; `function` rounds, once. Slopes of pieces, which are quotients, are kept to 106 bits from the
    beginning: with lines the sum is exact to that. About 24 bytes per change for losses in [0, 1].

    Attributes
    ----------
    count
        How many functions were added.
    end
        The right end of the span.
    starts
        Where any of the functions changes, the left end of the span first; increasing.
    jumps, slopes
        By how much the value and the slope change there; `slopes` is None for step functions.

    Examples
    --------
    >>> parts = [ExactSum.of([PiecewiseConstant([0, x, 1], [0.1, 0.2])]) for x in (0.25, 0.5, 0.75)]
    >>> total = ExactSum.merge([ExactSum.merge(parts[:2]), parts[2]])
    >>> total.function()
    PiecewiseConstant([0.0, 0.25, 0.5, 0.75, 1.0], [0.30000000000000004, 0.4, 0.5, 0.6000000000000001])
    """

    count: int
    end: float
    starts: FloatArray
    jumps: Digits
    slopes: Digits | None = None

    def __len__(self) -> int:
        """The number of pieces: neighbours count apart, even if what changed between them cancels."""
        return self.starts.size

    @classmethod
    def of(cls, functions: Iterable[Piecewise]) -> ExactSum:
        """The sum of functions on one span, seen everywhere. O(N log N) for N pieces."""
        functions = listed(functions, Piecewise)
        sizes = np.array([len(function) for function in functions])
        firsts = np.cumsum(sizes) - sizes
        starts = np.concatenate([function.edges[:-1] for function in functions]) + 0.0  # no -0.0
        end = float(functions[0].edges[-1])
        if not any(function.degree for function in functions):
            values = np.concatenate([function.ends[0] for function in functions])
            return cls.of_changes(len(functions), starts, values, _before(values, firsts), end)
        left, right, slope, low = _lines(functions)
        jumps = _digits.difference(_digits.of(left), _digits.of(_before(right, firsts)))
        slopes = _digits.difference(
            _digits.total(_digits.of(slope), _digits.of(low)),
            _digits.total(_digits.of(_before(slope, firsts)), _digits.of(_before(low, firsts))),
        )
        changes = np.asarray(jumps.array.any(axis=1) | slopes.array.any(axis=1))
        changes[firsts] = True
        return cls._grouped(len(functions), end, starts[changes], jumps.rows(changes), slopes.rows(changes))

    @classmethod
    def of_changes(
        cls, count: int, starts: FloatArray, after: FloatArray, before: FloatArray, end: float
    ) -> ExactSum:
        """The sum of `count` step functions, by the places where one changes, and its values around them.

        All of them begin, with 0 before it, at the least of the places. O(N log N) for N changes.
        """
        keep = (after != before) | (starts == starts.min())
        jumps = _digits.difference(_digits.of(after[keep]), _digits.of(before[keep]))
        return cls._grouped(count, end, starts[keep], jumps, None)

    @classmethod
    def merge(cls, sums: Sequence[ExactSum]) -> ExactSum:
        """The sum of sums over the same span. O(N log N) for N pieces in all."""
        if len(sums) == 1:
            return sums[0]
        slopes = None
        if any(each.slopes is not None for each in sums):
            slopes = _digits.joined(
                [_digits.zeros(len(each)) if each.slopes is None else each.slopes for each in sums]
            )
        return cls._grouped(
            sum(each.count for each in sums),
            sums[0].end,
            np.concatenate([each.starts for each in sums]),
            _digits.joined([each.jumps for each in sums]),
            slopes,
        )

    @classmethod
    def _grouped(
        cls, count: int, end: float, starts: FloatArray, jumps: Digits, slopes: Digits | None
    ) -> ExactSum:
        """Sort by place, and add up what happens at the same one."""
        from semibandit.functions._merge import order_of

        order = order_of(starts)
        starts = starts[order]
        firsts = np.flatnonzero(np.append(True, starts[1:] != starts[:-1]))
        return cls(
            count,
            end,
            starts[firsts],
            jumps.rows(order).grouped(firsts),
            None if slopes is None else slopes.rows(order).grouped(firsts),
        )

    def function(self) -> Piecewise:
        """The sum as a function, each of its values rounded once."""
        edges = np.append(self.starts, self.end)
        if self.slopes is None:
            return checked(PiecewiseConstant.trusted(edges, _digits.prefix_sums(self.jumps)))
        # Between two changes the sum rises by slope times width; these rises are added up exactly as well.
        rises = _rises(*_digits.prefix_sums_in_two(self.slopes), edges)
        changes = _digits.total(self.jumps, _digits.shifted(rises))
        left, right = _digits.prefix_sums(changes), _digits.prefix_sums(changes, rises)
        return checked(PiecewiseLinear.trusted(edges, left, right))


def _before(values: FloatArray, firsts: IntArray) -> FloatArray:
    """The value of the piece before each one; 0 before the first of a function."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[firsts] = 0.0
    return before


def _lines(functions: list[Piecewise]) -> Any:
    """Left and right end and the slope, in two parts, of each piece."""
    from semibandit.functions._merge_linear import close

    left, right = (np.concatenate(ends) for ends in zip(*(f.ends for f in functions), strict=True))
    sizes = np.array([f.edges.size for f in functions])
    lines = close(np.concatenate([f.edges for f in functions]), np.column_stack((left, right)), sizes)
    return np.delete(lines, np.cumsum(sizes) - 1, axis=0).T


def _rises(slope: FloatArray, low: FloatArray, edges: FloatArray) -> Digits:
    """Slope times width, both in two parts."""
    lo, hi = edges[:-1], edges[1:]
    run = hi - lo
    back = run + lo
    run_low = (hi - back) - (lo - (back - run))
    product = slope * run
    a, b = _halves(slope), _halves(run)
    rest = ((a[0] * b[0] - product) + a[0] * b[1] + a[1] * b[0]) + a[1] * b[1]
    return _digits.total(_digits.of(product), _digits.of(rest + (slope * run_low + low * run)))


def _halves(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two numbers of 26 bits whose sum is x (Dekker)."""
    t = 134217729.0 * x
    high = t - (t - x)
    return high, x - high
