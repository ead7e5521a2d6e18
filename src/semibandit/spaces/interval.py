"""Interval: one real parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit.spaces.line import Axis, Line

__all__ = ["Interval"]


@dataclass(frozen=True)
class Interval:
    """Parameters in [lo, hi]: a space with one row.

    Parameters
    ----------
    lo, hi
        Ends, lo < hi.
    margin
        The r₀ of the paper (appendix A): weights are kept on [lo - margin, hi + margin], and a draw outside
        [lo, hi] plays the nearer end. Every minimiser is then an interior minimiser, as the regret bound
        requires; the line is longer by twice the margin.

    Examples
    --------
    >>> space = Interval(0, 10)
    >>> 3 in space, 11 in space
    (True, False)
    """

    lo: float
    hi: float
    margin: float = 0.0

    alphas: ClassVar[tuple[None]] = (None,)
    directions: ClassVar[tuple[Axis, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", _validate.number("lo", self.lo))
        object.__setattr__(self, "hi", _validate.number("hi", self.hi))
        object.__setattr__(self, "margin", _validate.number("margin", self.margin, low=0.0))
        if not self.lo < self.hi:
            raise ValueError(f"lo must be below hi, got lo = {self.lo} and hi = {self.hi}")
        if not math.isfinite((self.hi + self.margin) - (self.lo - self.margin)):
            raise ValueError(f"the length of the space must be finite, got {self!r}")

    def __repr__(self) -> str:
        margin = f", margin={self.margin}" if self.margin else ""
        return f"Interval({self.lo}, {self.hi}{margin})"

    def __contains__(self, rho: object) -> bool:
        return isinstance(rho, int | float | np.floating | np.integer) and bool(self.lo <= rho <= self.hi)

    def check(self, rho: float, name: str = "rho") -> float:
        """Return `rho` as a float; raise if it is outside of the interval."""
        return _validate.number(name, rho, low=self.lo, high=self.hi)

    @property
    def width(self) -> float:
        """Length, hi - lo."""
        return self.hi - self.lo

    @property
    def span(self) -> tuple[float, float]:
        """Ends, (lo, hi)."""
        return self.lo, self.hi

    @property
    def interval(self) -> Interval:
        """Range of rho: the interval itself."""
        return self

    @cached_property
    def line(self) -> Line:
        """Line of a learner's weights."""
        return Line(self.lo, self.hi, self.margin)

    def coordinates(self, rho: float) -> tuple[float, None]:
        """Return rho, checked, and None: there are no further parameters."""
        return self.check(rho), None

    def place(self, rho: float) -> float:
        """Return the point of the line of functions for rho."""
        return self.check(rho)

    def parameters(self, row: int, rho: float) -> tuple[Any, ...]:
        """Return the arguments of a problem's methods."""
        return (rho,)

    def from_rows(self, functions: Sequence[Any]) -> Any:
        """Return the function of the only row."""
        return functions[0]

    def describe(self) -> str:
        """Return the description, without the margin, that is the same for a learner and its problems."""
        return f"[{self.lo:g}, {self.hi:g}]"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `spaces.restore`."""
        return asdict(self)
