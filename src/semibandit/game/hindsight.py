"""The best fixed parameter in hindsight, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.strips import Alpha, Strips

__all__ = ["Hindsight", "RowHindsight", "best_in_hindsight", "mean_loss"]

# Functions wait until there are this many pieces to merge, so that merging pays.
_BATCH = 1 << 18
_CELLS = 4096


class Hindsight(NamedTuple):
    """The widest interval of best fixed parameters, and the mean loss there."""

    interval: tuple[float, float]
    mean_loss: float

    @property
    def rho(self) -> float:
        """The middle of the interval."""
        return 0.5 * (self.interval[0] + self.interval[1])

    @property
    def parameters(self) -> tuple[Any, ...]:
        """What a problem's methods take."""
        return (self.rho,)


class RowHindsight(NamedTuple):
    """On `Strips`: the widest interval of best rho in a row, the mean loss there, and the row's alpha."""

    interval: tuple[float, float]
    mean_loss: float
    alpha: Alpha

    @property
    def rho(self) -> float:
        """The middle of the interval."""
        return 0.5 * (self.interval[0] + self.interval[1])

    @property
    def parameters(self) -> tuple[Any, ...]:
        """What a problem's methods take."""
        return self.rho, self.alpha


def best_in_hindsight(
    problems: Iterable[Any], *, maximize: bool = False, max_pieces: int = 4_000_000
) -> Hindsight | RowHindsight:
    """The fixed parameter with the smallest total loss over all problems.

    Exact: the minimum of the sum of the whole loss functions. One pass, O(N log N) for N pieces, in memory
    for the pieces of the sum. Above `max_pieces` of these, and where `problems` can be iterated again, a
    second pass looks only at the cells of the line that can still hold the minimum. Where some functions
    are piecewise linear, the minimum may be at a point, and is exact to rounding.

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
    >>> steps = [PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.3, 0.4, 0.9)]
    >>> best = best_in_hindsight(steps)
    >>> best.interval, round(best.mean_loss, 3)
    ((0.9, 1.0), 0.2)
    """
    _validate.integer("max_pieces", max_pieces, low=2)
    spaces: list[Any] = []
    again = None if isinstance(problems, Iterator) else lambda: _functions(problems, maximize, spaces)
    total, count = _total(_functions(problems, maximize, spaces), again, max_pieces)
    return _best_of(total, count, spaces[0], maximize)


def mean_loss(problems: Iterable[Any]) -> tuple[Piecewise, Hindsight | RowHindsight]:
    """The mean of the whole loss functions, exactly, and its smallest value. O(N log N) for N pieces.

    >>> mean, best = mean_loss([PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.5, 0.75)])
    >>> mean
    PiecewiseConstant([0.0, 0.5, 0.75, 1.0], [0.8, 0.5, 0.2])
    >>> best.interval
    (0.75, 1.0)
    """
    spaces: list[Any] = []
    running = _RunningSum()
    for function in _functions(problems, False, spaces):
        running.add(function)
    if running.count == 0:
        raise ValueError("problems must hold at least one problem, got none")
    total = running.result()
    return total * (1.0 / running.count), _best_of(total, running.count, spaces[0], False)


def _best_of(total: Piecewise, count: int, space: Any, maximize: bool) -> Hindsight | RowHindsight:
    best = total.min() / count
    value = -best if maximize else best
    if isinstance(space, Strips) and isinstance(total, PiecewiseConstant):
        row, interval = space.line.argmin(total)
        return RowHindsight(interval, value, space.alphas[row])
    return Hindsight(total.argmin(), value)


def _functions(problems: Iterable[Any], maximize: bool, spaces: list[Any]) -> Iterator[Piecewise]:
    """The loss functions; `spaces` gets the space of the first problem."""
    for i, problem in enumerate(problems):
        if not spaces:
            spaces.append(getattr(problem, "space", None))
        function: Piecewise = problem if isinstance(problem, Piecewise) else problem.losses()
        if len(function.domain) != 1 or function.domain[0] != (function.edges[0], function.edges[-1]):
            raise ValueError(f"the loss function of problem {i} is not seen everywhere: {function!r}")
        yield function * -1.0 if maximize else function


def _total(
    functions: Iterator[Piecewise], again: Callable[[], Iterator[Piecewise]] | None, max_pieces: int
) -> tuple[Piecewise, int]:
    """The sum of all functions, nan where the minimum certainly is not; and how many they are."""
    running = _RunningSum()
    for function in functions:
        running.add(function)
        if again is not None and len(running) > max_pieces:
            cells = _Cells(running.result())
            for later in functions:
                cells.add(later)
            within = cells.candidates()
            exact = _RunningSum()
            for function in again():
                exact.add(within + function)
            return exact.result(), exact.count
    if running.count == 0:
        raise ValueError("problems must hold at least one problem, got none")
    return running.result(), running.count


class _RunningSum:
    """A sum of functions that merges in batches at least as large as itself: O(log) merges per piece."""

    def __init__(self) -> None:
        self.count = 0
        self._waiting: list[Piecewise] = []
        self._n_waiting = 0
        self._sum: Piecewise | None = None

    def __len__(self) -> int:
        return self._n_waiting + (0 if self._sum is None else len(self._sum))

    def add(self, function: Piecewise) -> None:
        self.count += 1
        self._waiting.append(function)
        self._n_waiting += len(function)
        if self._n_waiting > max(_BATCH, 0 if self._sum is None else len(self._sum)):
            self._merge()

    def _merge(self) -> None:
        parts = self._waiting if self._sum is None else [self._sum, *self._waiting]
        self._sum = Piecewise.total(parts).compress()
        self._waiting, self._n_waiting = [], 0

    def result(self) -> Piecewise:
        if self._waiting:
            self._merge()
        assert self._sum is not None
        return self._sum


class _Cells:
    """Bounds on a sum in each cell of the line: its minimum from below, one of its values from above."""

    def __init__(self, start: Piecewise) -> None:
        # Cells of about equally many pieces: where functions break often, cells are fine.
        stride = max(len(start) // _CELLS, 1)
        self.edges = np.append(start.edges[:-1:stride], start.edges[-1])
        self.low = np.zeros(self.edges.size - 1)
        self.value = np.zeros(self.edges.size - 1)
        self.add(start)

    def add(self, function: Piecewise) -> None:
        first = np.searchsorted(function.edges, self.edges[:-1], side="right") - 1
        last = np.searchsorted(function.edges, self.edges[1:], side="left")
        self.low += _minimum_between(function.lowest, first, last)
        self.value += function(self.edges[:-1])

    def candidates(self) -> PiecewiseConstant:
        """0 on the cells that may hold the minimum, nan elsewhere."""
        # The bounds are float sums: leave room for their rounding.
        reach = float(self.value.min())
        slack = 1e-9 * max(1.0, abs(reach))
        keep = self.low <= reach + slack
        return PiecewiseConstant(self.edges, np.where(keep, 0.0, np.nan)).compress()


def _minimum_between(values: FloatArray, first: Any, last: Any) -> FloatArray:
    """min(values[first:last]) for each pair; last > first."""
    padded = np.append(values, np.inf)
    pairs = np.stack((first, last), axis=1).ravel()
    return np.asarray(np.minimum.reduceat(padded, pairs)[::2])
