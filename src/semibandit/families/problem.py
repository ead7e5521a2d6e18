"""What an algorithm family must offer: one arriving instance and its loss at every parameter."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from semibandit.functions import Piecewise
from semibandit.spaces import Interval, Space

__all__ = ["Explicit", "Problem"]


@runtime_checkable
class Problem(Protocol):
    """One instance of an algorithm family, with the three kinds of feedback.

    Its parameters are those of its space: rho for an `Interval`, rho and alpha for `Strips`. Functions are on
    the line of the space.

    The sets on which `reveal` sees the loss must form a partition of the space: wherever in the domain of
    reveal(rho) one plays, `reveal` has the same domain. Without that the learner's estimates are biased.
    """

    @property
    def space(self) -> Space:
        """Where the parameters live."""
        ...

    @property
    def high(self) -> float:
        """The upper end of the losses, which lie in [0, high]."""
        ...

    @property
    def maximize(self) -> bool:
        """Whether the losses are utilities, and more is better."""
        ...

    def loss(self, *parameters: Any) -> float:
        """Bandit feedback: the loss of one plain run."""
        ...

    def reveal(self, *parameters: Any) -> Piecewise:
        """Semi-bandit feedback: the loss on a set around the parameters, by one run with bookkeeping."""
        ...

    def losses(self) -> Piecewise:
        """Full information: the whole loss function."""
        ...


class Explicit:
    """An instance whose loss function is given outright, each of its pieces a feedback set.

    >>> from semibandit import PiecewiseConstant
    >>> problem = Explicit(PiecewiseConstant([0, 0.4, 1], [0.9, 0.1]))
    >>> problem.reveal(0.7)
    PiecewiseConstant([0.4, 1.0], [0.1])
    """

    high = 1.0
    maximize = False

    def __init__(self, function: Piecewise) -> None:
        if not isinstance(function, Piecewise):
            raise TypeError(f"function must be a piecewise function, got {function!r}")
        if not function.whole:
            raise ValueError(f"function must be seen everywhere on its span, got {function!r}")
        self.function = function
        self.space = Interval(*function.domain[0])

    def loss(self, rho: float) -> float:
        """The value at rho."""
        return self.function(self.space.check(rho))

    def reveal(self, rho: float) -> Piecewise:
        """The piece around rho."""
        return self.function.piece(self.space.check(rho))

    def losses(self) -> Piecewise:
        """The whole function."""
        return self.function

    def __repr__(self) -> str:
        return f"Explicit({self.function!r})"
