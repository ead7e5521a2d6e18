"""What a log says of problems to come: bounds on the loss of a parameter, and on its gap to another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from semibandit.functions import Piecewise
from semibandit.games.engines import Chunk
from semibandit.games.log import Reader, Unreadable
from semibandit.spaces import Parameters, call

__all__ = ["Check", "Checked", "Confidence", "Estimate", "Range"]


class Estimate(NamedTuple):
    """A mean, and an interval that holds its expectation."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Confidence:
    """What can be said of problems to come, if they are like those of the log. Each holds with `level`.

    Attributes
    ----------
    level
        The probability of each statement.
    method
        "held-out": from problems that the parameter was not chosen by, by the empirical Bernstein bound;
        "uniform": from those that it was chosen by, as that bound holds for all parameters at once.
    loss
        The loss of the chosen parameter.
    gap
        How much worse the default is than it, where a default was given.
    radius
        The mean loss function of the log is this near to the expected one, everywhere (`uniform_radius`).
    """

    level: float
    method: str
    loss: Estimate
    gap: Estimate | None
    radius: float


@dataclass(frozen=True)
class Range:
    """The interval that losses lie in."""

    low: float
    high: float

    @classmethod
    def of(cls, first: Any, high: float | None, least: float, most: float) -> Range:
        """[0, high] as a user says it is, or as the first problem says, widened to what was seen."""
        if high is None:
            return cls(min(0.0, least), max(float(getattr(first, "high", 1.0)), most))
        if least < 0.0 or most > high:
            raise ValueError(f"losses must be in [0, {high:g}], got some from {least!r} to {most!r}")
        return cls(0.0, high)

    @property
    def width(self) -> float:
        """Its length."""
        return self.high - self.low

    def loss(self, mean: float, radius: float) -> Estimate:
        """A mean loss, known to a radius."""
        return Estimate(mean, max(mean - radius, self.low), min(mean + radius, self.high))

    def gap(self, mean: float, radius: float) -> Estimate:
        """A mean difference of two losses, known to a radius."""
        return Estimate(mean, max(mean - radius, -self.width), min(mean + radius, self.width))


class Moments(NamedTuple):
    """The number, sum and sum of squares of some numbers, exact."""

    n: int
    total: Fraction
    squares: Fraction

    @classmethod
    def of(cls, numbers: Iterable[Fraction]) -> Moments:
        """Those of some numbers."""
        numbers = list(numbers)
        return cls(len(numbers), sum(numbers, Fraction(0)), sum((x * x for x in numbers), Fraction(0)))

    @classmethod
    def merge(cls, moments: Iterable[Moments]) -> Moments:
        """Those of all numbers together."""
        n, total, squares = zip(*moments, strict=True)
        return cls(sum(n), sum(total, Fraction(0)), sum(squares, Fraction(0)))

    @property
    def mean(self) -> float:
        return float(self.total / self.n)

    @property
    def variance(self) -> float:
        """With n - 1 in the denominator; 0 for a single number."""
        return float((self.squares - self.total**2 / self.n) / (self.n - 1)) if self.n > 1 else 0.0


@dataclass(frozen=True)
class Checked:
    """What the chosen parameter, and the gap to the default, were like on problems that were held out."""

    loss: Moments
    gap: Moments
    least: float
    most: float
    bad: tuple[Unreadable, ...]


@dataclass(frozen=True)
class Check:
    """The work of the pass over the problems that were held out: a plain run for each parameter."""

    reader: Reader
    chosen: Parameters
    default: Parameters | None
    maximize: bool

    def __call__(self, chunk: Chunk) -> Checked:
        """What is in a chunk."""
        bad: list[Unreadable] = []
        problems = [problem for _, problem in self.reader.read(chunk, bad)]
        ours = [Fraction(_loss(problem, self.chosen)) for problem in problems]
        theirs = ours if self.default is None else [Fraction(_loss(p, self.default)) for p in problems]
        sign = -1 if self.maximize else 1
        return Checked(
            Moments.of(ours),
            Moments.of(sign * (b - a) for a, b in zip(ours, theirs, strict=True)),
            float(min(ours + theirs, default=math.inf)),
            float(max(ours + theirs, default=-math.inf)),
            tuple(bad),
        )

    @staticmethod
    def merge(parts: list[Checked]) -> Checked:
        """All of them as one."""
        return Checked(
            Moments.merge(part.loss for part in parts),
            Moments.merge(part.gap for part in parts),
            min(part.least for part in parts),
            max(part.most for part in parts),
            tuple(each for part in parts for each in part.bad),
        )


def _loss(problem: Any, parameters: Parameters) -> float:
    return float(call(problem if isinstance(problem, Piecewise) else problem.loss, parameters))
