"""Streams of step functions on [0, 1], to test learners without an algorithm family.

`synthetic` is dispersed. `concentrated` and `halving` are not: the regret guarantee does not apply to them.
"""

from __future__ import annotations

import math

import numpy as np

from semibandit import _validate
from semibandit.families.problem import Explicit
from semibandit.functions.constant import PiecewiseConstant
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["concentrated", "halving", "synthetic"]

_BEST, _REACH = 0.37, 0.15  # place and width of the dip
_MAX_HALVINGS = 50  # of [0, 1] in doubles, at any place


@pickled_as_call
def synthetic(
    rounds: int = 1000,
    *,
    pieces: int = 10,
    gap: float = 0.3,
    spread: float = 1.0,
    drift: bool = False,
    seed: int = 0,
) -> Stream[Explicit]:
    """Return random piecewise constant losses on [0, 1] whose mean has a dip at one parameter.

    Parameters
    ----------
    rounds
        Number of functions.
    pieces
        Number of pieces of each function. The discontinuities are independent and uniform, of density
        1/spread: the stream is 1/2-dispersed.
    gap
        Depth of the dip in the mean loss.
    spread
        Length of the interval around the best parameter that contains the discontinuities.
    drift
        Whether the best parameter moves from 0.15 to 0.85 over the stream.
    seed
        Seed of the stream.

    Examples
    --------
    >>> stream = synthetic(rounds=3, pieces=4, seed=0)
    >>> [len(problem.losses()) for problem in stream]
    [4, 4, 4]
    """
    _validate.integer("pieces", pieces, low=1)
    _validate.boolean("drift", drift)
    _validate.integer("rounds", rounds, low=1)
    _validate.number("gap", gap, low=0.0, high=0.8)
    if _validate.number("spread", spread, low=0.0, high=1.0) == 0.0:
        raise ValueError("spread must be above 0, got 0.0")

    def make(t: int, rng: np.random.Generator) -> Explicit:
        best = 0.15 + 0.7 * t / rounds if drift else _BEST
        left = min(max(best - 0.5 * spread, 0.0), 1.0 - spread)
        edges = np.concatenate(([0.0], np.sort(left + spread * rng.random(pieces - 1)), [1.0]))
        edges = np.unique(edges)
        middles = 0.5 * (edges[1:] + edges[:-1])
        dip = np.exp(-0.5 * ((middles - best) / _REACH) ** 2)
        mean = 0.5 + 0.5 * gap - gap * dip
        noise = rng.uniform(-1.0, 1.0, middles.size) * np.minimum(mean, 1.0 - mean)
        return Explicit(PiecewiseConstant(edges, mean + noise))

    return Stream(make, rounds, seed)


@pickled_as_call
def concentrated(rounds: int = 1000, *, width: float = 1e-6, seed: int = 0) -> Stream[Explicit]:
    """Return losses of 1 except on a needle: all discontinuities lie within `width` around 0.37.

    Each function is 0 on an interval with random ends, one in each half of the needle, and 1 elsewhere.

    Notes
    -----
    The point 0.37 has a total loss of 0, but a uniform draw comes near it with a probability of `width` only:
    a learner on a grid loses every round. Full information finds the needle after one round, Exp3-SET after
    about ln(1/width)/λ, as it rules out the rest. D(T, ε) = T for every ε ≥ width.

    Examples
    --------
    >>> problem = concentrated(rounds=10)[3]
    >>> problem.loss(0.37), problem.loss(0.5)
    (0.0, 1.0)
    """
    half = _validate.number("width", width, low=0.0, open=True) / 2.0
    if not 0.0 < _BEST - half < _BEST < _BEST + half < 1.0:
        raise ValueError(f"{_BEST} ± width/2 must be distinct points inside (0, 1), got width = {width!r}")

    def make(t: int, rng: np.random.Generator) -> Explicit:
        left, right = half * (1.0 - 0.5 * rng.random(2))
        return Explicit(PiecewiseConstant([0.0, _BEST - left, _BEST + right, 1.0], [1.0, 0.0, 1.0]))

    return Stream(make, rounds, seed)


@pickled_as_call
def halving(rounds: int = 48, *, seed: int = 0) -> Stream[Explicit]:
    """Return the losses of the halving adversary: every learner loses 1/2 a round, one parameter nothing.

    Notes
    -----
    Start with the interval [0, 1]. Each round a fair coin picks one half of the interval; the loss is 1 on
    that side of the middle and 0 on the other, and the other half becomes the interval. Every learner, also
    with full information, loses 1/2 per round in expectation, and every point of the last interval loses
    nothing: the regret is T/2.

    Doubles allow 50 halvings. For more rounds each interval is kept for m rounds, with one coin each, and
    halved to the better side. The expected regret is then E|S_m|/2 per interval, for a random walk S_m of m
    steps: T/2 for m = 1, and at least √T.

    Examples
    --------
    >>> stream = halving(rounds=20, seed=1)
    >>> PiecewiseConstant.sum(problem.losses() for problem in stream).min()
    0.0
    """
    rounds = _validate.integer("rounds", rounds, low=1)
    # Another generator than that of a learner with the same seed, which would predict the coins.
    rng = np.random.default_rng([_validate.seed("seed", seed), 1])
    repeats = math.ceil(rounds / _MAX_HALVINGS)
    left_is_bad = rng.random(rounds) < 0.5
    middles = np.empty(rounds)
    lo, hi = 0.0, 1.0
    for begin in range(0, rounds, repeats):
        coins = left_is_bad[begin : begin + repeats]
        middles[begin : begin + repeats] = middle = 0.5 * (lo + hi)
        lo, hi = (middle, hi) if 2 * coins.sum() > coins.size else (lo, middle)

    def make(t: int, rng: np.random.Generator) -> Explicit:
        values = [1.0, 0.0] if left_is_bad[t] else [0.0, 1.0]
        return Explicit(PiecewiseConstant([0.0, middles[t], 1.0], values))

    return Stream(make, rounds, seed)
