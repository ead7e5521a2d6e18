"""Confidence bounds for future problems: the loss of a parameter, and its gap to another one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.confidence import bernstein_radius
from semibandit.fitting.best import position
from semibandit.fitting.guarantees import uniform_radius
from semibandit.fitting.log import Chunk, Reader, Unreadable
from semibandit.fitting.partial import Partial
from semibandit.functions import Piecewise
from semibandit.spaces import Parameters, call

__all__ = ["Check", "Confidence", "Estimate", "HeldOut", "confidence_of"]


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
class HeldOut:
    """Losses of the chosen parameter and of the default, by the indices of the problems held out."""

    losses: dict[int, tuple[float, float]]
    unreadable: tuple[Unreadable, ...] = ()

    @staticmethod
    def merge(parts: Sequence[HeldOut]) -> HeldOut:
        """Merge the results of chunks."""
        losses = {index: pair for part in parts for index, pair in part.losses.items()}
        return HeldOut(losses, tuple(each for part in parts for each in part.unreadable))

    def table(self) -> FloatArray:
        """Return the losses, with a row for each problem in the order of the log."""
        return np.array([self.losses[index] for index in sorted(self.losses)])


@dataclass(frozen=True)
class Check:
    """Runs the problems held out: once each for the chosen parameter and for the default."""

    reader: Reader
    chosen: Parameters
    default: Parameters | None

    def __call__(self, chunk: Chunk) -> HeldOut:
        """Run the problems of a chunk."""
        unreadable: list[Unreadable] = []
        losses = {}
        for i, problem in self.reader.read(chunk, unreadable):
            loss = _loss(problem, self.chosen)
            losses[i] = loss, loss if self.default is None else _loss(problem, self.default)
        return HeldOut(losses, tuple(unreadable))


def _loss(problem: Any, parameters: Parameters) -> float:
    return float(call(problem if isinstance(problem, Piecewise) else problem.loss, parameters))


def confidence_of(
    partial: Partial,
    held_out: HeldOut | None = None,
    *,
    default: Parameters | None,
    level: float,
    high: float | None,
) -> Confidence:
    """Bound the loss by the problems held out; without these, by a bound uniform over all parameters."""
    low, top = _range(partial, held_out, high)
    width, sign = top - low, -1.0 if partial.maximize else 1.0
    radius, gap_radius = (
        uniform_radius(
            partial.count, partial.breaks, width=width, level=level, gap=gap, degree=partial.function.degree
        )
        for gap in (False, True)
    )
    method, loss, loss_radius, gap = "uniform", partial.best.mean_loss, radius, None
    if held_out is not None:
        ours, theirs = held_out.table().T
        method = "held-out"
        loss, loss_radius = _bernstein(ours, width, level)
        gap, gap_radius = _bernstein(sign * (theirs - ours), 2.0 * width, level)
    elif default is not None:
        at_default = partial.function(position(default, partial.space, partial.function))
        gap = sign * (at_default / partial.count - loss)
    return Confidence(
        level,
        method,
        _clipped(loss, loss_radius, low, top),
        None if default is None or gap is None else _clipped(gap, gap_radius, -width, width),
        radius,
        radius >= width,
    )


def _range(partial: Partial, held_out: HeldOut | None, high: float | None) -> tuple[float, float]:
    """Return the range [0, high] of losses; without `high`, [0, stated bound] with the observed losses."""
    least, most = partial.least, partial.most
    if held_out is not None:
        table = held_out.table()
        least, most = min(least, float(table.min())), max(most, float(table.max()))
    if high is None:
        return min(0.0, least), max(partial.high, most)
    if least < 0.0 or most > high:
        raise ValueError(f"losses must be in [0, {high:g}], got some from {least!r} to {most!r}")
    return 0.0, high


def _bernstein(sample: FloatArray, width: float, level: float) -> tuple[float, float]:
    """Return the mean of a sample, and the radius of the empirical Bernstein bound."""
    variance = float(sample.var(ddof=1)) if sample.size > 1 else 0.0
    radius = bernstein_radius(sample.size, variance, width=width, alpha=1.0 - level)
    return math.fsum(sample) / sample.size, float(radius)


def _clipped(mean: float, radius: float, low: float, high: float) -> Estimate:
    a, b = max(mean - radius, low), min(mean + radius, high)
    return Estimate(mean, a, b, (a, b) == (low, high))
