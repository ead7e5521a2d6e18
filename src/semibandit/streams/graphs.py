"""Streams of weighted graphs for independent sets and cuts."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.greedy.independent_set import IndependentSet
from semibandit.families.max_cut import MaxCut
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["independent_set", "max_cut"]

_PULL = 0.6


@pickled_as_call
def independent_set(
    rounds: int = 1000,
    *,
    vertices: int = 60,
    density: float = 0.1,
    adaptive: bool = False,
    space: Interval | None = None,
    loss: str = "normalised",
    seed: int = 0,
) -> Stream[IndependentSet]:
    """Return random graphs of uneven degrees, with weights that grow with the degree.

    Weights are (1 + deg)^0.6 times an independent uniform factor in [1/2, 3/2], so that their densities are
    bounded and critical values dispersed.

    Parameters
    ----------
    rounds
        Number of graphs.
    vertices
        Number of vertices of each graph.
    density
        Mean probability of an edge, at most 1/4. It is proportional to the product of the random activities
        of both vertices.
    adaptive, space, loss
        Arguments of each `IndependentSet`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> independent_set(rounds=2, vertices=30, seed=0)[1]
    IndependentSet(30 vertices, ... edges, static, Interval(0.0, 2.0))
    """
    _validate.integer("vertices", vertices, low=1)
    _validate.number("density", density, low=0.0, high=0.25)

    def make(t: int, rng: np.random.Generator) -> IndependentSet:
        activity = 2.0 * rng.random(vertices)  # products have mean 1 and are at most 4
        likely = density * np.outer(activity, activity)
        edges = np.argwhere(np.triu(rng.random((vertices, vertices)) < likely, k=1))
        degree = np.bincount(edges.ravel(), minlength=vertices)
        weights = (1.0 + degree) ** _PULL * rng.uniform(0.5, 1.5, vertices)
        return IndependentSet(weights, edges, space, adaptive=adaptive, loss=loss)

    return Stream(make, rounds, seed)


@pickled_as_call
def max_cut(
    kind: str = "random",
    rounds: int = 500,
    *,
    vertices: int = 30,
    density: float = 0.3,
    rounding: str = "s-linear",
    space: Interval | None = None,
    partition: str = "output",
    seed: int = 0,
) -> Stream[MaxCut]:
    """Return random graphs to be cut.

    Parameters
    ----------
    kind
        "random": edges with uniform weights in [0, 1], on which rounding by a hyperplane (ρ = 0) is good.
        "groups": complete graphs with three random groups of vertices, of weights around 1 between groups and
        1/2 inside, times a uniform factor in [0.9, 1.1]. The relaxation puts a group on one point, and a
        random hyperplane never cuts it.
    rounds
        Number of graphs.
    vertices
        Number of vertices of each graph.
    density
        Probability of an edge of a "random" graph.
    rounding, space, partition
        Arguments of each `MaxCut`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> max_cut(rounds=2, seed=0)[1]
    MaxCut(30 vertices, 's-linear', Interval(0.0, 4.0))
    """
    _validate.choice("kind", kind, ("random", "groups"))
    _validate.integer("vertices", vertices, low=1)
    _validate.number("density", density, low=0.0, high=1.0)

    def make(t: int, rng: np.random.Generator) -> MaxCut:
        shape = vertices, vertices
        if kind == "random":
            weights = (rng.random(shape) < density) * rng.random(shape)
        else:
            group = rng.integers(3, size=vertices)
            weights = np.where(group[:, None] == group, 0.5, 1.0) * rng.uniform(0.9, 1.1, shape)
        upper = np.triu(weights, k=1)
        drawn = int(rng.integers(2**32))
        return MaxCut(upper + upper.T, space, rounding=rounding, partition=partition, seed=drawn)

    return Stream(make, rounds, seed)
