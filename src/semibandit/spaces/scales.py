"""How the values of a knob lie on a line: smoothly, or as cells of single values."""

from __future__ import annotations

import math
from typing import Any, Protocol

from semibandit.functions import Piecewise, PiecewiseConstant

__all__ = ["Atoms", "Scale", "Smooth"]


class Scale(Protocol):
    """A monotone map between the values of a knob and a stretch of a line."""

    ends: tuple[float, float]  # of the stretch
    span: tuple[float, float]  # from the first value on, and beyond the last one
    size: float  # into how many parts it can be cut at most
    log: bool  # whether places are logarithms

    def cut(self, edge: float) -> float:
        """Where the values from `edge` on begin on the line; never falls as `edge` grows."""
        ...

    def value(self, x: float) -> Any:
        """The value that a point of the line stands for."""
        ...

    def snap(self, x: float) -> float:
        """The nearest point of the line at which it may be cut."""
        ...

    def stretch(self, lo: float, hi: float) -> tuple[Any, tuple[Any, Any]]:
        """The value in the middle of [lo, hi), and the values at its ends."""
        ...

    def steps(self, function: Piecewise) -> Piecewise:
        """A function of the values, such that it can be laid on the line by its edges."""
        ...


class Smooth:
    """All values in [lo, hi], or their logarithms.

    >>> scale = Smooth(1e-4, 1.0, log=True)
    >>> scale.value(scale.ends[0]), round(scale.value(0.5 * sum(scale.ends)), 6)
    (0.0001, 0.01)
    """

    size = math.inf

    def __init__(self, lo: float, hi: float, log: bool) -> None:
        self.lo, self.hi, self.log = lo, hi, log
        self.span = lo, hi
        self.ends = (math.log(lo), math.log(hi)) if log else (lo, hi)

    def cut(self, edge: float) -> float:
        """Where `edge` lies; both ends are exact."""
        if edge <= self.lo:
            return self.ends[0]
        if edge >= self.hi:
            return self.ends[1]
        # Rounding must not carry a point inside past an end.
        return min(max(math.log(edge), self.ends[0]), self.ends[1]) if self.log else edge

    def value(self, x: float) -> float:
        """The value at x; both ends are exact."""
        if x <= self.ends[0]:
            return self.lo
        if x >= self.ends[1]:
            return self.hi
        return min(max(math.exp(x), self.lo), self.hi) if self.log else x

    def snap(self, x: float) -> float:
        """Any point will do."""
        return x

    def stretch(self, lo: float, hi: float) -> tuple[float, tuple[float, float]]:
        """The middle of [lo, hi) on the line, and the ends, as values."""
        middle = 0.5 * lo + 0.5 * hi
        return self.value(middle if middle < hi else lo), (self.value(lo), self.value(hi))

    def steps(self, function: Piecewise) -> Piecewise:
        """The function itself; lines in a value are no lines in its logarithm."""
        if self.log and function.degree > 0:
            raise TypeError(f"on a log scale a function must be a PiecewiseConstant, got {function!r}")
        return function


class Atoms:
    """Evenly spaced values lo, ..., hi, each with a cell of the line of its own.

    Cells are equal; with `log` that of n reaches from log(n - 1/2) to log(n + 1/2). What is seen on [a, b)
    is seen of every value in it, so that an edge is moved up to the first value it does not exceed.

    Parameters
    ----------
    lo, hi
        The first and the last value; integers where all values are.
    count
        The number of values.
    log
        Whether cells have the width of logarithms; values are then integers.

    Examples
    --------
    >>> scale = Atoms(1, 12, 12)
    >>> scale.ends, scale.cut(2.3), scale.cut(3), scale.value(3.7)
    ((1.0, 13.0), 3.0, 3.0, 3)
    >>> Atoms(0.0, 1.0, 21).value(3.5)
    0.15
    """

    def __init__(self, lo: float, hi: float, count: int, log: bool = False) -> None:
        self.lo, self.hi, self.count, self.log = lo, hi, count, log
        self._whole = isinstance(lo, int)
        self._origin = float(lo) if self._whole else 0.0
        self.span = lo, hi + (hi - lo) / (count - 1)
        self.ends = self.edge(0), self.edge(count)
        narrowest = self.ends[1] - self.edge(count - 1)
        self.size = (self.ends[1] - self.ends[0]) / narrowest

    def atom(self, i: int) -> Any:
        """The i-th value."""
        if self._whole:
            return self.lo + i
        return self.hi if i == self.count - 1 else self.lo + (self.hi - self.lo) * (i / (self.count - 1))

    def edge(self, i: int) -> float:
        """Where the cell of the i-th value begins."""
        return math.log(self.lo + i - 0.5) if self.log else self._origin + i

    def index(self, x: float) -> int:
        """The number of the value whose cell holds x."""
        guess = math.exp(x) - self.lo + 0.5 if self.log else x - self._origin
        i = min(max(int(guess), 0), self.count - 1)
        while i > 0 and self.edge(i) > x:  # rounding moves the guess by one, if at all
            i -= 1
        while i < self.count - 1 and self.edge(i + 1) <= x:
            i += 1
        return i

    def first(self, edge: float) -> int:
        """The number of the first value that is not below `edge`; `count` where all are."""
        if edge > self.hi:
            return self.count
        guess = (edge - self.lo) / (self.hi - self.lo) * (self.count - 1)
        i = min(max(math.ceil(guess), 0), self.count - 1)
        while i > 0 and self.atom(i - 1) >= edge:
            i -= 1
        while self.atom(i) < edge:
            i += 1
        return i

    def cut(self, edge: float) -> float:
        """Where the cell of the first value that is not below `edge` begins."""
        return self.edge(self.first(edge))

    def value(self, x: float) -> Any:
        """The value whose cell holds x."""
        return self.atom(self.index(x))

    def snap(self, x: float) -> float:
        """The nearest end of a cell."""
        i = self.index(x)
        below, above = self.edge(i), self.edge(i + 1)
        return below if x - below <= above - x else above

    def stretch(self, lo: float, hi: float) -> tuple[Any, tuple[Any, Any]]:
        """The middle one of the values whose cells meet [lo, hi), the first and the last."""
        first, last = self.index(lo), self.index(math.nextafter(hi, -math.inf))
        return self.atom((first + last) // 2), (self.atom(first), self.atom(last))

    def steps(self, function: Piecewise) -> Piecewise:
        """A step for every value, where the function is not one of steps."""
        if function.degree == 0:
            return function
        lo, hi = float(function.edges[0]), float(function.edges[-1])
        last = self.count if hi == self.hi else self.first(hi)  # the end of the knob is closed
        atoms = [self.atom(i) for i in range(self.first(lo), last)]
        if not atoms:
            raise ValueError(f"the function told holds no value of the knob, got {function!r}")
        return PiecewiseConstant([*atoms, max(hi, math.nextafter(atoms[-1], math.inf))], function(atoms))
