"""Predictions of an instance's loss, as a control variate."""

from __future__ import annotations

import math

__all__ = ["Forecast"]


class Forecast:
    """Amounts to subtract from the losses of a round, by the user's predictions.

    With a prediction b of the loss paid, a round subtracts θ·(b - mean of the b before). The amount does not
    depend on the draw and is the same for all parameters: estimates of differences stay unbiased, and the
    regret stays the same. θ in [0, 1] is the slope of the regression of the losses paid on b in past rounds,
    with the weight of one round for a slope of 0. Predictions are clipped to the range of the losses paid:
    the amounts have at most this range, and the losses that remain at most twice the range. The learner
    subtracts the amount from its range of losses as well, so that no further losses are clipped.

    >>> forecast = Forecast()
    >>> for loss in (1.0, 5.0, 3.0, 1.0, 5.0):
    ...     amount = forecast.amount(loss, loss)
    >>> round(forecast.slope, 3), round(forecast.amount(5.0, 5.0), 3)
    (0.833, 1.667)
    """

    def __init__(self) -> None:
        self.rounds = 0
        self._range = (math.inf, -math.inf)  # of the losses paid
        self._means = (0.0, 0.0)  # of the predictions and of the losses
        self._squares = (0.0, 0.0)  # sums of their squared deviations
        self._products = 0.0

    @property
    def slope(self) -> float:
        """The coefficient θ."""
        if not self._products > 0.0:
            return 0.0
        return min(self._products / (self._squares[0] + self._squares[1] / self.rounds), 1.0)

    def amount(self, predicted: float, paid: float) -> float:
        """Return the amount to subtract from the losses of a round, and add the round to the statistics."""
        amount = 0.0
        if self.rounds:
            amount = self.slope * (self._clipped(predicted) - self._means[0])
        self._range = min(self._range[0], paid), max(self._range[1], paid)
        self._add(self._clipped(predicted), paid)
        return amount

    def _clipped(self, predicted: float) -> float:
        return min(max(predicted, self._range[0]), self._range[1])

    def _add(self, predicted: float, paid: float) -> None:
        """Add a round by Welford's recurrence."""
        self.rounds += 1
        (b, y), n = self._means, self.rounds
        self._means = b + (predicted - b) / n, y + (paid - y) / n
        self._squares = (
            self._squares[0] + (predicted - b) * (predicted - self._means[0]),
            self._squares[1] + (paid - y) * (paid - self._means[1]),
        )
        self._products += (predicted - b) * (paid - self._means[1])

    @property
    def state(self) -> list[float]:
        """Numbers, for saving."""
        return [float(self.rounds), *self._range, *self._means, *self._squares, self._products]

    @state.setter
    def state(self, numbers: list[float]) -> None:
        if len(numbers) != 8 or not all(map(math.isfinite, numbers)) or numbers[0] < 1.0:
            raise ValueError(f"the statistics of predictions are broken: {numbers}")
        rounds, low, high, b, y, bb, yy, self._products = numbers
        self.rounds, self._range, self._means, self._squares = int(rounds), (low, high), (b, y), (bb, yy)
