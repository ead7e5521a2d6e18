"""Streams that are not dispersed: what the guarantee does not cover, to be seen failing."""

from __future__ import annotations

import math

import numpy as np

from semibandit import _validate
from semibandit.families.instance import interval_or
from semibandit.families.problem import Explicit
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, remade

__all__ = ["concentrated", "halving"]

_UNIT = Interval(0.0, 1.0)


@remade
def concentrated(
    rounds: int = 1000,
    *,
    space: Interval = _UNIT,
    center: float | None = None,
    width: float = 1e-6,
    seed: int = 0,
) -> Stream[Explicit]:
    """Losses of 1 but for a needle: all discontinuities lie within `width` around one point.

    Parameters
    ----------
    rounds, seed
        The number of functions, and the seed.
    space
        Where the parameter lives.
    center, width
        Each function is 0 from a random point of the left to a random point of the right half of the interval
        of this width around the center, and 1 elsewhere; None for the point 0.37 of the way.

    Notes
    -----
    The center has a total loss of 0, but only about one even draw in |space|/width comes near it: a learner
    on a grid loses everything. One that sees whole functions finds the needle at once, and Exp3-SET after
    some ln(|space|/width)/λ rounds, because the rest is seen to be bad. D(T, ε) = T for every ε ≥ width.

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


@remade
def halving(rounds: int = 48, *, space: Interval = _UNIT, seed: int = 0) -> Stream[Explicit]:
    """The halving adversary: no learner can do better than chance, some parameter is always right.

    Parameters
    ----------
    rounds, seed
        The number of functions, and the seed.
    space
        Where the parameter lives.

    Notes
    -----
    There is an interval, at first the space. Each round a fair coin picks one half of it; the loss is 1 on
    that side of the middle and 0 on the other, and the interval becomes the half with loss 0. Whatever a
    learner does, even when it sees whole functions, it loses 1/2 per round in expectation, while every point
    of the last interval loses nothing: the regret is T/2.

    Doubles can be halved only so often (50 times on [0, 1]). With more rounds than that, each interval is
    kept for m rounds, one coin each, and halved to the side that did better. The expected regret then is
    E|S_m|/2 for each interval, S_m being a random walk of m steps: T/2 for m = 1, and never below √T.

    Examples
    --------
    >>> stream = halving(rounds=20, seed=1)
    >>> PiecewiseConstant.sum(problem.losses() for problem in stream).min()
    0.0
    """
    space = interval_or((0.0, 1.0), space)
    rounds = _validate.integer("rounds", rounds, low=1)
    # Not the generator that a learner with the same seed has: it would know the coins.
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
    """How often the space can be halved before its doubles run out, wherever in it."""
    spacing = np.spacing(max(abs(space.lo), abs(space.hi)))
    return max(1, int(math.log2(space.width / spacing)) - 2)
