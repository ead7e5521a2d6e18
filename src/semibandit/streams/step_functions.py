"""Random step functions: the plainest stream there is, to look at learners alone."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.problem import Explicit
from semibandit.functions.constant import PiecewiseConstant
from semibandit.streams.stream import Stream, remade

__all__ = ["synthetic"]

_BEST, _REACH = 0.37, 0.15


@remade
def synthetic(
    rounds: int = 1000,
    *,
    pieces: int = 10,
    gap: float = 0.3,
    spread: float = 1.0,
    drift: bool = False,
    seed: int = 0,
) -> Stream[Explicit]:
    """Random piecewise constant losses on [0, 1] whose mean dips around one parameter.

    Parameters
    ----------
    rounds
        The number of functions.
    pieces
        The number of pieces of each function. The discontinuities are independent and uniform, so with a
        density of at most 1/spread: the stream is 1/2-dispersed.
    gap
        How far the mean loss at the best parameter lies below the mean loss far from it.
    spread
        The discontinuities lie in an interval of this length around the best parameter; below 1 the stream
        is less dispersed there.
    drift
        The best parameter wanders from one side to the other over the stream.
    seed
        The seed of the stream.

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
    _validate.number("spread", spread, low=0.0, high=1.0)
    if spread == 0.0:
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
