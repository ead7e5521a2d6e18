"""What several families share: the interval that an instance lives on, and a value that becomes a loss."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cache

from semibandit import _validate
from semibandit.spaces.interval import Interval

__all__ = ["Valued", "before_end", "interval_or"]


def interval_or(default: tuple[float, float], space: Interval | None) -> Interval:
    """The space that a user gave, or the default one."""
    if space is None:
        return _interval(*default)
    if not isinstance(space, Interval):
        raise TypeError(f"space must be an Interval, got {space!r}")
    return space


@cache
def _interval(lo: float, hi: float) -> Interval:
    """The same one for all instances: to make one takes longer than some runs."""
    return Interval(lo, hi)


def before_end(space: Interval, rho: float) -> float:
    """rho, checked; just left of the right end for that end, which belongs to the last piece."""
    return min(space.check(rho), math.nextafter(space.hi, -math.inf))


class Valued(ABC):
    """An instance whose runs have a value of at most `bound`: the more the better.

    Parameters
    ----------
    space
        The parameters that may be played.
    loss
        "normalised" for 1 - value / bound, in [0, 1], or "utility" for the value itself, to be maximised.
    """

    kinds: tuple[str, ...] = ("normalised", "utility")

    def __init__(self, space: Interval, loss: str) -> None:
        self.space = space
        self.kind = _validate.choice("loss", loss, self.kinds)

    @property
    @abstractmethod
    def bound(self) -> float:
        """No run has a value above this."""

    @property
    def high(self) -> float:
        """The upper end of the loss."""
        return 1.0 if self.kind == "normalised" else self.bound

    @property
    def maximize(self) -> bool:
        """Whether more is better: true for loss="utility" alone."""
        return self.kind == "utility"

    def loss_of(self, value: float) -> float:
        """The loss of a run with this value."""
        # Sums in different orders may differ in the last bit; a loss never leaves its range for that.
        bound = self.bound
        value = min(value, bound)
        if self.kind == "utility":
            return value
        return 1.0 - value / bound if bound > 0.0 else 0.0
