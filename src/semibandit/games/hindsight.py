"""The best fixed parameter in hindsight."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from semibandit import _validate
from semibandit.fitting.best import Hindsight, best_of, mean_of
from semibandit.fitting.engines import WorkEngine
from semibandit.fitting.log import Log, Reader
from semibandit.fitting.search import Search, SearchResult
from semibandit.functions import Piecewise

__all__ = ["Hindsight", "best_in_hindsight", "mean_loss"]


def best_in_hindsight(
    problems: Iterable[Any], *, maximize: bool = False, max_pieces: int = 4_000_000
) -> Hindsight:
    """Return the fixed parameter with the smallest total loss over all problems.

    The result is exact: each value of the sum of the whole loss functions is rounded once, and sums that
    round to the same double count as equal. With piecewise linear functions the minimum may be at a point.
    On `Knobs` the result is the best of all rows.

    One pass takes O(N log N) for N pieces, and memory for the pieces of the sum. If these are more than
    `max_pieces`, and `problems` can be iterated again, further passes search only the cells of the line
    that can contain the minimum. `fit` does the same on many cores.

    Parameters
    ----------
    problems
        Problems, or their loss functions as `PiecewiseConstant` or `PiecewiseLinear`.
    maximize
        The functions are utilities: higher values are better.
    max_pieces
        Largest number of pieces of the sum in memory.

    Examples
    --------
    >>> from semibandit import PiecewiseConstant
    >>> steps = [PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.3, 0.4, 0.9)]
    >>> interval, mean_loss = best_in_hindsight(steps)
    >>> interval, round(mean_loss, 3)
    ((0.9, 1.0), 0.2)
    """
    _validate.integer("max_pieces", max_pieces, low=2)
    return _searched(problems, maximize, max_pieces)[1]


def mean_loss(problems: Iterable[Any], *, maximize: bool = False) -> tuple[Piecewise, Hindsight]:
    """Return the exact mean of the whole loss functions, and its minimum. O(N log N) for N pieces.

    >>> from semibandit import PiecewiseConstant
    >>> mean, best = mean_loss([PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.5, 0.75)])
    >>> mean
    PiecewiseConstant([0.0, 0.5, 0.75, 1.0], [0.8, 0.5, 0.2])
    >>> best.interval
    (0.75, 1.0)
    """
    return _searched(problems, maximize, math.inf)


def _searched(problems: Iterable[Any], maximize: bool, max_pieces: float) -> tuple[Piecewise, Hindsight]:
    maximize = _validate.boolean("maximize", maximize)
    log, reader = Log(problems), Reader()
    search = Search(log, WorkEngine(), _unwatched, reader, maximize, max_pieces)
    found: SearchResult = search.run(log.first(reader))
    count = found.partial.count
    return mean_of(found.function, count), best_of(found.function, count, found.partial.space, maximize)


def _unwatched(what: str, total: int | None) -> Any:
    """Show no progress."""
    return lambda done: None
