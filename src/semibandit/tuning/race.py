"""Race values of a knob against each other on the same instances.

Instances differ far more than parameters do, so values are compared on the same ones, and what those have in
common cancels. A race has a number of runs to spend, and does so in stages (sequential halving, Karnin, Koren
and Somekh 2013): all values that are left run on the next instances, the worse half of them drops out, and
two new ones, halfway from the leader to its neighbours, come in. Values are judged together with their
neighbours, as far as the losses are smooth.

Nothing here starts a process or knows what a run is: a race asks for runs and is told losses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Evidence, Recommendation
from semibandit.spaces import Interval

__all__ = ["Race", "Run", "Standing", "effects", "smoothed"]

_FIRST = 10  # values to begin with
_RUNS_A_VALUE = 5  # which fewer runs than that for each of them make fewer
_STAGES = (0.5, 0.75, 1.0)  # the part of the runs that is spent when a stage ends
_MORE_STAGES = (0.5, 1.0)  # of runs that are added later
_FEWEST = 3  # values that go on to another stage
_ROUNDING = 1e-14  # a mean this small beside the largest loss is what rounding leaves of 0


class Run(NamedTuple):
    """A run to be made: a value of the knob on an instance, which is known by its number."""

    rho: float
    instance: int


@dataclass(frozen=True)
class Standing:
    """How a value stands: the mean loss that it would have on all instances run, estimated, and its runs.

    `error` is the standard error of the difference to the leader, on the instances that both have run; nan
    for the leader itself, and where there are fewer than two.
    """

    rho: float
    mean: float
    error: float
    runs: int
    racing: bool


class Race:
    """Find the best value of a knob on a fixed set of instances, with a given number of runs.

    The same seed and the same losses make the same race, in whichever order the runs of a block come in.

    Parameters
    ----------
    space
        Where the parameter lives.
    n_instances
        Instances are numbers from 0; they are run in a random order.
    runs
        How many runs to spend. Fewer are made where all values have run on all instances.
    default
        A value that takes part to the end, so that others can be compared with it.
    integer
        Whether the parameter is an integer.
    maximize
        What is told is to be large.
    seed
        For the order of the instances.

    Examples
    --------
    >>> race = Race(Interval(0, 1), n_instances=50, runs=200, seed=0)
    >>> while block := race.ask():
    ...     for run in block:
    ...         race.tell(run, abs(run.rho - 0.3) + 0.1 * (run.instance % 5))
    >>> race.recommend().rho
    0.3055555555555556
    """

    def __init__(
        self,
        space: Interval,
        n_instances: int,
        runs: int,
        *,
        default: float | None = None,
        integer: bool = False,
        maximize: bool = False,
        seed: int = 0,
    ) -> None:
        self.space, self.integer, self.maximize = space, bool(integer), bool(maximize)
        self.default = None if default is None else self._value(space.check(default, "default"))
        self.n_instances, self.runs = 0, 0
        self._rng = np.random.default_rng(_validate.seed("seed", seed))
        self._order: list[int] = []
        self._next = 0  # place in the order of the first instance that nobody has run
        self._losses: dict[Run, float | None] = {}
        self._pending: dict[Run, None] = {}
        self._stages: list[int] = []  # the number of runs at the end of each stage to come
        self.extend(n_instances, runs)
        first = min(_FIRST, max(2, runs // _RUNS_A_VALUE))
        self.racing = self._with_default(np.linspace(space.lo, space.hi, first).tolist())
        self._go_on()

    def extend(self, n_instances: int, runs: int) -> None:
        """Go on with so many instances and runs in all, neither fewer than so far; what was run stays."""
        n = _validate.integer("n_instances", n_instances, low=max(1, self.n_instances))
        total = _validate.integer("runs", runs, low=max(1, self.runs))
        parts = _MORE_STAGES if self.runs else _STAGES
        self._stages += [self.runs + int(part * (total - self.runs)) for part in parts]
        self._order += (self.n_instances + self._rng.permutation(n - self.n_instances)).tolist()
        self.n_instances, self.runs = n, total
        if self._losses and not self._pending:
            self._go_on()

    def ask(self) -> list[Run]:
        """The runs of this block that were not told yet, in any order; none when the race is over."""
        return list(self._pending)

    def tell(self, run: Run, loss: float | None) -> None:
        """The loss of a run, or None where it failed. The last one of a block opens the next.

        A run that has failed may be told again; what it has decided stays.
        """
        again = run in self._losses and self._losses[run] is None
        if run not in self._pending and not again:
            raise ValueError(f"run must be one that was asked for and not told yet, got {run}")
        self._losses[run] = None if loss is None else _validate.number("loss", loss)
        if not again:
            del self._pending[run]
            if not self._pending:
                self._go_on()

    @property
    def n_told(self) -> int:
        """How many runs had a loss."""
        return sum(loss is not None for loss in self._losses.values())

    @property
    def n_arms(self) -> int:
        """How many values were tried."""
        return len({run.rho for run in self._losses})

    @property
    def n_runs(self) -> int:
        """How many runs were told, failed ones included."""
        return len(self._losses)

    @property
    def failed(self) -> list[Run]:
        """The runs that had no loss."""
        return [run for run, loss in self._losses.items() if loss is None]

    # -- stages ----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Into the next stage in which there is anything to run."""
        while self._stages and not self._pending:
            tried = {run.rho for run in self._losses}
            if tried.issuperset(self.racing):  # the last stage had runs for them
                self.racing = self._survivors()
            self._plan()

    def _plan(self) -> None:
        """Lay out the block of a stage: new instances for all who race, then those that some have missed."""
        spend = self._stages.pop(0) - len(self._losses)
        fresh = min(spend // len(self.racing), len(self._order) - self._next)
        block = self._order[self._next : self._next + fresh]
        self._next += fresh
        self._pending = {Run(rho, instance): None for instance in block for rho in self.racing}
        if self._next == len(self._order):
            left = spend - len(self._pending)
            grid = (Run(rho, instance) for instance in self._order for rho in self.racing)
            missed = (run for run in grid if run not in self._losses and run not in self._pending)
            self._pending |= dict.fromkeys(islice(missed, max(left, 0)))

    def _survivors(self) -> list[float]:
        """The better half, with two new values beside the leader."""
        tried, scores = self._scores()
        place = {rho: i for i, rho in enumerate(tried)}
        ranked = sorted(self.racing, key=lambda rho: scores[place[rho]])
        half = ranked[: max(_FEWEST, math.ceil(len(ranked) / 2))]
        at = place[half[0]]
        beside = [(tried[at] + tried[i]) / 2 for i in (at - 1, at + 1) if 0 <= i < len(tried)]
        return self._with_default([*half, *beside])

    def _with_default(self, values: Iterable[float]) -> list[float]:
        extra = [] if self.default is None else [self.default]
        return sorted({self._value(rho) for rho in values} | set(extra))

    def _value(self, rho: float) -> float:
        return float(round(rho)) if self.integer else float(rho)

    # -- where it stands -------------------------------------------------------------------------

    def _table(self) -> tuple[list[float], NDArray[Any]]:
        """The values tried, and their losses (to be small; nan where unknown), one row an instance."""
        tried = sorted({run.rho for run in self._losses})
        rows = {instance: i for i, instance in enumerate(sorted({run.instance for run in self._losses}))}
        columns = {rho: j for j, rho in enumerate(tried)}
        table = np.full((len(rows), len(tried)), np.nan)
        for run, loss in self._losses.items():
            if loss is not None:
                table[rows[run.instance], columns[run.rho]] = -loss if self.maximize else loss
        return tried, table

    def _scores(self) -> tuple[list[float], NDArray[Any]]:
        """The values tried, and what they are judged by; inf for values without a loss."""
        tried, table = self._table()
        return tried, smoothed(np.array(tried), table)

    def recommend(self) -> Recommendation:
        """The leader, for all values from halfway to its neighbours.

        Before any loss the middle of the space. O(runs), and a linear system in the values tried.
        """
        if not self.n_told:
            return Recommendation(
                self._value(self.space.lo + self.space.width / 2), (self.space.lo, self.space.hi)
            )
        tried, scores = self._scores()
        known = [i for i in range(len(tried)) if math.isfinite(scores[i])]
        racing = [i for i in known if tried[i] in self.racing] or known
        best = min(racing, key=lambda i: scores[i])
        edges = self._edges(tried)
        losses = [loss for run, loss in self._losses.items() if run.rho == tried[best] and loss is not None]
        error = float(np.std(losses, ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
        evidence = Evidence(math.fsum(losses) / len(losses), error, len(losses))
        return Recommendation(tried[best], (edges[best], edges[best + 1]), evidence=evidence)

    def _edges(self, tried: list[float]) -> list[float]:
        return [self.space.lo, *((a + b) / 2 for a, b in pairwise(tried)), self.space.hi]

    def density(self) -> PiecewiseConstant:
        """Where the runs were made."""
        if not self._losses:
            return PiecewiseConstant.constant(self.space.lo, self.space.hi, 1.0 / self.space.width)
        counts = Counter(run.rho for run in self._losses)
        tried = sorted(counts)
        edges = np.array(self._edges(tried))
        shares = np.array([counts[rho] for rho in tried]) / len(self._losses)
        return PiecewiseConstant(edges, shares / np.diff(edges))

    def standings(self) -> list[Standing]:
        """All values tried that have a loss, the best first."""
        if not self.n_told:
            return []
        leader = self.recommend()
        tried, table = self._table()
        means = effects(table)
        differences = table - table[:, [tried.index(leader.rho)]]
        rows = []
        for j, rho in enumerate(tried):
            seen = differences[~np.isnan(differences[:, j]), j]
            known = len(seen) > 1 and rho != leader.rho
            error = float(seen.std(ddof=1) / math.sqrt(len(seen))) if known else math.nan
            mean = float(0.0 - means[j] if self.maximize else means[j])  # 0 stays 0, without a sign
            runs = int((~np.isnan(table[:, j])).sum())
            rows.append((means[j], Standing(rho, mean, error, runs, rho in self.racing)))
        ranked = sorted(rows, key=lambda row: (row[0], row[1].rho))
        return [standing for mean, standing in ranked if math.isfinite(mean)]


def effects(table: NDArray[Any]) -> NDArray[Any]:
    """The mean of each column over all rows, where some entries are nan: inf for a column without any.

    The least squares fit of row + column, so that a column that has met hard rows is not blamed for them.
    One linear system of the size of a row.

    >>> effects(np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 8.0]]))
    array([3.66666667, 4.66666667])
    """
    columns = ~np.isnan(table).all(axis=0)
    return _spread(columns, _Fit(table[:, columns]).means())


def smoothed(values: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """The means of the columns, each drawn to its neighbours as far as noise can explain the difference.

    A random walk over the values is fitted together with the rows: that the means of neighbours differ by
    less than the steps seen is likely, and the more so the fewer runs they have. Columns without an entry
    are inf.

    >>> table = np.array([[1.0, 3.0, 1.2, 9.0], [2.0, 2.0, 2.4, 9.8], [3.0, 1.0, 3.0, 10.6]])
    >>> smoothed(np.arange(4.0), table).round(2)
    array([2.  , 2.  , 2.31, 9.68])
    """
    columns = ~np.isnan(table).all(axis=0)
    fit, gaps = _Fit(table[:, columns]), np.diff(values[columns])
    means = fit.means()
    rough = (np.diff(means) ** 2).sum() / gaps.sum() if len(gaps) else 0.0
    if rough > 0.0 and fit.noise > 0.0:
        steps = np.diff(np.eye(len(means)), axis=0)
        means = fit.means(fit.noise * (steps.T / (rough * gaps)) @ steps)
    return _spread(columns, means)


def _spread(columns: NDArray[Any], means: NDArray[Any]) -> NDArray[Any]:
    result = np.full(len(columns), np.inf)
    result[columns] = means
    return result


class _Fit:
    """The normal equations for the columns of a table, rows eliminated, and the variance of what is left."""

    def __init__(self, table: NDArray[Any]) -> None:
        table = table[~np.isnan(table).all(axis=1)]
        self._mask = (~np.isnan(table)).astype(float)
        self._losses = np.where(self._mask > 0, table, 0.0)
        self._per_row = self._mask.sum(axis=1, keepdims=True)
        averages = self._losses.sum(axis=1, keepdims=True) / self._per_row
        self._matrix = np.diag(self._mask.sum(axis=0)) - self._mask.T @ (self._mask / self._per_row)
        self._right = (self._losses - self._mask * averages).sum(axis=0)

    def means(self, penalty: NDArray[Any] | float = 0.0) -> NDArray[Any]:
        """The means of the columns over all rows."""
        columns = np.linalg.lstsq(self._matrix + penalty, self._right, rcond=None)[0]
        if not len(self._losses):
            return np.asarray(columns)
        means = columns + self._rows(columns).mean()
        return np.where(np.abs(means) > _ROUNDING * np.abs(self._losses).max(), means, 0.0)

    @property
    def noise(self) -> float:
        """The variance of what neither row nor column explains."""
        columns = np.linalg.lstsq(self._matrix, self._right, rcond=None)[0]
        left = self._mask * (self._losses - self._rows(columns) - columns)
        return float((left**2).sum() / max(self._mask.sum() - sum(left.shape) + 1, 1.0))

    def _rows(self, columns: NDArray[Any]) -> NDArray[Any]:
        without = (self._losses - self._mask * columns).sum(axis=1, keepdims=True)
        return np.asarray(without / self._per_row)
