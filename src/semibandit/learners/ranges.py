"""Range of the losses, which is the unit of learning rates."""

from __future__ import annotations

import math

import numpy as np

from semibandit.weights import Feedback

__all__ = ["LossRange"]

_FEWEST = 4  # rounds after which the inner range is used
_ROUNDING = 1e-12  # losses that differ by less, relative to their size, are equal


class LossRange:
    """Inner range of the losses told, without the smallest and the largest: one outlier is not in it.

    A round counts with its smallest and its largest loss.

    >>> losses = LossRange()
    >>> for loss in (3.0, 5.0, 4.0, 1000.0, 6.0):
    ...     losses.add(loss, loss)
    >>> losses.inner, losses.span
    ((4.0, 6.0), 997.0)
    """

    def __init__(self) -> None:
        self.rounds = 0
        self._least = (math.inf, math.inf)  # the smallest and the second smallest
        self._most = (-math.inf, -math.inf)
        self._widest = (0.0, 0.0)  # differences within a round, the largest first

    def add(self, low: float, high: float) -> None:
        """Add a round with losses from `low` to `high`."""
        self.rounds += 1
        if low < self._least[1]:
            self._least = (low, self._least[0]) if low < self._least[0] else (self._least[0], low)
        if high > self._most[1]:
            self._most = (high, self._most[0]) if high > self._most[0] else (self._most[0], high)
        width = high - low
        if width > self._widest[1]:
            first = self._widest[0]
            self._widest = (width, first) if width > first else (first, width)

    def add_feedback(self, feedback: Feedback) -> None:
        """Add the losses of a round."""
        losses = feedback.losses
        if losses.size == 1 and feedback.rises is None:
            loss = losses.item()
            self.add(loss, loss)
            return
        half = 0.0 if feedback.rises is None else 0.5 * np.abs(feedback.rises)
        self.add(float(np.nanmin(losses - half)), float(np.nanmax(losses + half)))

    @property
    def inner(self) -> tuple[float, float]:
        """Second smallest and second largest loss; (0, 0) until four rounds were told.

        While these are equal, a range around them: as wide as the span, or 1 if all losses are equal.
        """
        if self.rounds < _FEWEST:
            return 0.0, 0.0
        if self.stage == 3:
            return self._least[1], self._most[1]
        half = 0.5 * (self.span or 1.0)
        return self._least[1] - half, self._least[1] + half

    @property
    def stage(self) -> int:
        """0: fewer than four rounds; 1: all losses are equal; 2: all but outliers; 3: the range is known."""
        if self.rounds < _FEWEST:
            return 0
        if self._most[1] - self._least[1] > _ROUNDING * max(abs(self._most[1]), abs(self._least[1])):
            return 3
        return 2 if self.span > 0.0 else 1

    @property
    def span(self) -> float:
        """Largest loss minus smallest loss."""
        return max(self._most[0] - self._least[0], 0.0) if self.rounds else 0.0

    @property
    def width(self) -> float:
        """Second largest difference of losses within a round, or the only one that is not 0."""
        return self._widest[1] or self._widest[0]

    @property
    def state(self) -> list[float]:
        """Numbers, for saving."""
        return [float(self.rounds), *self._least, *self._most, *self._widest]

    @state.setter
    def state(self, numbers: list[float]) -> None:
        if len(numbers) != 7 or any(map(math.isnan, numbers)) or numbers[0] < 0.0:
            raise ValueError(f"the range of the losses is broken: {numbers}")
        rounds, a, b, c, d, e, f = numbers
        self.rounds, self._least, self._most, self._widest = int(rounds), (a, b), (c, d), (e, f)
