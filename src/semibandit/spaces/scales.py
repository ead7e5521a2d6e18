"""Scales: monotone maps between the values of a knob and positions on a line.

Attributes of both: `ends`, the first and last position; `span`, the range of values on which a function of
the knob may be defined; `count`, the number of values; `size`, an upper bound for the number of useful cells;
`log`, whether positions are logarithms.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

__all__ = ["ContinuousScale", "DiscreteScale", "Scale"]


class ContinuousScale:
    """All values in [lo, hi], at their own position or at that of their logarithm.

    >>> scale = ContinuousScale(1e-4, 1.0, log=True)
    >>> scale.value(scale.ends[0]), round(scale.value(0.5 * sum(scale.ends)), 6)
    (0.0001, 0.01)
    """

    count = size = math.inf

    def __init__(self, lo: float, hi: float, log: bool = False) -> None:
        self.span, self.log = (lo, hi), log
        self.ends = (math.log(lo), math.log(hi)) if log else (lo, hi)

    def place(self, edge: float) -> float:
        """Return the position of `edge`; both ends are exact."""
        return _mapped(edge, self.span, self.ends, math.log if self.log else float)

    def value(self, x: float) -> float:
        """Return the value at position x; both ends are exact."""
        return _mapped(x, self.ends, self.span, math.exp if self.log else float)

    def snap(self, x: float) -> float:
        """Return x: the line may be cut anywhere."""
        return x

    def stretch(self, lo: float, hi: float) -> tuple[float, tuple[float, float]]:
        """Return the value at the middle position of [lo, hi), and the values at both ends."""
        middle = 0.5 * lo + 0.5 * hi  # of two neighbouring doubles, the first
        return self.value(middle if middle < hi else lo), (self.value(lo), self.value(hi))


def _mapped(x: float, source: tuple[float, float], target: tuple[float, float], f: Any) -> float:
    """Return f(x), with the ends of the source mapped to those of the target in spite of rounding."""
    if x <= source[0]:
        return target[0]
    return target[1] if x >= source[1] else min(max(f(x), target[0]), target[1])


class DiscreteScale:
    """Evenly spaced values lo, ..., hi, each with its own cell of the line.

    All cells have length 1. With `log`, the cell of n is [log(n - 1/2), log(n + 1/2)). An observation on
    [a, b) holds for every value in [a, b), so an edge moves up to the cell of the first value >= edge.
    Values are rounded once, from the exact sums of the decimals that lo and hi are written as.

    Parameters
    ----------
    lo, hi
        First and last value; both int if all values are integers.
    count
        Number of values; 1 only if lo = hi, which are then integers.
    log
        Whether cells have the width of logarithms; requires integers.

    Examples
    --------
    >>> scale = DiscreteScale(1, 12, 12)
    >>> scale.ends, scale.place(2.3), scale.place(3), scale.value(3.7)
    ((1.0, 13.0), 3.0, 3.0, 3)
    >>> DiscreteScale(0.0, 1.0, 11).value(7.5), DiscreteScale(0.0, 1.0, 11).first(0.7)
    (0.7, 7)
    """

    def __init__(self, lo: float, hi: float, count: int, log: bool = False) -> None:
        self.lo, self.hi, self.count, self.log = lo, hi, count, log
        self._integers = isinstance(lo, int)
        self._origin = float(lo) if self._integers else 0.0
        first, last = Fraction(repr(lo)), Fraction(repr(hi))
        step = (last - first) / (count - 1) if count > 1 else Fraction(1)
        self._divisor = math.lcm(first.denominator, step.denominator)
        self._start, self._step = (int(part * self._divisor) for part in (first, step))
        self.span = lo, self.at(count)
        self.ends = self.edge(0), self.edge(count)
        narrowest = self.ends[1] - self.edge(count - 1)
        self.size = (self.ends[1] - self.ends[0]) / narrowest

    def at(self, i: int) -> Any:
        """Return the i-th value."""
        if self._integers:
            return self.lo + i
        return (self._start + i * self._step) / self._divisor  # of integers: correctly rounded

    def edge(self, i: int) -> float:
        """Return the position at which the cell of the i-th value begins."""
        return math.log(self.lo + i - 0.5) if self.log else self._origin + i

    def index(self, x: float) -> int:
        """Return the index of the value whose cell contains the position x."""
        guess = math.exp(x) - self.lo + 0.5 if self.log else x - self._origin
        i = min(max(int(guess), 0), self.count - 1)
        while i > 0 and self.edge(i) > x:  # rounding moves the guess by at most one
            i -= 1
        while i < self.count - 1 and self.edge(i + 1) <= x:
            i += 1
        return i

    def first(self, edge: float) -> int:
        """Return the index of the first value >= `edge`; `count` if there is none."""
        guess = (edge - self.lo) / (self.span[1] - self.lo) * self.count
        i: int = min(max(math.ceil(guess), 0), self.count)
        while i > 0 and self.at(i - 1) >= edge:  # rounding, as above
            i -= 1
        while i < self.count and self.at(i) < edge:
            i += 1
        return i

    def place(self, edge: float) -> float:
        """Return the position at which the cell of the first value >= `edge` begins."""
        return self.edge(self.first(edge))

    def value(self, x: float) -> Any:
        """Return the value whose cell contains the position x."""
        return self.at(self.index(x))

    def snap(self, x: float) -> float:
        """Return the nearest end of a cell."""
        i = self.index(x)
        return min(self.edge(i), self.edge(i + 1), key=lambda edge: abs(x - edge))

    def stretch(self, lo: float, hi: float) -> tuple[Any, tuple[Any, Any]]:
        """Return the middle, the first and the last of the values whose cells meet [lo, hi)."""
        first, last = self.index(lo), self.index(math.nextafter(hi, -math.inf))
        return self.at((first + last) // 2), (self.at(first), self.at(last))


Scale = ContinuousScale | DiscreteScale
