"""Streams of random step functions, to test learners without an algorithm family."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.problem import Explicit
from semibandit.functions.constant import PiecewiseConstant
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["synthetic"]

_BEST, _REACH = 0.37, 0.15  # place and width of the dip


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
