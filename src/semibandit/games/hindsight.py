"""The best fixed parameter in hindsight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from semibandit import _validate
from semibandit.fitting.best import Hindsight
from semibandit.fitting.engines import WorkEngine
from semibandit.fitting.log import ProblemLog
from semibandit.fitting.partial import Adder, Partial
from semibandit.functions import Piecewise

__all__ = ["Hindsight", "best_in_hindsight", "mean_loss"]


def best_in_hindsight(problems: Iterable[Any], *, maximize: bool = False) -> Hindsight:
    """Return the fixed parameter with the smallest total loss over all problems.

    The result is exact: each value of the sum of the whole loss functions is rounded once, and sums that
    round to the same double count as equal. With piecewise linear functions the minimum may be at a point.
    On `Knobs` the result is the best of all rows. O(N log N) for N pieces; `fit` does the same on many
    cores.

    Parameters
    ----------
    problems
        Problems, or their loss functions as `PiecewiseConstant` or `PiecewiseLinear`.
    maximize
        The functions are utilities: higher values are better.

    Examples
    --------
    >>> from semibandit import PiecewiseConstant
    >>> steps = [PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.3, 0.4, 0.9)]
    >>> interval, mean_loss = best_in_hindsight(steps)
    >>> interval, round(mean_loss, 3)
    ((0.9, 1.0), 0.2)
    """
    return _added(problems, maximize).best


def mean_loss(problems: Iterable[Any], *, maximize: bool = False) -> tuple[Piecewise, Hindsight]:
    """Return the exact mean of the whole loss functions, and its minimum. O(N log N) for N pieces.

    >>> from semibandit import PiecewiseConstant
    >>> mean, best = mean_loss([PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.5, 0.75)])
    >>> mean
    PiecewiseConstant([0.0, 0.5, 0.75, 1.0], [0.8, 0.5, 0.2])
    >>> best.interval
    (0.75, 1.0)
    """
    partial = _added(problems, maximize)
    return partial.mean, partial.best


def _added(problems: Iterable[Any], maximize: bool) -> Partial:
    maximize = _validate.boolean("maximize", maximize)
    return Adder(maximize=maximize).add(ProblemLog(problems), WorkEngine())
