"""Search along one row: the interval around a point with the same output, and all points of change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

from semibandit.families.black_box.grid import DyadicGrid

__all__ = ["RowSearch", "RunBudget", "SearchRule"]


class RunBudget:
    """Number of runs of a `BlackBox`, and the limit for the current call."""

    def __init__(self, max_runs: int) -> None:
        self.max_runs, self.n_runs, self._limit = max_runs, 0, max_runs

    def renew(self) -> None:
        """Allow `max_runs` further runs."""
        self._limit = self.n_runs + self.max_runs

    def require(self, n: int) -> None:
        """Raise if n further runs would exceed the limit."""
        if self.n_runs + n > self._limit:
            raise ValueError(
                f"more than max_runs = {self.max_runs} runs in one call: is the output piecewise constant in "
                f"rho? A larger tolerance or resolution, or an `equal` that ignores irrelevant parts of the "
                f"output, may help"
            )


class SearchRule(NamedTuple):
    """Options of `BlackBox` that all its searches share."""

    grid: DyadicGrid
    equal: Callable[[Any, Any], bool]
    value: Callable[[float], Any]  # value of the parameter at a position
    fractions: list[float]  # positions of the checked points, relative to the interval

    @property
    def most_runs(self) -> int:
        """Largest number of runs of one search for a piece, without those of checked points."""
        return 2 * max(self.grid.levels, 1) + 1


class RowSearch:
    """Outputs along one row, at positions x of the grid's line; each value is run once.

    Parameters
    ----------
    run
        The algorithm as a function of the value of the parameter.
    loss_of
        Loss of an output.
    rule
        Options.
    budget
        Counter of the runs of all rows.
    """

    def __init__(
        self, run: Callable[[Any], Any], loss_of: Callable[[Any], float], rule: SearchRule, budget: RunBudget
    ) -> None:
        self._run, self._loss_of, self._rule, self._budget = run, loss_of, rule, budget
        self._grid = rule.grid
        self._outputs: dict[Any, Any] = {}

    def output(self, x: float) -> Any:
        """Return the output at x, from a run or from memory."""
        value = self._rule.value(x)
        if value not in self._outputs:
            self._run_all([x], map)
        return self._outputs[value]

    def loss(self, x: float) -> float:
        """Return the loss at x."""
        return self._loss_of(self.output(x))

    def _run_all(self, points: list[float], run_each: Any) -> None:
        """Run the values that have not been run."""
        values = dict.fromkeys(map(self._rule.value, points))
        new = [value for value in values if value not in self._outputs]
        self._budget.require(len(new))
        for value, output in zip(new, run_each(self._run, new), strict=True):
            self._outputs[value] = output
            self._budget.n_runs += 1

    def _same(self, x: float, output: Any) -> bool:
        """Return whether x has this output."""
        other = self.output(x)
        if other is output:
            return True
        if not self._rule.equal(other, output):
            return False
        self._outputs[self._rule.value(x)] = output  # keep one object for equal outputs
        return True

    # -- the piece around a point (Algorithm 5) ----------------------------------------------------

    def piece(self, x: float, by_loss: bool) -> tuple[float, float]:
        """Return the interval [lo, hi) around x with the same output, or with the same loss."""
        last_other, lo, hi = self._piece(x)
        if by_loss:
            loss = self.loss(x)
            while hi < self._grid.hi and self.loss(hi) == loss:
                hi = self._piece(hi)[2]
            while last_other < lo and self.loss(last_other) == loss:
                last_other, lo, _ = self._piece(last_other)
        # The piece of an output that only the right end has begins at the last point with another output.
        return (last_other if lo == hi else lo), hi

    def _piece(self, x: float) -> tuple[float, float, float]:
        """Return (other, lo, hi): the piece, and the last point before it with another output, or lo."""
        output, grid = self.output(x), self._grid
        before = self._budget.n_runs
        same_at_start = self._same(grid.lo, output)
        lo, last_other = (grid.lo, grid.lo) if same_at_start else self._bisect(x, grid.lo, output)
        # A run at the end saves the bisection if the piece reaches it. The bound on runs must allow it.
        runs_left = self._rule.most_runs - 1 - (self._budget.n_runs - before)
        if x == grid.hi or (0 < grid.most_probes(x, grid.hi) < runs_left and self._same(grid.hi, output)):
            hi = grid.hi
        else:
            hi = self._bisect(x, grid.hi, output)[1]
        self._check(x, output, lo, hi)
        return last_other, lo, hi

    def _bisect(self, same: float, other: float, output: Any) -> tuple[float, float]:
        """Move a point with this output and one without it together to where the output changes."""
        while (middle := self._grid.between(min(same, other), max(same, other))) is not None:
            same, other = (middle, other) if self._same(middle, output) else (same, middle)
        return same, other

    def _check(self, x: float, output: Any, lo: float, hi: float) -> None:
        """Raise if one of the checked points of the piece has another output."""
        for fraction in self._rule.fractions:
            point = lo + fraction * (hi - lo)
            if not self._same(point, output):
                here, start, end, there = map(self._rule.value, (x, lo, hi, point))
                raise ValueError(
                    f"the algorithm is not piecewise-unique: bisection from {here!r} gave "
                    f"[{start!r}, {end!r}), but {there!r} inside has another output"
                )

    # -- all points of change ----------------------------------------------------------------------

    def starts(self, resolution: float, n_jobs: int) -> list[float]:
        """Return the left ends of all pieces; O(width/resolution + P·log(resolution/tolerance)) runs."""
        grid = self._grid
        stride = max(int(resolution / (grid.hi - grid.lo) * grid.n_cells), 1)
        self._budget.require(-(-grid.n_cells // stride) - len(self._outputs))
        # An edge between the last grid point and the right end is the right end, to the tolerance.
        indices = sorted({*range(0, grid.n_cells, stride), grid.n_cells - 1})
        points = [grid.point(i) for i in indices]
        if n_jobs == 1:
            return [grid.lo, *self._edges_between(points, map)]
        with ThreadPoolExecutor(n_jobs) as pool:
            return [grid.lo, *self._edges_between(points, pool.map)]

    def _edges_between(self, points: list[float], run_each: Any) -> list[float]:
        """Return the points at which the output changes; all brackets are bisected side by side."""
        edges: list[float] = []
        self._run_all(points, run_each)
        brackets = self._differing(pairwise(points))
        while brackets:
            probes = [(a, self._grid.between(a, b), b) for a, b in brackets]
            edges += [b for _, middle, b in probes if middle is None]
            unfinished = [(a, middle, b) for a, middle, b in probes if middle is not None]
            self._run_all([middle for _, middle, _ in unfinished], run_each)
            brackets = self._differing(
                pair for a, middle, b in unfinished for pair in ((a, middle), (middle, b))
            )
        return sorted(edges)

    def _differing(self, brackets: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(a, b) for a, b in brackets if not self._same(b, self.output(a))]
