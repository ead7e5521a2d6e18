"""Search along one row: the interval around a point with the same output, and all points of change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from semibandit.families.black_box.grid import DyadicGrid

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["RowSearch", "SearchRule"]


@dataclass(frozen=True)
class SearchRule:
    """Options of `BlackBox` that all its searches share."""

    grid: DyadicGrid
    equal: Callable[[Any, Any], bool]
    value: Callable[[float], Any]  # value of the parameter at a position
    fractions: list[float]  # positions of the checked points, relative to the interval
    shrink: bool
    max_runs: int

    @property
    def most_runs(self) -> int:
        """Largest number of runs of one search for a piece."""
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
    """

    def __init__(self, run: Callable[[Any], Any], loss_of: Callable[[Any], float], rule: SearchRule) -> None:
        self._run, self._loss_of, self._rule, self._grid = run, loss_of, rule, rule.grid
        self._outputs: dict[Any, Any] = {}
        self.n_runs = 0

    def output(self, x: float) -> Any:
        """Return the output at x, from a run or from memory."""
        value = self._rule.value(x)
        if value not in self._outputs:
            self._outputs[value] = self._run(value)
            self.n_runs += 1
        return self._outputs[value]

    def loss(self, x: float) -> float:
        """Return the loss at x."""
        return self._loss_of(self.output(x))

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
            last_other, lo, hi = self._widened(last_other, lo, hi, self.loss(x))
        return (last_other if lo == hi else lo), hi  # an output of the right end alone belongs to that end

    def _piece(self, x: float) -> tuple[float, float, float]:
        """Return (other, lo, hi): the piece, and the last point before it with another output, or lo."""
        output = self.output(x)  # counts as a run of this search, even if it was made before
        before = self.n_runs
        lo, last_other = self._left_end(x, output)
        hi = self._right_end(x, output, runs_left=self._rule.most_runs - 1 - (self.n_runs - before))
        return self._checked(x, output, last_other, lo, hi)

    def _left_end(self, x: float, output: Any) -> tuple[float, float]:
        """Return the leftmost point known to have the output, and the rightmost before it known not to."""
        lo = self._grid.lo
        return (lo, lo) if self._same(lo, output) else self._bisect(x, lo, output)

    def _right_end(self, x: float, output: Any, runs_left: int) -> float:
        """Return the leftmost point past x known to have another output, or the right end of the row."""
        hi = self._grid.hi
        if x == hi:
            return hi
        # A look at the end saves the bisection if the piece reaches it; only if the bound on runs allows.
        probes = self._grid.most_probes(x, hi)
        if (self._grid.exact or 0 < probes < runs_left) and self._same(hi, output):
            return hi
        return self._bisect(x, hi, output)[1]

    def _bisect(self, same: float, other: float, output: Any) -> tuple[float, float]:
        """Move a point with this output and one without it together to where the output changes."""
        while (middle := self._grid.between(min(same, other), max(same, other))) is not None:
            same, other = (middle, other) if self._same(middle, output) else (same, middle)
        return same, other

    def _checked(
        self, x: float, output: Any, last_other: float, lo: float, hi: float
    ) -> tuple[float, float, float]:
        """Return the piece if random points inside have the same output; else raise, or shrink the piece."""
        while True:
            points = (lo + fraction * (hi - lo) for fraction in self._rule.fractions)
            gap = next((point for point in points if not self._same(point, output)), None)
            if gap is None:
                return last_other, lo, hi
            if not self._rule.shrink:
                here, start, end, there = (self._rule.value(at) for at in (x, lo, hi, gap))
                raise ValueError(
                    f"the algorithm is not piecewise-unique: bisection from {here!r} gave "
                    f"[{start!r}, {end!r}), but {there!r} inside has another output. "
                    f"on_recurrence='shrink' keeps the part around {here!r}"
                )
            same, other = self._bisect(x, gap, output)
            if gap > x:
                hi = other
            else:
                last_other, lo = other, same

    def _widened(self, last_other: float, lo: float, hi: float, loss: float) -> tuple[float, float, float]:
        """Join the piece with its neighbours as far as they have this loss."""
        limit = self.n_runs + self._rule.max_runs
        while hi < self._grid.hi and self.loss(hi) == loss:
            hi = self._piece(hi)[2]
            self._require_runs(limit)
        while last_other < lo and self.loss(last_other) == loss:
            last_other, lo, _ = self._piece(last_other)
            self._require_runs(limit)
        return last_other, lo, hi

    def _require_runs(self, limit: int, more: int = 0, places: str = "") -> None:
        """Raise if the runs made, and so many more, exceed the limit."""
        if self.n_runs + more > limit:
            raise ValueError(
                f"more than max_runs = {self._rule.max_runs} runs, and the output still changes{places}: is "
                f"it piecewise constant in rho? A larger tolerance, or an `equal` that ignores irrelevant "
                f"parts of the output, may help"
            )

    # -- all points of change ----------------------------------------------------------------------

    def starts(self, resolution: float, n_jobs: int) -> list[float]:
        """Return the left ends of all pieces; O(width/resolution + P·log(resolution/tolerance)) runs."""
        grid = self._grid
        # An edge past the last grid point is the right end, to the tolerance; `exact` looks there, too.
        last = grid.hi if grid.exact else grid.point(grid.n_cells - 1)
        stride = max(int(resolution / (grid.hi - grid.lo) * grid.n_cells), 1)
        n_points = -(-grid.n_cells // stride)
        if n_points > self._rule.max_runs + self.n_runs:
            raise ValueError(
                f"more than max_runs = {self._rule.max_runs} runs: a resolution of {resolution:g} takes "
                f"{n_points} at the start. A larger resolution, or a larger max_runs, may help"
            )
        points = sorted({grid.point(i) for i in range(0, grid.n_cells, stride)} | {last})
        with _threads(n_jobs) as pool:
            edges = self._edges_between(points, pool)
        return sorted({grid.lo, *edges} - {grid.hi})

    def _edges_between(self, points: list[float], pool: Executor | None) -> list[float]:
        """Return the points at which the output changes; all brackets are bisected side by side."""
        edges: list[float] = []
        limit = self.n_runs + self._rule.max_runs
        if self.n_runs + len(self._new_values(points)) > limit:
            raise ValueError(f"more than max_runs = {self._rule.max_runs} runs: a larger resolution may help")
        self._run_all(points, pool)
        brackets = self._differing(pairwise(points))
        while brackets:
            probes = [(a, self._grid.between(a, b), b) for a, b in brackets]
            edges += [b for _, middle, b in probes if middle is None]
            open_ones = [(a, middle, b) for a, middle, b in probes if middle is not None]
            self._require_runs(limit, len(open_ones), f" in {len(open_ones)} places")
            self._run_all([middle for _, middle, _ in open_ones], pool)
            brackets = self._differing(
                pair for a, middle, b in open_ones for pair in ((a, middle), (middle, b))
            )
        return edges

    def _differing(self, brackets: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(a, b) for a, b in brackets if not self._same(b, self.output(a))]

    def _new_values(self, points: list[float]) -> list[Any]:
        values = dict.fromkeys(map(self._rule.value, points))
        return [value for value in values if value not in self._outputs]

    def _run_all(self, points: list[float], pool: Executor | None) -> None:
        """Run the values that have not been run."""
        new = self._new_values(points)
        run_each = map if pool is None else pool.map
        for value, output in zip(new, run_each(self._run, new), strict=True):
            self._outputs[value] = output
            self.n_runs += 1


def _threads(n_jobs: int) -> AbstractContextManager[Executor | None]:
    """Return a pool of threads; None for one thread."""
    if n_jobs == 1:
        return nullcontext()
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(n_jobs)
