"""Checks of the contract of an algorithm family, for tests of your own families.

    import semibandit as sb

    def test_my_family():
        sb.testing.check_problem(MyFamily(...))

or one test for each check, over several instances:

    @pytest.mark.parametrize("check", sb.testing.CHECKS)
    @pytest.mark.parametrize("problem", [MyFamily(...), ...])
    def test_contract(problem, check):
        check(problem)

A learner's estimates are unbiased only if the losses that `reveal` returns are true and its feedback sets
form a partition. Neither error shows in a plot or raises an exception; these checks find both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.spaces import Boxes, Parameters, Space, call

__all__ = ["CHECKS", "check_losses", "check_partition", "check_problem", "check_reveal"]

_ROUNDING = 1e-9  # of losses, relative to the largest one
_END_ROUNDING = 1e-12  # of ends of intervals, relative to the width of the space


class Point(NamedTuple):
    """Position in a row of the line: rho, or the position of a knob's value on its scale."""

    row: int
    rho: float
    parameters: Parameters

    def __str__(self) -> str:
        return _shown(self.parameters)


class Stretch(NamedTuple):
    """Closed interval of positions in a row."""

    row: int
    lo: float
    hi: float

    def holds(self, point: Point) -> bool:
        """Return whether a point lies in the interval."""
        return point.row == self.row and self.lo <= point.rho <= self.hi


Stretches = tuple[Stretch, ...]


