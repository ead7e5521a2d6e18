"""The best fixed parameter in hindsight, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces import Alpha, Boxes, Interval, Line, Parameters, parameters_of, values_of

__all__ = ["Hindsight", "best_in_hindsight", "mean_loss"]

# Functions wait until there are this many pieces to merge, so that merging pays.
_BATCH = 1 << 18
_CELLS = 4096


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

    Exact: the minimum of the sum of the whole loss functions, whose values are the true sums, each rounded
    once (so that sums that differ by less may count as equal). One pass, O(N log N) for N pieces, in memory
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
    >>> interval, mean_loss = best_in_hindsight(steps)
    >>> interval, round(mean_loss, 3)
    ((0.9, 1.0), 0.2)
    """
    _validate.integer("max_pieces", max_pieces, low=2)
    _validate.boolean("maximize", maximize)
    spaces: list[Any] = []
    functions = whole_functions(problems, maximize, spaces)
    running = _RunningSum()
    for function in functions:
        running.add(function)
        if len(running) > max_pieces and not isinstance(problems, Iterator):
            cells = _Cells(running.result())
            for later in functions:
                cells.add(later)
            within = cells.candidates()
            running = _RunningSum()
            for again in whole_functions(problems, maximize, spaces):
                running.add(within + again)
    return _best_of(running, spaces, maximize)


def mean_loss(problems: Iterable[Any], *, maximize: bool = False) -> tuple[Piecewise, Hindsight]:
    """The mean of the whole loss functions, exactly, and the best it can be. O(N log N) for N pieces.

    >>> mean, best = mean_loss([PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.5, 0.75)])
    >>> mean
    PiecewiseConstant([0.0, 0.5, 0.75, 1.0], [0.8, 0.5, 0.2])
    >>> best.interval
    (0.75, 1.0)
    """
    _validate.boolean("maximize", maximize)
    spaces: list[Any] = []
    running = _RunningSum()
    for function in whole_functions(problems, maximize, spaces):
        running.add(function)
    best = _best_of(running, spaces, maximize)
    return running.result() * ((-1.0 if maximize else 1.0) / running.count), best


def _best_of(running: _RunningSum, spaces: list[Any], maximize: bool) -> Hindsight:
    if running.count == 0:
        raise ValueError("problems must hold at least one problem, got none")
    total = running.result()
    space = Interval(*total.edges[[0, -1]]) if spaces[0] is None else spaces[0]
    row, found = space.line.argmin(total)
    middle, interval = space.line.stretch(*found)
    best = total.min() / running.count
    return Hindsight(interval, -best if maximize else best, space.alphas[row], space.names, middle)


def best_for(functions: Iterable[Piecewise], spaces: list[Any], maximize: bool) -> Hindsight:
    """The best fixed parameter for what `whole_functions` has made of some problems."""
    running = _RunningSum()
    for function in functions:
        running.add(function)
    return _best_of(running, spaces, maximize)


def whole_functions(problems: Iterable[Any], maximize: bool, spaces: list[Any]) -> Iterator[Piecewise]:
    """The functions to minimise; `spaces` gets the space of the first problem, None for a bare function."""
    ends: tuple[float, float] | None = None
    for i, problem in enumerate(_validate.iterable("problems", problems, "a sequence of problems")):
        if not spaces:
            spaces.append(getattr(problem, "space", None))
        function = whole_loss(problem)
        if not function.whole:
            raise ValueError(f"the loss function of problem {i} is not seen everywhere: {function!r}")
        own = float(function.edges[0]), float(function.edges[-1])
        if own != (ends := ends or own):
            raise ValueError(f"problems must be on one space, got {own} in problem {i} and {ends} before it")
        yield function * -1.0 if maximize else function


def whole_loss(problem: Any) -> Piecewise:
    """The loss function of a problem, or the function itself."""
    if isinstance(problem, Piecewise):
        return problem
    losses = getattr(problem, "losses", None)
    if not callable(losses):
        raise TypeError(f"problems must be functions, or have a method `losses`, got {problem!r}")
    function = losses()
    if not isinstance(function, Piecewise | Boxes):
        raise TypeError(
            f"`losses` must return the loss as a PiecewiseConstant (or a PiecewiseLinear), got {function!r} "
            f"from {problem!r}"
        )
    space = getattr(problem, "space", None)
    return (Line(0.0, 1.0) if space is None else space.line).on_rows(function)  # type: ignore[no-any-return]


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
        self.added, self.magnitude = 0, 0.0
        self.add(start)

    def add(self, function: Piecewise) -> None:
        self.added += 1
        self.magnitude += max(float(np.abs(end).max()) for end in function.ends)
        first = np.searchsorted(function.edges, self.edges[:-1], side="right") - 1
        last = np.searchsorted(function.edges, self.edges[1:], side="left")
        self.low += _minimum_between(function.lowest, first, last)
        self.value += function(self.edges[:-1])

    def candidates(self) -> PiecewiseConstant:
        """0 on the cells that may hold the minimum, nan elsewhere."""
        # The bounds are float sums: leave room for their rounding, at most that of what was added.
        reach = float(self.value.min())
        slack = 1e-15 * (self.added + 1) * self.magnitude
        keep = self.low <= reach + slack
        return PiecewiseConstant(self.edges, np.where(keep, 0.0, np.nan)).compress()


def _minimum_between(values: FloatArray, first: Any, last: Any) -> FloatArray:
    """min(values[first:last]) for each pair; last > first."""
    padded = np.append(values, np.inf)
    pairs = np.stack((first, last), axis=1).ravel()
    return np.asarray(np.minimum.reduceat(padded, pairs)[::2])
