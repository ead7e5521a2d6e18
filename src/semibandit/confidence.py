"""Confidence intervals for the mean of bounded numbers, for a fixed sample size or at any time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["Bounds", "bernstein_radius", "betting_bounds", "mean_and_error", "rules_out", "t_bounds"]

_MOST_BET = 0.75  # share of the capital; the paper has 1/2 or 3/4, which is narrower for small variances
_BISECTIONS = 50


class Bounds(NamedTuple):
    """Confidence interval for the mean."""

    low: float
    high: float


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the sample mean and its standard error; the error is nan for n = 1, both are for n = 0.

    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    n = len(values)
    if n == 0:
        return math.nan, math.nan
    mean = math.fsum(values) / n
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan


def t_bounds(values: Any, *, alpha: float = 0.05, skewed: bool = False) -> Bounds:
    """Return Student's confidence interval for the mean: exact for normal numbers, infinite for n < 2. O(n).

    Valid for a sample size fixed in advance; `betting_bounds` are valid at any time.

    Parameters
    ----------
    values
        Independent numbers with the same distribution.
    alpha
        Probability that the mean is outside, half of it on each side.
    skewed
        Correct for skewness, which moves one end away from the mean and the other towards it. By Hall (1992),
        t + a·t²/3 + a²·t³/27 + a/6 has nearly Student's distribution for a = skewness/√n. The sample skewness
        of few numbers is too small if the true one is large, and not 0 if the true one is. So the end that
        moves away has a·(1 + 5/√n), the other a/2.

    >>> bounds = t_bounds([0.1, 0.2, 0.3])
    >>> print(f"{bounds.low:.2f} to {bounds.high:.2f}")
    -0.05 to 0.45
    """
    from scipy.special import stdtrit

    alpha = _validate.number("alpha", alpha, low=0.0, high=1.0, open=True)
    values = _validate.vector("values", values)
    if values.size < 2:
        return Bounds(-math.inf, math.inf)
    mean, error = mean_and_error(values.tolist())
    ends = stdtrit(values.size - 1, 1.0 - alpha / 2.0) * np.array([1.0, -1.0])
    if skewed and error:
        root_n = math.sqrt(values.size)
        skewness = float((((values - mean) / (error * root_n)) ** 3).mean())
        away = np.sign(ends) != np.sign(skewness)
        a = np.where(away, 1.0 + 5.0 / root_n, 0.5) * (skewness / root_n)
        ends -= a / 6.0
        root = np.cbrt(1.0 + a * ends)  # the transformation is ((1 + a·t/3)³ - 1)/a + a/6
        ends *= 3.0 / (root**2 + root + 1.0)
    low, high = (mean - error * ends).tolist()
    return Bounds(low, high)


def bernstein_radius(
    n: Any, variance: Any, *, width: float = 1.0, alpha: float = 0.05, means: int = 1, sides: int = 2
) -> Any:
    """Return the empirical Bernstein bound on the distance of a sample mean from its expectation.

    With probability 1 - α it is at most √(2·V·ln(2s/α)/n) + 7·w·ln(2s/α)/(3·(n - 1)), for independent numbers
    in an interval of width w with sample variance V, and s sides (Maurer and Pontil 2009, Theorem 4). Valid
    for a sample size fixed in advance; `betting_bounds` are valid at any time. O(1); arrays are broadcast.

    Parameters
    ----------
    n
        Sample size; for n = 1 the bound is the width.
    variance
        Sample variance, with n - 1 in the denominator.
    width
        Width of the range of the numbers.
    alpha
        Error probability.
    means
        Number of means that the bound holds for at the same time (union bound).
    sides
        2 for a two-sided, 1 for a one-sided bound.

    >>> float(bernstein_radius(1000, 0.04))
    0.02895826826130502
    """
    alpha = _validate.number("alpha", alpha, low=0.0, high=1.0, open=True)
    width = _validate.number("width", width, low=0.0)
    log = math.log(2.0 * sides * means / alpha)
    n = np.asarray(n, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.sqrt(2.0 * np.asarray(variance) * log / n) + 7.0 * width * log / (3.0 * (n - 1.0))
    return np.where(n < 2.0, width, np.minimum(radius, width))


def betting_bounds(values: Any, low: float = 0.0, high: float = 1.0, *, alpha: float = 0.05) -> Bounds:
    """Return a confidence interval for the mean that is valid at any time (a confidence sequence). O(n).

    The hedged capital process of Waudby-Smith and Ramdas (2023, Theorem 3). If m is the true mean, the
    capital of a bettor against m ever reaches 2/α times its start with probability at most α/2. The interval
    holds those m against which neither a bettor on more nor one on less has ever reached it. The bets
    are those of the paper, λ = √(2·ln(2/α) / (σ̂²·t·ln(1 + t))) from the numbers before t, at most three
    quarters of the capital. The numbers must have the same mean, given the numbers before; they need not be
    independent.

    Parameters
    ----------
    values
        Numbers in their order.
    low, high
        Range of the numbers, known in advance.
    alpha
        Probability that the mean is ever outside.

    >>> bounds = betting_bounds([0.25, 0.375] * 100)
    >>> print(f"{bounds.low:.2f} to {bounds.high:.2f}")
    0.30 to 0.33
    """
    alpha = _validate.number("alpha", alpha, low=0.0, high=1.0, open=True)
    low = _validate.number("low", low)
    high = _validate.number("high", high, low=low)
    values = _validate.vector("values", values, low=low)
    if values.size and values.max() > high:
        raise ValueError(f"values must be at most {high:g}, got {float(values.max())!r}")
    if values.size == 0 or low == high:
        return Bounds(low, high)
    x = (values - low) / (high - low)
    bets = _bets(x, alpha)
    limit = math.log(2.0 / alpha)
    less = _edge(lambda m: _wealth(x, bets, m) < limit)
    more = 1.0 - _edge(lambda m: _wealth(1.0 - x, bets, m) < limit)
    return Bounds(low + (high - low) * less, low + (high - low) * more)


def rules_out(mean: float, values: FloatArray, low: float, high: float, *, alpha: float = 0.05) -> bool:
    """Return whether `betting_bounds` exclude a mean, without computing them. O(n).

    >>> values = np.tile([0.25, 0.375], 100)
    >>> rules_out(0.35, values, 0.0, 1.0), rules_out(0.32, values, 0.0, 1.0)
    (True, False)
    """
    x, m = (values - low) / (high - low), (mean - low) / (high - low)
    bets = _bets(x, alpha)
    richest = max(_wealth(x, bets, m), _wealth(1.0 - x, bets, 1.0 - m))
    return richest >= math.log(2.0 / alpha)


def _bets(x: FloatArray, alpha: float) -> FloatArray:
    """Return the bet on each number, from the numbers before it, which lie in [0, 1]."""
    t = np.arange(1.0, x.size + 1.0)
    means = (0.5 + np.cumsum(x)) / (t + 1.0)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1.0)
    before = np.concatenate(([0.25], variances[:-1]))
    return np.asarray(np.sqrt(2.0 * math.log(2.0 / alpha) / (before * t * np.log1p(t))))


def _wealth(x: FloatArray, bets: FloatArray, m: float) -> float:
    """Return the log of the largest capital of a bettor on a mean above m; it decreases in m."""
    most = _MOST_BET / m if m > 0.0 else math.inf
    return float(np.cumsum(np.log1p(np.minimum(bets, most) * (x - m))).max())


def _edge(holds: Callable[[float], bool]) -> float:
    """Return the least m in [0, 1] from which on `holds` is true, rounded down, which is safe."""
    if holds(0.0):
        return 0.0
    below, above = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (below + above)
        if holds(middle):
            above = middle
        else:
            below = middle
    return below
