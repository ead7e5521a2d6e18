"""Parts shared by families: the space of an instance, and the loss of a value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cache

from semibandit import _validate
from semibandit.spaces.interval import Interval

__all__ = ["Valued", "before_end", "interval_or"]


def interval_or(default: tuple[float, float], space: Interval | None) -> Interval:
    """Return the space that a user gave, or the default one."""
    if space is None:
        return _interval(*default)
    if not isinstance(space, Interval):
        raise TypeError(f"space must be an Interval, got {space!r}")
    return space


@cache
def _interval(lo: float, hi: float) -> Interval:
    """Return the same one for all instances: to make one takes longer than some runs."""
    return Interval(lo, hi)


def before_end(space: Interval, rho: float) -> float:
    """Return rho, checked; for the right end, which belongs to the last piece, the double before it."""
    return min(space.check(rho), math.nextafter(space.hi, -math.inf))


class Valued(ABC):
    """An instance whose runs have a value of at most `bound`; higher values are better.

    Parameters
    ----------
    space
        The parameters that may be played.
    loss
        "normalised": 1 - value / bound, in [0, 1]. "utility": the value, to be maximised.
    """

    kinds: tuple[str, ...] = ("normalised", "utility")

    def __init__(self, space: Interval, loss: str) -> None:
        self.space = space
        self.kind = _validate.choice("loss", loss, self.kinds)

    @property
    @abstractmethod
    def bound(self) -> float:
        """An upper bound on the value of a run."""

    @property
    def high(self) -> float:
        """The upper end of the loss."""
        return 1.0 if self.kind == "normalised" else self.bound

    @property
    def maximize(self) -> bool:
        """True for loss="utility": higher values are better."""
        return self.kind == "utility"

    def loss_of(self, value: float) -> float:
        """Return the loss of a run with this value."""
        # Sums in different orders may differ in the last bit; the loss must stay in its range.
        bound = self.bound
        value = min(value, bound)
        if self.kind == "utility":
            return value
        return 1.0 - value / bound if bound > 0.0 else 0.0
