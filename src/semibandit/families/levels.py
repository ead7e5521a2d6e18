"""Feedback sets by loss: the maximal interval on which the loss is constant."""

from __future__ import annotations

import math
from collections.abc import Callable

from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

__all__ = ["level_set"]


def level_set(reveal: Callable[[float], PiecewiseConstant], rho: float, space: Interval) -> PiecewiseConstant:
    """Return the loss on the maximal interval around rho on which it is constant.

    Walks over the pieces of `reveal`, which must be exact to the double. Losses are compared for equality.
    Calls `reveal` once for each piece of the interval and for both neighbours.

    >>> steps = PiecewiseConstant([0, 1, 2, 3, 4], [0.5, 0.1, 0.1, 0.5])
    >>> level_set(steps.piece, 2.5, Interval(0, 4))
    PiecewiseConstant([1.0, 3.0], [0.1])
    """
    piece = reveal(rho)
    lo, hi, loss = float(piece.edges[0]), float(piece.edges[-1]), float(piece.values[0])
    while hi < space.hi and (beyond := reveal(hi)).values[0] == loss:
        hi = float(beyond.edges[-1])
    while lo > space.lo and (beyond := reveal(math.nextafter(lo, -math.inf))).values[0] == loss:
        lo = float(beyond.edges[0])
    return PiecewiseConstant.constant(lo, hi, loss)
