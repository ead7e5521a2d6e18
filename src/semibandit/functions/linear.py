"""Piecewise linear functions, possibly observed only in part, such as the losses of prices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.functions.piecewise import Piecewise

__all__ = ["PiecewiseLinear"]


class PiecewiseLinear(Piecewise):
    """A right-continuous piecewise linear function on [edges[0], edges[-1]], the last end closed.

    Immutable. It may jump at its edges. A piece may be nan: the function was not observed there.

    Parameters
    ----------
    edges
        Strictly increasing numbers, a finite distance apart, one more than there are pieces.
    left
        Value at the left end of each piece, edges[i].
    right
        Limit at the right end of each piece, edges[i + 1]. The function attains it at the last edge, and
        where the next piece begins with this value.

    Examples
    --------
    >>> f = PiecewiseLinear([0, 1, 3], [0, 1], [1, 0])
    >>> f(0.5), f(1), f(2.5)
    (0.5, 1.0, 0.25)
    >>> f.mean()
    0.5
    >>> from semibandit import PiecewiseConstant
    >>> f + PiecewiseConstant([0, 2, 3], [0, 1])
    PiecewiseLinear([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.5], [1.0, 0.5, 1.0])
    """

    __slots__ = ("left", "right")
    degree = 1
    columns = ("left", "right")
    left: FloatArray
    right: FloatArray

    def __init__(self, edges: npt.ArrayLike, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        super().__init__(edges, left, right)
        half_seen = np.isnan(self.left) != np.isnan(self.right)
        if half_seen.any():
            i = int(np.flatnonzero(half_seen)[0])
            raise ValueError(
                f"a piece is seen at both ends or at none, "
                f"got {self.left[i]} and {self.right[i]} for piece {i}"
            )

    @classmethod
    def line(cls, lo: float, hi: float, left: float, right: float) -> PiecewiseLinear:
        """Return the function with one piece, from `left` at lo to `right` at hi.

        >>> PiecewiseLinear.line(0.2, 0.4, 0.7, 0.5)(0.3)
        0.6
        """
        return cls([lo, hi], [left], [right])

    @classmethod
    def of(cls, function: Piecewise) -> PiecewiseLinear:
        """Convert a function to a piecewise linear one.

        >>> from semibandit import PiecewiseConstant
        >>> PiecewiseLinear.of(PiecewiseConstant([0, 1], [0.5]))
        PiecewiseLinear([0.0, 1.0], [0.5], [0.5])
        """
        if not isinstance(function, Piecewise):
            raise TypeError(f"function must be a PiecewiseConstant or PiecewiseLinear, got {function!r}")
        return cls.trusted(function.edges, *function.ends)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Value at the left end of each piece, and limit at its right end."""
        return self.left, self.right

    @classmethod
    def of_ends(cls, edges: FloatArray, left: FloatArray, right: FloatArray) -> PiecewiseLinear:
        """Build the function from the values at both ends of the pieces."""
        return cls.trusted(edges, left, right)

    def at(self, x: Any, piece: Any) -> Any:
        """Return the values of the pieces at x: exact at both ends, and never outside their values."""
        lo, hi = self.edges[piece], self.edges[piece + 1]
        left, right = self.left[piece], self.right[piece]
        share = (x - lo) / (hi - lo)
        value = left * (1.0 - share) + right * share
        return np.clip(value, np.minimum(left, right), np.maximum(left, right))

    def continued(self, lo: float, hi: float) -> PiecewiseLinear:
        """Extend the function to [lo, hi] with its values at both ends."""
        left, right = self.left, self.right
        before, after = [lo][: int(lo < self.edges[0])], [hi][: int(hi > self.edges[-1])]
        return self.trusted(
            np.concatenate((before, self.edges, after)),
            np.concatenate((left[:1][: len(before)], left, right[-1:][: len(after)])),
            np.concatenate((left[:1][: len(before)], right, right[-1:][: len(after)])),
        )

    @property
    def lowest(self) -> FloatArray:
        """Smallest value on each piece, or its limit at the right end.

        The limit does not count where the left end is the only double of the piece.
        """
        reached = np.nextafter(self.edges[:-1], np.inf) < self.edges[1:]
        reached[-1] = True
        return np.where(reached, np.minimum(self.left, self.right), self.left)

    @staticmethod
    def sum(functions: Iterable[Piecewise]) -> PiecewiseLinear:
        """Return the pointwise sum by one sorted merge, observed where all functions are.

        Step functions may be among them. O(N log N) for N edges in all. The sum is exact (`ExactSum`), and
        each value is rounded once.

        >>> PiecewiseLinear.sum([PiecewiseLinear([0, x, 1], [0, 1], [1, 1]) for x in (0.25, 0.5)])
        PiecewiseLinear([0.0, 0.25, 0.5, 1.0], [0.0, 1.5, 2.0], [1.5, 2.0, 2.0])
        """
        from semibandit.functions.exact import ExactSum

        return PiecewiseLinear.of(ExactSum.of(functions).function())
