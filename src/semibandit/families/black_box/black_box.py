"""Any algorithm as a family: the interval of a run by two bisections (Algorithm 5)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.families.black_box.bisection import RowSearch, RunBudget, SearchRule
from semibandit.families.black_box.grid import DyadicGrid
from semibandit.families.black_box.outputs import same_output
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces import Boxes, Interval, Knobs, call, parameters_of

__all__ = ["BlackBox"]

_COARSE_CELLS = 64


class BlackBox:
    """Algorithm 5 of the paper (appendix C.1) around any callable.

    The output of `run` must be piecewise constant in rho, and no output may occur on two separate intervals
    (piecewise-unique): otherwise a bisection can miss a gap. `check` looks for gaps.

    Parameters
    ----------
    run
        The algorithm, called as run(instance, rho). Its output is any object that can be compared. It must
        depend on the arguments only: fix the seeds. Outputs are kept, so return a new object each time.
    instance
        First argument of `run`.
    space
        Range of rho; or `Knobs`: then `run` is called as run(instance, **values), and the search runs along
        the row of the other knobs. `tolerance` and `resolution` are then distances on the line, such as
        differences of logarithms. For an `Integer`, or a `Real` with a step, all ends are exact.
    loss
        Loss of an output, called as loss(output), or as loss(instance, output) if it has two parameters
        without a default.
    tolerance
        Accuracy of the ends of intervals. The search uses a grid of 2^⌈log₂(width/tolerance)⌉ cells; it does
        not find pieces that contain no grid point, unless it starts in one.
    equal
        Comparison of two outputs; default: `same_output`, which compares arrays by element, also inside of
        tuples, lists and dicts, with nan equal to nan.
    partition
        "output": `reveal` returns the interval with the same output. "loss": the interval with the same loss,
        by a walk from output to output that stops where the loss changes, with two bisections per output.
    check
        Number of points inside of each revealed interval that are run and compared; another output raises an
        error. They depend on the interval only.
    resolution
        `losses` finds every piece of at least this width even if outputs recur; default: 1/64 of the width
        of the space.
    max_runs
        Limit on the runs of one call; beyond it an error is raised. An output that changes with every rho has
        no pieces to find.
    n_jobs
        Number of threads of `losses`. They help if `run` waits for another process or releases the GIL.
    high, maximize
        Largest loss, and whether losses are utilities: for the learner that plays the problem.

    Attributes
    ----------
    n_runs
        Number of calls of `run` so far. No parameter is run twice.
    most_runs
        Bound on the runs of `reveal`: 2·⌈log₂(width/tolerance)⌉ + 1, without those of `check`; with
        partition="loss", per output.

    Examples
    --------
    >>> problem = BlackBox(lambda x, rho: rho >= x, 0.3, Interval(0, 1), lambda above: 0.2 if above else 0.9)
    >>> piece = problem.reveal(0.7).piece(0.7)
    >>> lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
    >>> abs(lo - 0.3) < 1e-9, hi, loss
    (True, 1.0, 0.2)
    >>> problem.n_runs <= problem.most_runs == 61
    True
    """

    def __init__(
        self,
        run: Callable[..., Any],
        instance: Any,
        space: Interval | Knobs,
        loss: Callable[..., float],
        tolerance: float = 1e-9,
        *,
        equal: Callable[[Any, Any], bool] = same_output,
        partition: str = "output",
        check: int = 0,
        resolution: float | None = None,
        max_runs: int = 100_000,
        n_jobs: int = 1,
        high: float = 1.0,
        maximize: bool = False,
    ) -> None:
        for name, function in (("run", run), ("loss", loss), ("equal", equal)):
            _validate.function(name, function)
        if not isinstance(space, Interval | Knobs):
            raise TypeError(f"space must be an Interval or Knobs, got {space!r}")
        self.run, self.instance, self.space, self.equal = run, instance, space, equal
        line = space.line
        self._scale, width = line.scale, line.hi - line.lo
        self.tolerance = _validate.number("tolerance", tolerance, low=0.0, high=width, open=True)
        self.partition = _validate.choice("partition", partition, ("output", "loss"))
        if resolution is None:
            resolution = width / _COARSE_CELLS
        self.resolution = _validate.number("resolution", resolution, low=0.0, open=True)
        self.n_jobs = _validate.integer("n_jobs", n_jobs, low=1)
        self.high = _validate.number("high", high, low=0.0, open=True)
        self.maximize = _validate.boolean("maximize", maximize)
        self._loss = loss if _takes_one_argument(loss) else partial(loss, instance)
        # On a discrete scale a cell of the grid contains at most one value, so that none is missed.
        grid = DyadicGrid(line.lo, line.hi, self.tolerance if math.isinf(line.size) else width / line.size)
        fractions = np.random.default_rng(0).random(_validate.integer("check", check, low=0)).tolist()
        self._rule = SearchRule(grid, equal, line.value, fractions)
        self._budget = RunBudget(_validate.integer("max_runs", max_runs, low=1))
        self._searches: dict[Any, RowSearch] = {}
        self.most_runs = self._rule.most_runs

    @property
    def n_runs(self) -> int:
        """Number of calls of `run` so far. No parameter is run twice."""
        return self._budget.n_runs

    def _search(self, alpha: Any) -> RowSearch:
        """Return the search along the row with these further parameters."""
        if alpha not in self._searches:
            run = partial(self._run, alpha)
            self._searches[alpha] = RowSearch(run, self._loss_of, self._rule, self._budget)
        return self._searches[alpha]

    def _run(self, alpha: Any, value: Any) -> Any:
        return call(partial(self.run, self.instance), parameters_of(self.space.names, value, alpha))

    def _loss_of(self, output: Any) -> float:
        return _validate.number("the value of loss", self._loss(output))

    def _at(self, args: tuple[Any, ...], values: dict[str, Any]) -> tuple[RowSearch, Any, float]:
        """Return the search along the row of the parameters, the value in the row, and its position."""
        value, alpha = self.space.coordinates(*args, **values)
        self._budget.renew()
        return self._search(alpha), value, self._scale.place(value)

    # -- the three kinds of feedback -------------------------------------------------------------

    def output(self, *args: Any, **values: Any) -> Any:
        """Return the output of `run` at rho, or at the values of the knobs; run once, then from memory."""
        search, _, x = self._at(args, values)
        return search.output(x)

    def loss(self, *args: Any, **values: Any) -> float:
        """Return the loss at rho, or at the values of the knobs (bandit feedback): one run."""
        search, _, x = self._at(args, values)
        return search.loss(x)

    def reveal(self, *args: Any, **values: Any) -> PiecewiseConstant:
        """Return the loss on the interval around rho with the same output (semi-bandit, Algorithm 5).

        O(log(width/tolerance)) runs; with partition="loss", per output.

        The interval begins at the first grid point with this output and ends at the first one with another.
        So every rho of a piece reveals the same interval to the bit, with one exception: a rho to the right
        of the edge inside the grid cell that contains the edge reveals an interval that begins at rho.
        """
        search, value, x = self._at(args, values)
        lo, hi = search.piece(x, by_loss=self.partition == "loss")
        # Rounding between values and positions must not lose the value itself.
        below = value if lo == x else min(self._scale.value(lo), value)
        return PiecewiseConstant.constant(below, self._upper(hi, value), search.loss(x))

    def _upper(self, x: float, value: Any) -> float:
        """Return the upper end of an interval of values that holds `value` and ends at position x."""
        end = self.space.interval.hi
        if x >= self._scale.ends[1]:  # the end of the space is closed
            return end if value < end else float(self._scale.span[1])
        above = max(float(self._scale.value(x)), math.nextafter(value, math.inf))
        return above if above < end else math.nextafter(end, -math.inf)

    def losses(self) -> PiecewiseConstant | Boxes:
        """Return the loss everywhere (full information); on `Knobs`, as `Boxes` of all rows.

        Bisects between grid points whose outputs differ. Finds every piece that contains a grid point if the
        algorithm is piecewise-unique, and every piece at least `resolution` wide in any case. Takes
        O(width/resolution + P·log(resolution/tolerance)) runs per row with P pieces. The result does not
        depend on `n_jobs`.
        """
        self._budget.renew()
        searches = map(self._search, self.space.alphas)
        return self.space.from_rows(
            [self._row(search, search.starts(self.resolution, self.n_jobs)) for search in searches]
        )

    def _row(self, search: RowSearch, starts: list[float]) -> PiecewiseConstant:
        """Return the loss along a row; of several pieces that begin at one value, the last counts."""
        losses = {float(self._scale.value(x)): search.loss(x) for x in starts}
        edges = [*losses, self._upper(self._scale.ends[1], max(losses))]
        row = PiecewiseConstant(edges, list(losses.values()))
        return row.compress() if self.partition == "loss" else row

    def __repr__(self) -> str:
        return f"<BlackBox on {self.space!r}, tolerance={self.tolerance:g}: {self.n_runs} runs so far>"


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    """Return False if there are two or more parameters without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some builtins have no signature
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) < 2
