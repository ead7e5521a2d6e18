"""The protocol of algorithm families: one instance and its loss as a function of the parameters."""

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

    The feedback sets must form a partition of the space: `reveal` has the same domain at every point of the
    domain of reveal(rho). Otherwise the learner's estimates are biased.

    An instance may have an attribute `predicted`, a prediction of its loss: a number or a function. `play`
    passes it to `tell`.
    """

    @property
    def space(self) -> Space:
        """The space of the parameters."""
        ...

    @property
    def high(self) -> float:
        """Upper bound on the losses, which are in [0, high]."""
        ...

    @property
    def maximize(self) -> bool:
        """True if losses are utilities: higher values are better."""
        ...

    def loss(self, *parameters: Any) -> float:
        """Return the loss of one plain run (bandit feedback)."""
        ...

    def reveal(self, *parameters: Any) -> Piecewise:
        """Return the loss on the feedback set around the parameters (semi-bandit feedback)."""
        ...

    def losses(self) -> Piecewise:
        """Return the whole loss function (full information)."""
        ...


class Explicit:
    """An instance with a given loss function. Each piece is a feedback set.

    `high` is 1, or the largest loss if that is larger.

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
        self.high = max(type(self).high, *(float(end.max()) for end in function.ends))

    def loss(self, rho: float) -> float:
        """Return the value at rho."""
        return self.function(self.space.check(rho))

    def reveal(self, rho: float) -> Piecewise:
        """Return the piece around rho."""
        return self.function.piece(self.space.check(rho))

    def losses(self) -> Piecewise:
        """Return the whole function."""
        return self.function

    def __repr__(self) -> str:
        return f"Explicit({self.function!r})"
