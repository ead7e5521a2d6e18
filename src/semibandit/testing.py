"""The contract of an algorithm family, as checks to run on your own.

    import semibandit as sb

    def test_my_family():
        sb.testing.check_problem(MyFamily(...))

or one test a check, over several instances:

    @pytest.mark.parametrize("check", sb.testing.CHECKS)
    @pytest.mark.parametrize("problem", [MyFamily(...), ...])
    def test_contract(problem, check):
        check(problem)

A learner's estimates are unbiased only if what `reveal` sees is true and the sets on which it sees form a
partition. Neither shows in a plot, or in an error: this is what finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from semibandit import _validate
from semibandit.spaces.interval import Interval

__all__ = [
    "CHECKS",
    "check_ends",
    "check_losses",
    "check_partition",
    "check_problem",
    "check_repeatable",
    "check_reveal",
    "check_values",
]

_ROUNDING = 1e-9  # relative to the width of the space for places, to the largest loss for values

Stretches = tuple[tuple[float, float], ...]


def check_problem(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """Run every check; the first that fails raises an AssertionError which says what is wrong and where.

    Parameters
    ----------
    problem
        An instance of the family: `space`, `loss`, `reveal`, `losses`, and `high` where losses exceed 1.
    n_points
        The parameters tried: a third anywhere in the space, a third in pieces of the loss function chosen
        evenly, so that narrow ones are looked at, too, and a third right beside their edges.
    seed
        Of these points.
    tolerance
        Ends of intervals may differ by this much, and nothing is asked of points this close to one. By
        default the `tolerance` of the problem if it has one, or else 1e-9 of the width of the space.

    Examples
    --------
    >>> import semibandit as sb
    >>> check_problem(sb.Explicit(sb.PiecewiseConstant([0, 0.4, 1], [0.9, 0.1])))

    >>> class Biased(sb.Explicit):
    ...     def reveal(self, rho):  # safe, but it depends on where in the piece rho stands
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


