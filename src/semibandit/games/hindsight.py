"""The best fixed parameter in hindsight, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.functions.exact import ExactSum
from semibandit.games.engines import Advance, engine_for
from semibandit.games.log import Log, Reader
from semibandit.games.losses import space_of
from semibandit.games.search import Search
from semibandit.spaces import Alpha, Interval, Line, Parameters, parameters_of, values_of

__all__ = ["Hindsight", "best_for", "best_in_hindsight", "best_of", "mean_loss", "mean_of", "unwatched"]


@dataclass(frozen=True)
class Hindsight:
    """The widest interval of best fixed parameters, the mean loss there, and on strips the alpha of its row.

    On `Knobs` the interval is that of the knob along the rows; all values by name are in `values`.

    It unpacks into two: `interval, mean_loss = best_in_hindsight(problems)`.
    """

    interval: tuple[float, float]
    mean_loss: float
    alpha: Alpha | None = None
    names: tuple[str, ...] = ()
    middle: float | None = None

    @property
    def rho(self) -> float:
        """The middle of the interval; on the scale of a knob, its own."""
        return Line(*self.interval).stretch(*self.interval)[0] if self.middle is None else self.middle

    @property
    def values(self) -> dict[str, Any]:
        """The best parameters by name."""
        return values_of(self.names, self.rho, self.alpha)

    @property
    def parameters(self) -> Parameters:
        """What a problem's methods take."""
        return parameters_of(self.names, self.rho, self.alpha)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.interval, self.mean_loss))

    def __getitem__(self, index: Any) -> Any:
        return (self.interval, self.mean_loss)[index]


def best_in_hindsight(
    problems: Iterable[Any], *, maximize: bool = False, max_pieces: int = 4_000_000
) -> Hindsight:
    """The fixed parameter with the smallest total loss over all problems.

    On `Knobs` the best of all rows.

    Exact: the minimum of the sum of the whole loss functions, whose values are the true sums, each rounded
    once (so that sums that differ by less may count as equal). One pass, O(N log N) for N pieces, in memory
    for the pieces of the sum. Above `max_pieces` of these, and where `problems` can be iterated again,
    further passes look only at cells of the line that can still hold the minimum. Where some functions are
    piecewise linear, the minimum may be at a point, and is exact to rounding. `fit` does it on many cores.

    Parameters
    ----------
    problems
        Problems, or their loss functions as `PiecewiseConstant` or `PiecewiseLinear`.
    maximize
        The functions are utilities: look for the largest total.
    max_pieces
        How many pieces of the sum to hold.

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
    """The mean of the whole loss functions, exactly, and the best it can be. O(N log N) for N pieces.

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
    log = Log(problems)
    reader = Reader()
    space = space_of(log.first(reader))
    search = Search(log, engine_for(None, None), unwatched, reader, maximize, max_pieces)
    found = search.run()
    return mean_of(found.function, found.tally.count, maximize), best_of(
        found.function, found.tally.count, space, maximize
    )


def unwatched(what: str, total: int | None) -> Advance:
    """Show no progress."""
    return lambda done: None


def mean_of(total: Piecewise, count: int, maximize: bool) -> Piecewise:
    """The mean loss, from the sum of what was minimised."""
    count = -count if maximize else count
    return total.of_ends(total.edges, *(end / count for end in total.ends))


def best_of(total: Piecewise, count: int, space: Any, maximize: bool) -> Hindsight:
    """Where the sum of `count` functions is smallest; `space` is None for bare functions."""
    space = Interval(*total.edges[[0, -1]]) if space is None else space
    row, found = space.line.argmin(total)
    middle, interval = space.line.stretch(*found)
    best = total.min() / count
    return Hindsight(interval, -best if maximize else best, space.alphas[row], space.names, middle)


def best_for(functions: Iterable[Piecewise], spaces: list[Any], maximize: bool) -> Hindsight:
    """The best fixed parameter for what `whole_functions` has made of some problems."""
    total = ExactSum.of(functions)
    return best_of(total.function(), total.count, spaces[0], maximize)