def check_problem(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """Run all checks; the first that fails raises an AssertionError with the reason and the place.

    Parameters
    ----------
    problem
        An instance of the family: `space`, `loss`, `reveal` and `losses`. If it states `high`, losses must
        be in [0, high]; else they may be any finite numbers.
    n_points
        Number of parameters that are tried: a third anywhere in the space, a third in random pieces of the
        loss function, so that narrow pieces are tried too, and a third right beside the edges of pieces.
        The feedback in the middle of each piece is compared with the loss function, for up to 8 times as
        many pieces; of more, for random ones.
    seed
        Seed of these points.
    tolerance
        Largest difference between ends of intervals; points this close to an end are not compared. Default:
        the `tolerance` of the problem if it has one, else 1e-12 of the width of the space, or a few
        roundings of its ends.

    Examples
    --------
    >>> import semibandit as sb
    >>> check_problem(sb.Explicit(sb.PiecewiseConstant([0, 0.4, 1], [0.9, 0.1])))

    >>> class Biased(sb.Explicit):
    ...     def reveal(self, rho):  # true, but the interval depends on the position of rho in the piece
    ...         piece = self.function.piece(rho)
    ...         lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
    ...         return sb.PiecewiseConstant.constant(max(lo, rho - 0.1), hi, loss)
    >>> check_problem(Biased(sb.PiecewiseConstant([0, 0.4, 1], [0.9, 0.1])))
    Traceback (most recent call last):
    ...
    AssertionError: Biased: feedback sets must form a partition, but reveal(...) is seen on [...
    """
    for check in CHECKS:
        check(problem, n_points, seed, tolerance)


def check_losses(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """Check that `losses` covers the whole space and agrees with `loss`, and with all that `reveal` shows.

    The functions that `reveal` and `losses` return are compared in all pieces, or in 8 · n_points random
    ones: an end of a feedback set that differs from the edge of `losses` by more than twice the tolerance is
    found.
    """
    it = _Subject(problem, n_points, seed, tolerance)
    whole = tuple(Stretch(row, it.line.lo, it.line.hi) for row in range(it.line.n_rows))
    if (seen := it.domain(it.losses)) != whole:
        it.fail(f"losses() must be seen on the whole space {it.show(whole)}, got {it.show(seen)}")
    for x in it.losses.edges[:-1].tolist():
        it.require_in_range(f"losses()({x!r})", float(it.losses(x)))
    for point in it.points:
        it.require_loss(f"losses() at {point}", it.value(it.losses, point), point)
    for point in it.points + it.middles(8 * n_points):
        it.require_same_function(point, it.reveal(point))


def check_reveal(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """Check that `reveal` covers the parameter, stays inside the space, and is equal to `loss`.

    Both ends of every row are tried, too.
    """
    it = _Subject(problem, n_points, seed, tolerance)
    ends = [it.point(row, rho) for row in range(it.line.n_rows) for rho in (it.line.lo, it.line.hi)]
    for point in ends + it.points:
        seen = it.reveal(point)
        it.require_covered(point, seen)
        for other in (point, *it.inside(it.domain(seen))):
            it.require_loss(f"reveal({point}) at {other}", it.value(seen, other), other)


def check_partition(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """Check that feedback sets form a partition: all points of a set reveal this set."""
    it = _Subject(problem, n_points, seed, tolerance)
    for point in it.points:
        ours = it.domain(it.reveal(point))
        say = f"feedback sets must form a partition, but reveal({point}) is seen on {it.show(ours)} and "
        for other in (point, *it.inside(ours)):
            theirs = it.domain(it.reveal(other))
            if not it.same_place(ours, theirs):
                it.fail(f"{say}reveal({other}), a point of it, on {it.show(theirs)}")
        for other in it.just_outside(ours):
            theirs = it.domain(it.reveal(other))
            if _overlap(ours, theirs) > 4.0 * it.tolerance:
                it.fail(f"{say}reveal({other}), a point outside of it, on {it.show(theirs)}, which overlap")


CHECKS: tuple[Callable[..., None], ...] = (check_losses, check_reveal, check_partition)


class _Subject:
    """Problem under test, with the points to try and the errors to raise."""

    def __init__(self, problem: Any, n_points: int, seed: int, tolerance: float | None) -> None:
        n_points = _validate.integer("n_points", n_points, low=1)
        self.problem = problem
        space = getattr(problem, "space", None)
        if not isinstance(space, Space):
            self.fail(f"the space must be an Interval, Strips or Knobs, got {space!r}")
        self.space: Space = space
        self.line = self.space.line
        self.width = self.line.hi - self.line.lo
        self.high: float | None = getattr(problem, "high", None)
        if tolerance is None:
            rounding = 8.0 * math.ulp(max(map(abs, self.line.span)))
            tolerance = getattr(problem, "tolerance", max(_END_ROUNDING * self.width, rounding))
        self.tolerance = _validate.number("tolerance", tolerance, low=0.0)
        self.step = 4.0 * self.tolerance + 1e-12 * self.width  # distance of points beside an edge
        self.losses = self.line.on_rows(self.function("losses", ()))
        self.scale = max(float(np.nanmax(np.abs(end), initial=0.0)) for end in self.losses.ends)
        self.rows = self.line.rows(self.losses)
        self.edges = [row.edges for row in self.rows]
        self.random = np.random.default_rng(_validate.seed("seed", seed))
        self.points = self._draw(n_points)

    def _draw(self, n_points: int) -> list[Point]:
        """Draw points anywhere, in random pieces, and right beside random edges, in turn."""
        lo = np.concatenate([edges[:-1] for edges in self.edges])
        hi = np.concatenate([edges[1:] for edges in self.edges])
        rows = np.repeat(np.arange(self.line.n_rows), [edges.size - 1 for edges in self.edges])
        piece = self.random.integers(rows.size, size=n_points)
        u = self.random.random(n_points)
        anywhere = self.line.lo + u * self.width
        in_pieces = lo[piece] + u * (hi[piece] - lo[piece])
        beside_edges = np.where(u < 0.5, lo[piece] + self.step, hi[piece] - self.step)
        drawn = np.choose(np.arange(n_points) % 3, [anywhere, in_pieces, beside_edges])
        points = map(self.point, rows[piece].tolist(), drawn.tolist())
        return [point for point in points if self.is_inside(point.rho) and self.is_clear(point)]

    def middles(self, most: int) -> list[Point]:
        """Return the middle of each piece that is wide enough; of more pieces than `most`, of random ones."""
        found = [
            self.point(row, 0.5 * lo + 0.5 * hi)
            for row, edges in enumerate(self.edges)
            for lo, hi in pairwise(edges.tolist())
        ]
        chosen = self.random.permutation(len(found))[:most].tolist()
        return [found[i] for i in sorted(chosen) if self.is_clear(found[i])]

    # -- playing ---------------------------------------------------------------------------------

    def loss(self, point: Point) -> float:
        """Return the loss of one plain run."""
        loss = self.call("loss", point.parameters)
        if not isinstance(loss, int | float | np.floating | np.integer):
            self.fail(f"loss({point}) must be a number, got {loss!r}")
        self.require_in_range(f"loss({point})", float(loss))
        return float(loss)

    def reveal(self, point: Point) -> Any:
        """Return the feedback of one run, as a function on the line."""
        return self.line.on_rows(self.function("reveal", point.parameters), self.at(point))

    def function(self, method: str, parameters: Parameters) -> Any:
        """Return the function that a method returns; raise if it is none."""
        returned = self.call(method, parameters)
        if not isinstance(returned, Piecewise | Boxes):
            self.fail(f"{method} must return a PiecewiseConstant or PiecewiseLinear, got {returned!r}")
        return returned

    def call(self, method: str, parameters: Parameters) -> Any:
        if not callable(getattr(self.problem, method, None)):
            self.fail(f"a problem must have a method {method!r}")
        try:
            return call(getattr(self.problem, method), parameters)
        except Exception as error:
            self.fail(f"{method}({_shown(parameters)}) raised {error!r}", error)

    def at(self, point: Point) -> float:
        """Return the point of the line for the parameters of a point."""
        return float(call(self.space.place, point.parameters))

    def value(self, function: Any, point: Point) -> float:
        """Return the value of a function on the line."""
        return float(function(self.at(point)))

    def domain(self, function: Any) -> Stretches:
        """Return the intervals on which a function on the line is seen, row by row."""
        rows = enumerate(self.line.rows(function))
        return tuple(Stretch(row, lo, hi) for row, part in rows for lo, hi in part.domain)

    # -- points to try ---------------------------------------------------------------------------

    def point(self, row: int, rho: float) -> Point:
        return Point(row, rho, self.space.parameters(row, rho))

    def is_inside(self, rho: float) -> bool:
        return self.line.lo <= rho <= self.line.hi

    def is_clear(self, point: Point) -> bool:
        """Return whether a point is further from all edges of the loss than the tolerance allows."""
        return bool(np.abs(self.edges[point.row] - point.rho).min() > 2.0 * self.tolerance)

    def inside(self, stretches: Stretches) -> Iterator[Point]:
        """Yield two points in each interval, clear of its ends."""
        for row, lo, hi in stretches:
            for u in self.random.random(2).tolist():
                point = self.point(row, lo + u * (hi - lo))
                clear = min(point.rho - lo, hi - point.rho) > 2.0 * self.tolerance
                if clear and self.is_clear(point):
                    yield point

    def just_outside(self, stretches: Stretches) -> Iterator[Point]:
        """Yield the points right outside of the intervals."""
        for row, lo, hi in stretches:
            for rho in filter(self.is_inside, (lo - self.step, hi + self.step)):
                point = self.point(row, rho)
                if not any(stretch.holds(point) for stretch in stretches):
                    yield point

    def same_place(self, ours: Stretches, theirs: Stretches) -> bool:
        """Return whether two sets have the same ends in the same rows, to the tolerance."""
        return len(ours) == len(theirs) and all(
            a.row == b.row and max(abs(a.lo - b.lo), abs(a.hi - b.hi)) <= 2.0 * self.tolerance
            for a, b in zip(ours, theirs, strict=True)
        )

    # -- errors ----------------------------------------------------------------------------------

    def fail(self, message: str, cause: BaseException | None = None) -> NoReturn:
        raise AssertionError(f"{type(self.problem).__name__}: {message}") from cause

    def show(self, stretches: Stretches) -> str:
        """Return intervals as text, with the values at their ends."""
        shown = []
        for row, lo, hi in stretches:
            (first, last), alpha = self.line.stretch(lo, hi)[1], self.space.alphas[row]
            shown.append(f"[{first!r}, {last!r}]" + ("" if alpha is None else f" at alpha = {alpha!r}"))
        return " and ".join(shown) or "nothing"

    def require_covered(self, point: Point, seen: Any) -> None:
        stretches = self.domain(seen)
        if not any(stretch.holds(point) for stretch in stretches):
            self.fail(f"reveal({point}) must be seen at rho, but is seen on {self.show(stretches)}")
        lo, hi = self.line.span
        if seen.domain[0][0] < lo or seen.domain[-1][1] > hi:
            self.fail(f"reveal({point}) must stay in {self.space!r}, but is seen on {seen.domain}")

    def require_same_function(self, point: Point, seen: Any) -> None:
        """Raise where feedback differs from `losses` on more than twice the tolerance."""
        parts = self.line.rows(seen)
        for row, lo, hi in self.domain(seen):
            edges = np.unique(np.concatenate((parts[row].edges, self.edges[row], [lo, hi])))
            edges = edges[(edges >= lo) & (edges <= hi)]
            wide = np.diff(edges) > 2.0 * self.tolerance
            a, b = edges[:-1][wide], edges[1:][wide]
            places = np.concatenate((0.75 * a + 0.25 * b, 0.25 * a + 0.75 * b))
            ours, theirs = self.rows[row](places), parts[row](places)
            for i in np.flatnonzero(~np.isclose(ours, theirs, _ROUNDING, _ROUNDING * self.scale))[:1]:
                what = f"losses() at {self.point(row, float(places[i]))}"
                self.fail(f"{what} is {float(ours[i])!r}, but reveal({point}) is {float(theirs[i])!r}")

    def require_loss(self, what: str, value: float, point: Point) -> None:
        self.require_equal(what, value, f"loss({point})", self.loss(point))

    def require_equal(self, what: str, value: float, reference: str, expected: float) -> None:
        if not math.isclose(value, expected, rel_tol=_ROUNDING, abs_tol=_ROUNDING * self.scale):
            self.fail(f"{what} is {value!r}, but {reference} is {expected!r}")

    def require_in_range(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            self.fail(f"{what} must be finite, got {value!r}")
        if self.high is not None and not 0.0 <= value <= self.high:
            self.fail(f"{what} must be in [0, high] = [0, {self.high:g}], got {value!r}")


def _overlap(ours: Stretches, theirs: Stretches) -> float:
    return sum(max(min(a.hi, b.hi) - max(a.lo, b.lo), 0.0) for a in ours for b in theirs if a.row == b.row)


def _shown(parameters: Parameters) -> str:
    if isinstance(parameters, dict):
        return ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    return ", ".join(map(repr, parameters))
