"""What an algorithm family must offer: one arriving instance and its loss at every parameter."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from semibandit.functions import Piecewise
from semibandit.spaces.interval import Interval

__all__ = ["Explicit", "Problem"]


@runtime_checkable
class Problem(Protocol):
    """One instance of an algorithm family, with the three kinds of feedback.

    The sets on which `reveal` sees the loss must form a partition of the space: for every rho' in the
    domain of reveal(rho), reveal(rho') has the same domain. Without that the learner's estimates are biased.
    """

    space: Interval

    def loss(self, rho: float) -> float:
        """Bandit: one plain run."""
        ...

    def reveal(self, rho: float) -> Piecewise:
        """Semi-bandit: one run with bookkeeping; the loss on the interval around rho."""
        ...

    def losses(self) -> Piecewise:
        """Full information: the whole loss function."""
        ...


class Explicit:
    """An instance whose loss function is given outright, each of its pieces a feedback set.

    >>> problem = Explicit(PiecewiseConstant([0, 0.4, 1], [0.9, 0.1]))
    >>> problem.reveal(0.7)
    PiecewiseConstant([0.4, 1.0], [0.1])
    """

    def __init__(self, function: Piecewise) -> None:
        if not isinstance(function, Piecewise):
            raise TypeError(f"function must be a piecewise function, got {function!r}")
        if len(function.domain) != 1 or function.domain[0] != (function.edges[0], function.edges[-1]):
            raise ValueError(f"function must be seen everywhere on its span, got {function!r}")
        self.function = function
        self.space = Interval(*function.domain[0])

    def loss(self, rho: float) -> float:
        """The value at rho."""
        return self.function(self.space.check(rho))

    def reveal(self, rho: float) -> Piecewise:
        """The piece around rho."""
        rho = self.space.check(rho)
        return self.function.piece(rho)

    def losses(self) -> Piecewise:
        """The whole function."""
        return self.function

    def __repr__(self) -> str:
        return f"Explicit({self.function!r})"