def check_ends(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """The space is an interval, and both of its ends can be played."""
    it = _Subject(problem, n_points, seed, tolerance)
    for name, rho in (("left", it.space.lo), ("right", it.space.hi)):
        try:
            problem.loss(rho)
            seen = problem.reveal(rho)
        except Exception as error:
            it.fail(f"the {name} end of the space, {rho!r}, cannot be played: {error!r}", error)
        it.require_covered(rho, seen)
        it.require_equal(
            f"reveal({rho!r}) at the {name} end", _value(seen, rho), f"loss({rho!r})", it.loss(rho)
        )


def check_values(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """All losses are numbers in [0, high]."""
    it = _Subject(problem, n_points, seed, tolerance)
    for rho in it.points:
        it.require_in_range(f"loss({rho!r})", it.loss(rho))
    for x in it.losses.edges[:-1].tolist():
        it.require_in_range(f"losses()({x!r})", _value(it.losses, x))


def check_repeatable(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """Asked twice, a problem answers the same."""
    it = _Subject(problem, n_points, seed, tolerance)
    for rho in it.points:
        first, second = it.loss(rho), it.loss(rho)
        if first != second:
            it.fail(f"loss({rho!r}) was {first!r} and then {second!r}: fix the randomness of a problem")
        sets = _domain(problem.reveal(rho)), _domain(problem.reveal(rho))
        if sets[0] != sets[1]:
            it.fail(f"reveal({rho!r}) was seen on {_show(sets[0])} and then on {_show(sets[1])}")


def check_reveal(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """What `reveal` shows covers the parameter, stays inside the space, and is the loss, everywhere on it."""
    it = _Subject(problem, n_points, seed, tolerance)
    for rho in it.points:
        seen = problem.reveal(rho)
        it.require_covered(rho, seen)
        it.require_equal(f"reveal({rho!r}) at rho", _value(seen, rho), f"loss({rho!r})", it.loss(rho))
        for other in it.inside(_domain(seen)):
            it.require_equal(
                f"reveal({rho!r}) at {other!r}", _value(seen, other), f"loss({other!r})", it.loss(other)
            )


def check_partition(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """The sets on which `reveal` sees form a partition: each is the same seen from any of its points."""
    it = _Subject(problem, n_points, seed, tolerance)
    for rho in it.points:
        ours = _domain(problem.reveal(rho))
        for other in it.inside(ours):
            theirs = _domain(problem.reveal(other))
            if not it.same_place(ours, theirs):
                it.fail(
                    f"feedback sets must form a partition, but reveal({rho!r}) is seen on {_show(ours)} and "
                    f"reveal({other!r}), a point of it, on {_show(theirs)}"
                )
        for other in it.just_outside(ours):
            theirs = _domain(problem.reveal(other))
            if _overlap(ours, theirs) > 4.0 * it.tolerance:
                it.fail(
                    f"feedback sets must form a partition, but reveal({rho!r}) is seen on {_show(ours)} and "
                    f"reveal({other!r}), a point outside of it, on {_show(theirs)}, which overlap"
                )


def check_losses(problem: Any, n_points: int = 50, seed: int = 0, tolerance: float | None = None) -> None:
    """`losses` is seen on the whole space and agrees with `loss` and `reveal`."""
    it = _Subject(problem, n_points, seed, tolerance)
    whole = ((it.space.lo, it.space.hi),)
    if _domain(it.losses) != whole:
        it.fail(f"losses() must be seen on the whole space {_show(whole)}, got {_show(_domain(it.losses))}")
    for rho in it.points:
        value = _value(it.losses, rho)
        it.require_equal(f"losses() at {rho!r}", value, f"loss({rho!r})", it.loss(rho))
        seen = problem.reveal(rho)
        for other in it.inside(_domain(seen)):
            it.require_equal(
                f"losses() at {other!r}", _value(it.losses, other), f"reveal({rho!r})", _value(seen, other)
            )


CHECKS: tuple[Callable[..., None], ...] = (
    check_ends,
    check_values,
    check_repeatable,
    check_losses,
    check_reveal,
    check_partition,
)


class _Subject:
    """The problem under test, the points to try it at, and how to complain about it."""

    def __init__(self, problem: Any, n_points: int, seed: int, tolerance: float | None) -> None:
        _validate.integer("n_points", n_points, low=1)
        self.problem = problem
        self.name = type(problem).__name__
        for method in ("loss", "reveal", "losses"):
            if not callable(getattr(problem, method, None)):
                self.fail(f"a problem must have a method {method!r}")
        space = getattr(problem, "space", None)
        if not isinstance(space, Interval):
            self.fail(f"the space must be an Interval, got {space!r}")
        self.space: Interval = space
        self.high = float(getattr(problem, "high", 1.0))
        if tolerance is None:
            tolerance = getattr(problem, "tolerance", _ROUNDING * self.space.width)
        self.tolerance = _validate.number("tolerance", tolerance, low=0.0)
        self.step = 4.0 * self.tolerance + 1e-12 * self.space.width  # how far "beside" is
        self.losses = problem.losses()
        self.random = np.random.default_rng(seed)
        self.points = self._draw(n_points)

    def _draw(self, n_points: int) -> list[float]:
        """Points anywhere, in pieces chosen evenly, and right beside edges chosen evenly, in turn."""
        lo, hi = self.space.lo, self.space.hi
        edges = np.clip(self.losses.edges, lo, hi)
        piece = self.random.integers(edges.size - 1, size=n_points)
        u = self.random.random(n_points)
        anywhere = lo + u * (hi - lo)
        in_pieces = edges[piece] + u * (edges[piece + 1] - edges[piece])
        beside_edges = np.where(u < 0.5, edges[piece] + self.step, edges[piece + 1] - self.step)
        drawn = np.choose(np.arange(n_points) % 3, [anywhere, in_pieces, beside_edges])
        return [x for x in drawn.tolist() if x in self.space and self.is_clear(x, self.losses.edges)]

    def loss(self, rho: float) -> float:
        """One plain run."""
        loss = self.problem.loss(rho)
        if not isinstance(loss, int | float | np.floating | np.integer):
            self.fail(f"loss({rho!r}) must be a number, got {loss!r}")
        return float(loss)

    # -- points to try ---------------------------------------------------------------------------

    def is_clear(self, x: float, edges: Any) -> bool:
        """Whether x is further from all edges than ends may be off."""
        return bool(np.abs(np.asarray(edges) - x).min() > 2.0 * self.tolerance)

    def inside(self, stretches: Stretches) -> Iterator[float]:
        """Two points in each stretch, clear of its ends."""
        for lo, hi in stretches:
            for u in self.random.random(2).tolist():
                x = lo + u * (hi - lo)
                if self.is_clear(x, [lo, hi]) and self.is_clear(x, self.losses.edges):
                    yield x

    def just_outside(self, stretches: Stretches) -> Iterator[float]:
        """The points next to the ends of the stretches."""
        for lo, hi in stretches:
            for x in (lo - self.step, hi + self.step):
                if x in self.space and not any(a <= x <= b for a, b in stretches):
                    yield x

    def same_place(self, ours: Stretches, theirs: Stretches) -> bool:
        """Whether two sets have the same ends, to the tolerance."""
        return len(ours) == len(theirs) and all(
            abs(a - b) <= 2.0 * self.tolerance
            for one, other in zip(ours, theirs, strict=True)
            for a, b in zip(one, other, strict=True)
        )

    # -- complaints ------------------------------------------------------------------------------

    def fail(self, message: str, cause: BaseException | None = None) -> NoReturn:
        raise AssertionError(f"{self.name}: {message}") from cause

    def require_covered(self, rho: float, seen: Any) -> None:
        if not all(hasattr(seen, name) for name in ("edges", "domain")):
            self.fail(f"reveal({rho!r}) must return a PiecewiseConstant or PiecewiseLinear, got {seen!r}")
        stretches = _domain(seen)
        if not any(lo <= rho <= hi for lo, hi in stretches):
            self.fail(f"reveal({rho!r}) must be seen at rho, but is seen on {_show(stretches)}")
        if stretches[0][0] < self.space.lo or stretches[-1][1] > self.space.hi:
            self.fail(f"reveal({rho!r}) must stay in {self.space!r}, but is seen on {_show(stretches)}")

    def require_equal(self, what: str, value: float, reference: str, expected: float) -> None:
        if not math.isclose(value, expected, rel_tol=_ROUNDING, abs_tol=_ROUNDING * self.high):
            self.fail(f"{what} is {value!r}, but {reference} is {expected!r}")

    def require_in_range(self, what: str, value: float) -> None:
        if not 0.0 <= value <= self.high:
            self.fail(f"{what} must be in [0, high] = [0, {self.high:g}], got {value!r}")


def _domain(function: Any) -> Stretches:
    return tuple((float(lo), float(hi)) for lo, hi in function.domain)


def _value(function: Any, x: float) -> float:
    return float(function(x))


def _overlap(ours: Stretches, theirs: Stretches) -> float:
    return sum(max(min(b, d) - max(a, c), 0.0) for a, b in ours for c, d in theirs)


def _show(stretches: Stretches) -> str:
    return " and ".join(f"[{lo!r}, {hi!r}]" for lo, hi in stretches) or "nothing"
