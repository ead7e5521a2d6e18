"""Parameter spaces: where the knob may stand.

A learner keeps its weights on a line. A space says which line that is, which parameter a point of the
line stands for, and where on the line the feedback for a parameter belongs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseLinear
from semibandit.functions.constant import PiecewiseConstant

__all__ = ["Interval"]


@dataclass(frozen=True)
class Interval:
    """The parameters in [lo, hi].

    Parameters
    ----------
    lo, hi
        The ends, lo < hi.
    margin
        The r₀ of the paper (appendix A): weights live on [lo - margin, hi + margin], and a draw outside
        [lo, hi] plays the nearer end. This makes an interior minimiser of any minimiser, which is what the
        regret bound asks for, at the price of a slightly longer line.

    Examples
    --------
    >>> space = Interval(0, 10)
    >>> 3 in space, 11 in space
    (True, False)
    """

    lo: float
    hi: float
    margin: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", _validate.number("lo", self.lo))
        object.__setattr__(self, "hi", _validate.number("hi", self.hi))
        object.__setattr__(self, "margin", _validate.number("margin", self.margin, low=0.0))
        if not self.lo < self.hi:
            raise ValueError(f"lo must be below hi, got lo = {self.lo} and hi = {self.hi}")
        if not math.isfinite(self.line[1] - self.line[0]):
            raise ValueError(
                f"the length of the space must be finite, got lo = {self.lo}, hi = {self.hi} "
                f"and margin = {self.margin}"
            )

    def __contains__(self, rho: object) -> bool:
        return isinstance(rho, int | float | np.floating | np.integer) and bool(self.lo <= rho <= self.hi)

    def check(self, rho: float, name: str = "rho") -> float:
        """`rho` as a float, or an error that names the space."""
        return _validate.number(name, rho, low=self.lo, high=self.hi)

    @property
    def width(self) -> float:
        """The length, hi - lo."""
        return self.hi - self.lo

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the line that functions of the parameter are on; margins aside."""
        return self.lo, self.hi

    # -- the line that a learner works on --------------------------------------------------------

    @property
    def line(self) -> tuple[float, float]:
        """The ends of the line that carries the weights."""
        return self.lo - self.margin, self.hi + self.margin

    def project(self, x: float) -> float:
        """The parameter that the point x of the line stands for."""
        return min(max(x, self.lo), self.hi)

    def point(self, x: float) -> float:
        """The point of the line where the parameter that x stands for lies: itself, but for margins."""
        return min(max(x, self.lo), self.hi)

    def alpha_at(self, x: float) -> None:
        """There is no second parameter here."""

    def place(self, rho: float) -> float:
        """The point of the line that stands for rho."""
        return self.check(rho)

    def stretch(self, lo: float, hi: float) -> tuple[float, float]:
        """The parameters that [lo, hi) on the line stands for."""
        return self.project(lo), self.project(hi)

    def around(self, function: Piecewise, x: float) -> tuple[float, float]:
        """The parameters around x at which a function is seen."""
        return next((lo, hi) for lo, hi in reversed(function.domain) if lo <= x <= hi)

    def argmin(self, function: PiecewiseConstant) -> tuple[float, float]:
        """The widest stretch of the line on which the minimum is attained."""
        return function.argmin()

    def lay(self, seen: PiecewiseConstant) -> tuple[FloatArray, FloatArray]:
        """The edges and values of `seen` on the line: what touches an end covers the margin beyond it."""
        self._require_inside(seen)
        edges, values = seen.edges, seen.values
        if self.margin > 0.0 and (edges[0] == self.lo or edges[-1] == self.hi):
            edges = edges.copy()
            edges[0] -= self.margin if edges[0] == self.lo else 0.0
            edges[-1] += self.margin if edges[-1] == self.hi else 0.0
        return edges, values

    def lay_linear(self, seen: PiecewiseLinear) -> tuple[FloatArray, FloatArray]:
        """The edges of `seen` on the line, and both ends of each piece; in a margin the value at its end."""
        self._require_inside(seen)
        edges, ends = seen.edges, np.column_stack((seen.left, seen.right))
        a, b = self.line
        if a < edges[0] == self.lo:
            edges, ends = np.append(a, edges), np.vstack((ends[0, [0, 0]], ends))
        if b > edges[-1] == self.hi:
            edges, ends = np.append(edges, b), np.vstack((ends, ends[-1, [1, 1]]))
        return edges, ends

    def _require_inside(self, seen: Piecewise) -> None:
        if seen.edges[0] < self.lo or seen.edges[-1] > self.hi:
            raise ValueError(
                f"the function told must lie inside [{self.lo:g}, {self.hi:g}], "
                f"got one on [{float(seen.edges[0])!r}, {float(seen.edges[-1])!r}]"
            )
