"""One real parameter."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.spaces.axes import Axis
from semibandit.spaces.line import Line

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
        if not math.isfinite((self.hi + self.margin) - (self.lo - self.margin)):
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
        """The ends, (lo, hi)."""
        return self.lo, self.hi

    # -- a space of one row ------------------------------------------------------------------------

    alphas: ClassVar[tuple[None]] = (None,)  # there is one row, and there are no further parameters
    directions: ClassVar[tuple[Axis, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ()  # problems are called by position

    @property
    def interval(self) -> Interval:
        """Where rho lives: here."""
        return self

    @property
    def finest(self) -> Interval:
        """The space with all rows that it may have: this one."""
        return self

    def finer(self, shares: FloatArray) -> None:
        """There is nothing to split."""
        return None

    @cached_property
    def line(self) -> Line:
        """The line that a learner works on."""
        return Line(self.lo, self.hi, self.margin)

    def place(self, rho: float) -> float:
        """The point of the line that functions are on which stands for rho."""
        return self.check(rho)

    def parameters(self, row: int, rho: float) -> tuple[Any, ...]:
        """What the methods of a problem take."""
        return (rho,)

    def describe(self) -> str:
        """What a learner and its problems must agree on; margins are the learner's own."""
        return f"[{self.lo:g}, {self.hi:g}]"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `spaces.restore` undoes it."""
        return asdict(self)
