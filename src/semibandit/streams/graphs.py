"""Streams of graphs with weights, for independent sets."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.greedy.independent_set import IndependentSet
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, remade

__all__ = ["independent_set"]


@remade
def independent_set(
    rounds: int = 1000,
    *,
    vertices: int = 60,
    density: float = 0.1,
    pull: float = 0.6,
    adaptive: bool = False,
    space: Interval | None = None,
    loss: str = "normalised",
    seed: int = 0,
) -> Stream[IndependentSet]:
    """Random graphs of uneven degrees whose vertices weigh the more the more neighbours they have.

    Parameters
    ----------
    rounds
        The number of graphs.
    vertices
        The number of vertices of each graph.
    density
        The probability of an edge, on average. Vertices are active to different degrees, and an edge
        is as likely as both of its ends are active.
    pull
        Weights are (1 + deg)^pull times a factor uniform in [1/2, 3/2], independent of all else: their
        densities are bounded, so that critical values are dispersed.
    adaptive, space, loss
        What each `IndependentSet` gets.
    seed
        The seed of the stream.

    Examples
    --------
    >>> independent_set(rounds=2, vertices=30, seed=0)[1]
    IndependentSet(30 vertices, ... edges, static, Interval(lo=0.0, hi=2.0, margin=0.0))
    """
    _validate.integer("vertices", vertices, low=1)
    _validate.number("density", density, low=0.0, high=0.25)
    _validate.number("pull", pull)

    def make(t: int, rng: np.random.Generator) -> IndependentSet:
        activity = 2.0 * rng.random(vertices)  # products average to 1, and are at most 4
        likely = density * np.outer(activity, activity)
        edges = np.argwhere(np.triu(rng.random((vertices, vertices)) < likely, k=1))
        degree = np.bincount(edges.ravel(), minlength=vertices)
        weights = (1.0 + degree) ** pull * rng.uniform(0.5, 1.5, vertices)
        return IndependentSet(weights, edges, space, adaptive=adaptive, loss=loss)

    return Stream(make, rounds, seed)
