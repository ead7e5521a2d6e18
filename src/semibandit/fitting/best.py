"""The best fixed parameter for a sum of loss functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from semibandit.functions import Piecewise
from semibandit.spaces import Alpha, Interval, Line, Parameters, call, parameters_of, values_of

__all__ = ["Hindsight", "best_of", "position"]


@dataclass(frozen=True)
class Hindsight:
    """The widest interval of best fixed parameters, and their mean loss.

    `alpha` is the row, on strips. On `Knobs` the interval is that of the knob along the rows, and `values`
    has all knobs by name. Unpacks into two: `interval, mean_loss = best_in_hindsight(problems)`.
    """

    interval: tuple[float, float]
    mean_loss: float
    alpha: Alpha | None = None
    names: tuple[str, ...] = ()
    middle: float | None = None

    @property
    def rho(self) -> float:
        """Middle of the interval, on the scale of the knob."""
        return Line(*self.interval).stretch(*self.interval)[0] if self.middle is None else self.middle

    @property
    def values(self) -> dict[str, Any]:
        """The best parameters by name."""
        return values_of(self.names, self.rho, self.alpha)

    @property
    def parameters(self) -> Parameters:
        """The best parameters as the methods of a problem take them."""
        return parameters_of(self.names, self.rho, self.alpha)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.interval, self.mean_loss))

    def __getitem__(self, index: Any) -> Any:
        return (self.interval, self.mean_loss)[index]


def best_of(total: Piecewise, count: int, space: Any, maximize: bool) -> Hindsight:
    """Return the best parameter for the sum of `count` functions; `space` is None for bare functions."""
    space = _space(space, total)
    losses = total * -1.0 if maximize else total
    row, found = space.line.argmin(losses)
    middle, interval = space.line.stretch(*found)
    mean = (-losses.min() if maximize else losses.min()) / count
    return Hindsight(interval, mean, space.alphas[row], space.names, middle)


def position(default: Parameters, space: Any, function: Piecewise) -> float:
    """Return the position of the argument `default` on the line; an error if it is not in the space."""
    space = _space(space, function)
    try:
        return float(call(space.place, default))
    except (TypeError, ValueError) as error:
        raise type(error)(f"default must be a parameter of {space.describe()}: {error}") from None


def _space(space: Any, function: Piecewise) -> Any:
    """Return the space; the span of the function for None."""
    return Interval(*function.edges[[0, -1]].tolist()) if space is None else space
