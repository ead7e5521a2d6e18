"""Race values of a knob against each other on the same instances.

Instances differ far more than parameters do, so values are compared on the same ones, and what those have in
common cancels. A race has a number of runs to spend, and does so in stages of equal cost (sequential halving,
Karnin, Koren and Somekh 2013): all values that are left run on the next instances, the worse half of them
drops out, and two new ones, halfway from the leader to its neighbours, come in.

Nothing here starts a process or knows what a run is: a race asks for runs and is told losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semibandit import _validate
from semibandit.learners import Recommendation
from semibandit.spaces import Interval

__all__ = ["Race", "Run", "Standing", "effects"]

_FIRST = 10  # values to begin with
_RUNS_A_VALUE = 5  # which fewer runs than that for each of them make fewer
_STAGES = 4
_FEWEST = 3  # values that go on to another stage


class Run(NamedTuple):
    """A run to be made: a value of the knob on an instance, which is known by its number."""

    rho: float
    instance: int


@dataclass(frozen=True)
class Standing:
    """How a value stands: the mean loss that it would have on all instances, estimated, and its runs.

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
        self._plan()

    def extend(self, n_instances: int, runs: int) -> None:
        """Go on with so many instances and runs in all, neither fewer than so far; what was run stays."""
        n = _validate.integer("n_instances", n_instances, low=max(1, self.n_instances))
        total = _validate.integer("runs", runs, low=max(1, self.runs))
        stages = _STAGES if not self.runs else max(1, round(_STAGES * (total - self.runs) / total))
        self._stages += [self.runs + (total - self.runs) * (k + 1) // stages for k in range(stages)]
        self._order += (self.n_instances + self._rng.permutation(n - self.n_instances)).tolist()
        self.n_instances, self.runs = n, total
        if self._losses and not self._pending:
            self._go_on()

    def ask(self) -> list[Run]:
        """The runs of this block that were not told yet, in any order; none when the race is over."""
        return list(self._pending)

    def tell(self, run: Run, loss: float | None) -> None:
        """The loss of a run, or None where it failed. The last one of a block opens the next."""
        if run not in self._pending:
            raise ValueError(f"run must be one that was asked for and not told yet, got {run}")
        told = None if loss is None else _validate.number("loss", loss)
        del self._pending[run]
        self._losses[run] = told
        if not self._pending:
            self._go_on()

    @property
    def n_told(self) -> int:
        """How many runs were told."""
        return len(self._losses)

    # -- stages ----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Into the next stage in which there is anything to run."""
        while self._stages and not self._pending:
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
        tried, scores, _ = self._scores()
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

    def _scores(self) -> tuple[list[float], NDArray[Any], NDArray[Any]]:
        """The values tried, their means with a part of their neighbours', and the means; inf if unknown."""
        tried, table = self._table()
        means = effects(table)
        weights = (~np.isnan(table)).sum(axis=0).astype(float)
        known = np.where(np.isfinite(means), means, 0.0)
        padded = np.concatenate([[0.0], weights, [0.0]])
        sums = np.concatenate([[0.0], weights * known, [0.0]])
        # A value counts twice, its neighbours once each, by their runs.
        shares = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        mixed = sums[:-2] + 2 * sums[1:-1] + sums[2:]
        scores = np.where(weights > 0, mixed / np.maximum(shares, 1.0), np.inf)
        return tried, scores, means

    def recommend(self) -> Recommendation | None:
        """The leader, for all values from halfway to its neighbours; None while there is none. O(runs)."""
        if not self._losses:
            return None
        tried, scores, means = self._scores()
        racing = [i for i, rho in enumerate(tried) if rho in set(self.racing) and np.isfinite(means[i])]
        if not racing:
            return None
        best = min(racing, key=lambda i: scores[i])
        ends = [self.space.lo, *((a + b) / 2 for a, b in pairwise(tried)), self.space.hi]
        return Recommendation(tried[best], (ends[best], ends[best + 1]))

    def standings(self) -> list[Standing]:
        """All values tried, the best first."""
        leader = self.recommend()
        if leader is None:
            return []
        tried, table = self._table()
        means = effects(table)
        differences = table - table[:, [tried.index(leader.rho)]]
        rows = []
        for j, rho in enumerate(tried):
            seen = differences[~np.isnan(differences[:, j]), j]
            known = len(seen) > 1 and rho != leader.rho
            error = float(seen.std(ddof=1) / math.sqrt(len(seen))) if known else math.nan
            mean = float(-means[j] if self.maximize else means[j])
            runs = int((~np.isnan(table[:, j])).sum())
            rows.append((means[j], Standing(rho, mean, error, runs, rho in self.racing)))
        return [standing for _, standing in sorted(rows, key=lambda row: (row[0], row[1].rho))]


def effects(table: NDArray[Any]) -> NDArray[Any]:
    """The mean of each column over all rows, where some entries are nan: inf for a column without any.

    The least squares fit of row + column, so that a column that has met hard rows is not blamed for them.
    One linear system of the size of a row.

    >>> effects(np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 8.0]]))
    array([3.66666667, 4.66666667])
    """
    seen = ~np.isnan(table)
    result = np.full(table.shape[1], np.inf)
    columns = seen.any(axis=0)
    rows = seen.any(axis=1)
    if not rows.any():
        return result
    mask = seen[rows][:, columns].astype(float)
    losses = np.where(mask > 0, table[rows][:, columns], 0.0)
    per_row = mask.sum(axis=1, keepdims=True)
    averages = losses.sum(axis=1, keepdims=True) / per_row
    matrix = np.diag(mask.sum(axis=0)) - mask.T @ (mask / per_row)
    right = (losses - mask * averages).sum(axis=0)
    column = np.linalg.lstsq(matrix, right, rcond=None)[0]
    row = ((losses - mask * column).sum(axis=1, keepdims=True) / per_row).mean()
    result[columns] = column + row
    return result
