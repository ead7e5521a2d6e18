"""Streams that are not dispersed, to which the regret guarantee does not apply."""

from __future__ import annotations

import math

import numpy as np

from semibandit import _validate
from semibandit.families.instance import interval_or
from semibandit.families.problem import Explicit
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["concentrated", "halving"]

_UNIT = Interval(0.0, 1.0)


@pickled_as_call
def concentrated(
    rounds: int = 1000,
    *,
    space: Interval = _UNIT,
    center: float | None = None,
    width: float = 1e-6,
    seed: int = 0,
) -> Stream[Explicit]:
    """Return losses of 1 except on a needle: all discontinuities lie within `width` around one point.

    Parameters
    ----------
    rounds, seed
        Number of functions, and seed.
    space
        Range of the parameter.
    center, width
        Each function is 0 on an interval with random ends, one in each half of the interval of this width
        around the center, and 1 elsewhere. Default center: 0.37 of the space.

    Notes
    -----
    The center has a total loss of 0, but a uniform draw comes near it with a probability of width/|space|
    only: a learner on a grid loses every round. Full information finds the needle after one round, Exp3-SET
    after about ln(|space|/width)/λ, as it rules out the rest. D(T, ε) = T for every ε ≥ width.

    Examples
    --------
    >>> problem = concentrated(rounds=10)[3]
    >>> problem.loss(0.37), problem.loss(0.5)
    (0.0, 1.0)
    """
    space = interval_or((0.0, 1.0), space)
    middle = space.lo + 0.37 * space.width if center is None else space.check(center, "center")
    half = _validate.number("width", width, low=0.0, open=True) / 2.0
    if not space.lo < middle - half < middle < middle + half < space.hi:
        raise ValueError(
            f"center ± width/2 must be distinct points inside ({space.lo:g}, {space.hi:g}), "
            f"got center = {middle!r} and width = {width!r}"
        )

    def make(t: int, rng: np.random.Generator) -> Explicit:
        left, right = half * (1.0 - 0.5 * rng.random(2))
        edges = [space.lo, middle - left, middle + right, space.hi]
        return Explicit(PiecewiseConstant(edges, [1.0, 0.0, 1.0]))

    return Stream(make, rounds, seed)


@pickled_as_call
def halving(rounds: int = 48, *, space: Interval = _UNIT, seed: int = 0) -> Stream[Explicit]:
    """Return the losses of the halving adversary: every learner loses 1/2 a round, one parameter nothing.

    Parameters
    ----------
    rounds, seed
        Number of functions, and seed.
    space
        Range of the parameter.

    Notes
    -----
    Start with the space as the interval. Each round a fair coin picks one half of the interval; the loss is 1
    on that side of the middle and 0 on the other, and the other half becomes the interval. Every learner,
    also with full information, loses 1/2 per round in expectation, and every point of the last interval
    loses nothing: the regret is T/2.

    Doubles limit the number of halvings (50 on [0, 1]). For more rounds each interval is kept for m rounds,
    with one coin each, and halved to the better side. The expected regret is then E|S_m|/2 per interval, for
    a random walk S_m of m steps: T/2 for m = 1, and at least √T.

    Examples
    --------
    >>> stream = halving(rounds=20, seed=1)
    >>> PiecewiseConstant.sum(problem.losses() for problem in stream).min()
    0.0
    """
    space = interval_or((0.0, 1.0), space)
    rounds = _validate.integer("rounds", rounds, low=1)
    # Another generator than that of a learner with the same seed, which would predict the coins.
    rng = np.random.default_rng([_validate.seed("seed", seed), 1])
    depth = _halvings(space)
    repeats = math.ceil(rounds / depth)
    left_is_bad = rng.random(rounds) < 0.5
    middles = np.empty(rounds)
    lo, hi = space.lo, space.hi
    for begin in range(0, rounds, repeats):
        middle = 0.5 * (lo + hi)
        coins = left_is_bad[begin : begin + repeats]
        middles[begin : begin + repeats] = middle
        lo, hi = (middle, hi) if 2 * coins.sum() > coins.size else (lo, middle)

    def make(t: int, rng: np.random.Generator) -> Explicit:
        values = [1.0, 0.0] if left_is_bad[t] else [0.0, 1.0]
        return Explicit(PiecewiseConstant([space.lo, middles[t], space.hi], values))

    return Stream(make, rounds, seed)


def _halvings(space: Interval) -> int:
    """Return how often the space can be halved in doubles, at any place."""
    spacing = np.spacing(max(abs(space.lo), abs(space.hi)))
    return max(1, int(math.log2(space.width / spacing)) - 2)
