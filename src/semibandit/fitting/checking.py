"""Confidence bounds for future problems: the loss of a parameter, and its gap to another one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from semibandit.fitting.engines import Chunk
from semibandit.fitting.log import Reader, Unreadable
from semibandit.functions import Piecewise
from semibandit.spaces import Parameters, call

__all__ = ["Check", "Checked", "Confidence", "Estimate", "LossRange"]


class Estimate(NamedTuple):
    """A sample mean, and a confidence interval for its expectation.

    `vacuous` is True if the interval is the whole range of possible values.
    """

    value: float
    low: float
    high: float
    vacuous: bool = False

    def __str__(self) -> str:
        bounds = "vacuous bounds" if self.vacuous else f"{self.low:.4g} to {self.high:.4g}"
        return f"{self.value:.4g} ({bounds})"


@dataclass(frozen=True)
class Confidence:
    """Bounds for future problems of the distribution of the log. Each holds with probability `level`.

    Attributes
    ----------
    level
        Probability of each bound.
    method
        "held-out": empirical Bernstein bound, from problems that the parameter was not chosen by;
        "uniform": bound for all parameters at once, from the problems that it was chosen by.
    loss
        Expected loss of the chosen parameter.
    gap
        Expected loss of the default less that of the chosen parameter; None without a default.
    radius
        Largest distance of the mean loss function of the log to the expected one (`uniform_radius`).
    vacuous
        Whether `radius` is at least the range of the losses, and so says nothing.
    """

    level: float
    method: str
    loss: Estimate
    gap: Estimate | None
    radius: float
    vacuous: bool = False


@dataclass(frozen=True)
class LossRange:
    """Interval of the possible losses."""

    low: float
    high: float

    @classmethod
    def of(cls, stated: float, high: float | None, least: float, most: float) -> LossRange:
        """Return [0, high]; without `high`, [0, stated] extended to the observed losses."""
        if high is None:
            return cls(min(0.0, least), max(stated, most))
        if least < 0.0 or most > high:
            raise ValueError(f"losses must be in [0, {high:g}], got some from {least!r} to {most!r}")
        return cls(0.0, high)

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    def loss(self, mean: float, radius: float) -> Estimate:
        """Return the confidence interval of a mean loss."""
        return _clipped(mean, radius, self.low, self.high)

    def gap(self, mean: float, radius: float) -> Estimate:
        """Return the confidence interval of a mean difference of two losses."""
        return _clipped(mean, radius, -self.width, self.width)


def _clipped(mean: float, radius: float, low: float, high: float) -> Estimate:
    a, b = max(mean - radius, low), min(mean + radius, high)
    return Estimate(mean, a, b, (a, b) == (low, high))


class Moments(NamedTuple):
    """Number, sum and sum of squares of a sample, exact."""

    n: int
    total: Fraction
    squares: Fraction

    @classmethod
    def of(cls, numbers: Iterable[Fraction]) -> Moments:
        """Return the moments of numbers."""
        numbers = list(numbers)
        return cls(len(numbers), sum(numbers, Fraction(0)), sum((x * x for x in numbers), Fraction(0)))

    @classmethod
    def merge(cls, moments: Iterable[Moments]) -> Moments:
        """Return the moments of all samples together."""
        n, total, squares = zip(*moments, strict=True)
        return cls(sum(n), sum(total, Fraction(0)), sum(squares, Fraction(0)))

    @property
    def mean(self) -> float:
        return float(self.total / self.n)

    @property
    def variance(self) -> float:
        """Sample variance with denominator n - 1; 0 for n = 1."""
        return float((self.squares - self.total**2 / self.n) / (self.n - 1)) if self.n > 1 else 0.0


@dataclass(frozen=True)
class Checked:
    """Losses of the chosen parameter, and gaps to the default, on the problems held out."""

    loss: Moments
    gap: Moments
    least: float
    most: float
    unreadable: tuple[Unreadable, ...]


@dataclass(frozen=True)
class Check:
    """Pass over the problems held out: one plain run of each for the chosen parameter and the default."""

    reader: Reader
    chosen: Parameters
    default: Parameters | None
    maximize: bool

    def __call__(self, chunk: Chunk) -> Checked:
        """Run the problems of a chunk."""
        unreadable: list[Unreadable] = []
        problems = [problem for _, problem in self.reader.read(chunk, unreadable)]
        ours = [Fraction(_loss(problem, self.chosen)) for problem in problems]
        theirs = ours if self.default is None else [Fraction(_loss(p, self.default)) for p in problems]
        sign = -1 if self.maximize else 1
        return Checked(
            Moments.of(ours),
            Moments.of(sign * (b - a) for a, b in zip(ours, theirs, strict=True)),
            float(min(ours + theirs, default=math.inf)),
            float(max(ours + theirs, default=-math.inf)),
            tuple(unreadable),
        )

    @staticmethod
    def merge(parts: list[Checked]) -> Checked:
        """Merge the results of chunks."""
        return Checked(
            Moments.merge(part.loss for part in parts),
            Moments.merge(part.gap for part in parts),
            min(part.least for part in parts),
            max(part.most for part in parts),
            tuple(each for part in parts for each in part.unreadable),
        )


def _loss(problem: Any, parameters: Parameters) -> float:
    return float(call(problem if isinstance(problem, Piecewise) else problem.loss, parameters))
