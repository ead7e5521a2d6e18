"""Any algorithm with a real parameter as a family: the interval of a run by two bisections (Algorithm 5)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from semibandit import _validate
from semibandit.families.black_box.grid import DyadicGrid
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval
from semibandit.spaces.knobs import Knobs

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["BlackBox", "same_output"]

_COARSE_CELLS = 64


class BlackBox:
    """Algorithm 5 of the paper (appendix C.1) around any callable.

    The output of `run` must be piecewise constant in rho, and no output may come back further out
    (piecewise-unique): where it does, a bisection can step over a gap. `check` looks for that.

    Parameters
    ----------
    run
        The algorithm, called as run(instance, rho). Its output is anything that can be compared, and must not
        depend on anything else: fix the seeds. Outputs are kept, so return a new object each time.
    instance
        What is passed on to `run`.
    space
        The interval that rho lives in; or `Knobs`: then `run` is called as run(instance, **values), and
        searched along the row of the other knobs.
    loss
        The loss of an output, called as loss(output), or as loss(instance, output) where it has two
        parameters without a default.
    tolerance
        Ends of intervals are found to this distance, on a grid of 2^⌈log₂(width/tolerance)⌉ cells. Pieces
        that no grid point falls into are not seen from outside.
    equal
        Whether two outputs are the same; by default `same_output`, which compares arrays, also inside of
        tuples, lists and dicts, and holds nan equal to nan.
    partition
        What `reveal` keeps together: "output", the interval with the same output, or "loss", the one with the
        same loss, by a walk from output to output that ends where the loss changes: two bisections for each.
    exact
        Whether to bisect on below the tolerance, down to neighbouring doubles: ends are then exact.
    check
        This many random points inside of each interval revealed are run and compared.
    on_recurrence
        What to do where a checked point has another output: "raise", or "shrink" the interval to the part
        around rho.
    resolution
        `losses` sees every piece at least this wide even where outputs come back; the width of the space
        over 64 by default.
    max_runs
        `losses`, and a walk of `reveal`, give up, with an error, where they take more runs than this: an
        output that changes with every rho has no pieces to find.
    n_jobs
        `losses` runs this many threads: they help where `run` waits for another process or lets go of the
        interpreter's lock.
    high, maximize
        The largest loss, and whether losses are utilities: for the learner that plays the problem.
    seed
        The seed of the points of `check`.

    Attributes
    ----------
    n_runs
        How often `run` was called so far. No rho is run twice.
    most_runs
        The largest number of runs that `reveal` may take: 2·⌈log₂(width/tolerance)⌉ + 1, checks and `exact`
        not counted; with partition="loss", for each output.

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

    def __new__(
        cls, run: Any = None, instance: Any = None, space: Any = None, *_: Any, **__: Any
    ) -> BlackBox:
        """On `Knobs`, a search along the rows."""
        from semibandit.families.black_box.knobs import KnobBox

        return super().__new__(KnobBox if cls is BlackBox and isinstance(space, Knobs) else cls)

    def __init__(
        self,
        run: Callable[..., Any],
        instance: Any,
        space: Interval | Knobs,
        loss: Callable[..., float],
        tolerance: float = 1e-9,
        *,
        equal: Callable[[Any, Any], bool] | None = None,
        partition: str = "output",
        exact: bool = False,
        check: int = 0,
        on_recurrence: str = "raise",
        resolution: float | None = None,
        max_runs: int = 100_000,
        n_jobs: int = 1,
        high: float = 1.0,
        maximize: bool = False,
        seed: int = 0,
    ) -> None:
        for name, function in (
            ("run", run),
            ("loss", loss),
            ("equal", same_output if equal is None else equal),
        ):
            if not callable(function):
                raise TypeError(f"{name} must be callable, got {function!r}")
        if not isinstance(space, Interval):
            raise TypeError(f"space must be an Interval or Knobs, got {space!r}")
        self.run, self.instance, self.space = run, instance, space
        self.equal = same_output if equal is None else equal
        self.tolerance = _validate.number("tolerance", tolerance, low=0.0, high=space.width, open=True)
        self.exact = _validate.boolean("exact", exact)
        self.maximize = _validate.boolean("maximize", maximize)
        self.partition = _validate.choice("partition", partition, ("output", "loss"))
        self.on_recurrence = _validate.choice("on_recurrence", on_recurrence, ("raise", "shrink"))
        self.resolution = space.width / _COARSE_CELLS if resolution is None else self._width(resolution)
        self.max_runs = _validate.integer("max_runs", max_runs, low=1)
        self.n_jobs = _validate.integer("n_jobs", n_jobs, low=1)
        self.high = _validate.number("high", high, low=0.0, open=True)
        # The same fractions for every interval: whoever finds an interval checks it at the same points.
        check, seed = _validate.integer("check", check, low=0), _validate.seed("seed", seed)
        self._fractions = np.random.default_rng(seed).random(check).tolist()
        self._loss, self._loss_takes_one = loss, _takes_one_argument(loss)
        self._grid = DyadicGrid(space.lo, space.hi, self.tolerance, self.exact)
        self._outputs: dict[float, Any] = {}
        self.n_runs = 0
        self.most_runs = 2 * max(self._grid.levels, 1) + 1

    def _width(self, resolution: float) -> float:
        return min(_validate.number("resolution", resolution, low=0.0, open=True), self.space.width)

    # -- running ---------------------------------------------------------------------------------

    def output(self, rho: float) -> Any:
        """What `run` gives for rho; run once, then remembered."""
        rho = self.space.check(rho)
        if rho not in self._outputs:
            output = self.run(self.instance, rho)
            self._outputs[rho] = output
            self.n_runs += 1
        return self._outputs[rho]

    def _same(self, rho: float, output: Any) -> bool:
        """Whether rho gives this output."""
        other = self.output(rho)
        if other is output:
            return True
        if not self.equal(other, output):
            return False
        self._outputs[rho] = output  # one object for equal outputs: less memory, quicker to compare
        return True

    def _value(self, output: Any) -> float:
        value = self._loss(output) if self._loss_takes_one else self._loss(self.instance, output)
        return _validate.number("the value of loss", value)

    # -- the three kinds of feedback -------------------------------------------------------------

    def loss(self, rho: float) -> float:
        """The loss at rho (bandit feedback): one run."""
        return self._value(self.output(rho))

    def reveal(self, rho: float) -> PiecewiseConstant:
        """The loss on the interval around rho with the same output (semi-bandit feedback, Algorithm 5).

        This takes O(log(width/tolerance)) runs; with partition="loss" so many for each output.

        An interval runs from the first grid point with this output to the first one with another, so that
        any rho of a piece reveals the same interval to the bit. The one exception is a rho in the very cell
        that holds the piece's left end, past that end: its interval begins at rho itself.
        """
        last_other, lo, hi = self._piece(self.space.check(rho))
        if self.partition == "loss":
            last_other, lo, hi = self._widened(last_other, lo, hi, self.loss(rho))
        if lo == hi:  # what is at the closed right end is that end's alone
            lo = last_other
        return PiecewiseConstant.constant(lo, hi, self.loss(rho))

    def losses(self, resolution: float | None = None, n_jobs: int | None = None) -> PiecewiseConstant:
        """The loss everywhere (full information), by bisecting between grid points whose outputs differ.

        Sees every piece that holds a grid point if the algorithm is piecewise-unique, and those at least
        `resolution` wide in any case. O(width/resolution + P·log(resolution/tolerance)) runs for P pieces.
        The result does not depend on `n_jobs`.
        """
        resolution = self.resolution if resolution is None else self._width(resolution)
        n_jobs = self.n_jobs if n_jobs is None else _validate.integer("n_jobs", n_jobs, low=1)
        grid = self._grid
        # An end past the last grid point is the right end to the tolerance; `exact` looks there, too.
        last = self.space.hi if self.exact else grid.point(grid.n_cells - 1)
        stride = max(int(resolution / self.space.width * grid.n_cells), 1)
        if -(-grid.n_cells // stride) > self.max_runs + self.n_runs:
            raise ValueError(
                f"more than max_runs = {self.max_runs} runs: a resolution of {resolution:g} takes "
                f"{-(-grid.n_cells // stride)}, to begin with. A larger one, or a larger max_runs, may help"
            )
        points = sorted({grid.point(i) for i in range(0, grid.n_cells, stride)} | {last})
        with _threads(n_jobs) as pool:
            edges = self._edges_between(points, pool)
        starts = sorted({self.space.lo, *edges} - {self.space.hi})
        losses = PiecewiseConstant([*starts, self.space.hi], [self.loss(x) for x in starts])
        return losses.compress() if self.partition == "loss" else losses

    # -- searching -------------------------------------------------------------------------------

    def _piece(self, rho: float) -> tuple[float, float, float]:
        """The interval [lo, hi) around rho with its output, after the last point known to have another.

        That point is lo where there is none.
        """
        output = self.output(rho)  # counts as a run of ours, even if it was made before
        before = self.n_runs
        lo, last_other = self._left_end(rho, output)
        hi = self._right_end(rho, output, runs_left=self.most_runs - 1 - (self.n_runs - before))
        return self._checked(rho, output, last_other, lo, hi)

    def _widened(self, last_other: float, lo: float, hi: float, loss: float) -> tuple[float, float, float]:
        """The piece, joined with its neighbours as far as they have this loss."""
        most = self.n_runs + self.max_runs
        while hi < self.space.hi and self.loss(hi) == loss:
            hi = self._piece(hi)[2]
            self._require_runs(most)
        while last_other < lo and self.loss(last_other) == loss:
            last_other, lo, _ = self._piece(last_other)
            self._require_runs(most)
        return last_other, lo, hi

    def _require_runs(self, most: int, more: int = 0, places: str = "") -> None:
        """Raise where there were too many runs, or would be with so many more."""
        if self.n_runs + more > most:
            raise ValueError(
                f"more than max_runs = {self.max_runs} runs, and the output still changes{places}: is it "
                f"piecewise constant in rho? A larger tolerance, or an `equal` that ignores what does not "
                f"matter, may help"
            )

    def _bisect(self, same: float, other: float, output: Any) -> tuple[float, float]:
        """A point with this output and one without it, brought together to where the output changes."""
        while (middle := self._grid.between(min(same, other), max(same, other))) is not None:
            same, other = (middle, other) if self._same(middle, output) else (same, middle)
        return same, other

    def _left_end(self, rho: float, output: Any) -> tuple[float, float]:
        """The leftmost point known to have rho's output, and the rightmost before it known not to."""
        lo = self.space.lo
        return (lo, lo) if self._same(lo, output) else self._bisect(rho, lo, output)

    def _right_end(self, rho: float, output: Any, runs_left: int) -> float:
        """The leftmost point past rho known to have another output, or the right end of the space."""
        hi = self.space.hi
        if rho == hi:
            return hi
        # Looking at the end first ends the search where the piece reaches it; only if the runs allow.
        probes = self._grid.most_probes(rho, hi)
        if (self.exact or 0 < probes < runs_left) and self._same(hi, output):
            return hi
        return self._bisect(rho, hi, output)[1]

    def _checked(
        self, rho: float, output: Any, last_other: float, lo: float, hi: float
    ) -> tuple[float, float, float]:
        """The piece if the random points inside have the same output; else an error, or a smaller piece."""
        while True:
            points = (lo + fraction * (hi - lo) for fraction in self._fractions)
            gap = next((x for x in points if not self._same(x, output)), None)
            if gap is None:
                return last_other, lo, hi
            if self.on_recurrence == "raise":
                raise ValueError(
                    f"the algorithm is not piecewise-unique: bisection from rho = {rho!r} gave "
                    f"[{lo!r}, {hi!r}), but {gap!r} inside has another output; rho's comes back beyond it. "
                    f"on_recurrence='shrink' keeps the part around rho"
                )
            same, other = self._bisect(rho, gap, output)
            if gap > rho:
                hi = other
            else:
                last_other, lo = other, same

    def _edges_between(self, points: list[float], pool: Executor | None) -> list[float]:
        """The points at which the output changes, found side by side, one probe in each bracket at a time."""
        edges: list[float] = []
        most = self.n_runs + self.max_runs
        if self.n_runs + sum(x not in self._outputs for x in points) > most:
            raise ValueError(f"more than max_runs = {self.max_runs} runs: a larger resolution may help")
        self._run_all(points, pool)
        brackets = self._differing(pairwise(points))
        while brackets:
            probes = [(a, self._grid.between(a, b), b) for a, b in brackets]
            edges += [b for _, middle, b in probes if middle is None]
            open_ones = [(a, middle, b) for a, middle, b in probes if middle is not None]
            self._require_runs(most, len(open_ones), f" in {len(open_ones)} places")
            self._run_all([middle for _, middle, _ in open_ones], pool)
            brackets = self._differing(
                pair for a, middle, b in open_ones for pair in ((a, middle), (middle, b))
            )
        return edges

    def _differing(self, brackets: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(a, b) for a, b in brackets if not self._same(b, self.output(a))]

    def _run_all(self, points: list[float], pool: Executor | None) -> None:
        """Run the points that have not been run."""
        new = [x for x in points if x not in self._outputs]
        run_each = map if pool is None else pool.map
        for x, output in zip(new, run_each(lambda x: self.run(self.instance, x), new), strict=True):
            self._outputs[x] = output
            self.n_runs += 1

    def __repr__(self) -> str:
        extra = ", exact=True" if self.exact else ""
        return f"<BlackBox on {self.space!r}, tolerance={self.tolerance:g}{extra}: {self.n_runs} runs so far>"


def _threads(n_jobs: int) -> AbstractContextManager[Executor | None]:
    """A pool of threads, or None where one is enough."""
    if n_jobs == 1:
        return nullcontext()
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(n_jobs)


def same_output(a: Any, b: Any) -> bool:
    """Whether two outputs are equal: as arrays, also inside of containers; nan equals nan.

    >>> same_output((1, np.array([2.0, np.nan])), (1, np.array([2.0, np.nan])))
    True
    >>> same_output([1, 2], [1, 3])
    False
    """
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_array(np.asarray(a), np.asarray(b))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_output, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_output(value, b[key]) for key, value in a.items())
    return bool(a == b) or bool(a != a and b != b)


def _same_array(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.hasobject or b.dtype.hasobject:
        return all(map(same_output, a.ravel().tolist(), b.ravel().tolist()))
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    """False where there are two parameters, or more, without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some builtins do not tell
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) < 2
