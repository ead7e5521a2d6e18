"""Base of families whose runs return an interval with the same output: `reveal` and `losses` from it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from semibandit import _validate
from semibandit.families.instance import before_end
from semibandit.families.levels import level_set
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

__all__ = ["Stepwise"]


class Stepwise(ABC):
    """An instance with a loss in [0, 1] that is constant while the output of a run is the same.

    Parameters
    ----------
    space
        The parameters that may be played.
    partition
        The feedback sets: maximal intervals with the same "output", or with the same "loss".
    """

    def __init__(self, space: Interval, partition: str) -> None:
        self.space = space
        self.partition = _validate.choice("partition", partition, ("output", "loss"))

    @property
    def high(self) -> float:
        """The upper end of the loss."""
        return 1.0

    @property
    def maximize(self) -> bool:
        """True if losses are utilities."""
        return False

    @abstractmethod
    def _run(self, rho: float) -> tuple[float, float, float]:
        """Return the ends of the interval with the same output as at rho, and the loss."""

    def loss(self, rho: float) -> float:
        """Return the loss at rho (bandit feedback)."""
        return self._run(before_end(self.space, rho))[2]

    def reveal(self, rho: float) -> PiecewiseConstant:
        """Return the loss on the feedback set around rho (semi-bandit feedback): one run."""
        return level_set(self._piece, rho, self.space) if self.partition == "loss" else self._piece(rho)

    def _piece(self, rho: float) -> PiecewiseConstant:
        return PiecewiseConstant.constant(*self._run(before_end(self.space, rho)))

    def losses(self) -> PiecewiseConstant:
        """Return the loss everywhere (full information): one run for each piece."""
        edges, values = [self.space.lo], []
        while edges[-1] < self.space.hi:
            _, hi, loss = self._run(edges[-1])
            edges.append(hi)
            values.append(loss)
        function = PiecewiseConstant(edges, values)
        return function.compress() if self.partition == "loss" else function
