"""Streams of point sets for seeding."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.seeding import Seeding
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["seeding"]


@pickled_as_call
def seeding(
    rounds: int = 1000,
    *,
    points: int = 100,
    clusters: int = 5,
    outliers: float = 0.02,
    iterations: int = 0,
    space: Interval | None = None,
    seed: int = 0,
) -> Stream[Seeding]:
    """Return Gaussian clusters of uneven sizes with outliers.

    Parameters
    ----------
    rounds
        Number of point sets.
    points, clusters
        Size of each set, in the plane. Centres are uniform in a square of side 10; clusters have a standard
        deviation of 1/2.
    outliers
        Share of points that are uniform in a square of side 30 instead: they mislead large exponents.
    iterations, space
        Arguments of each `Seeding`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> seeding(rounds=2, seed=0)[1]
    Seeding(100 points in 2 dimensions, 5 clusters, Interval(0.0, 20.0))
    """
    _validate.integer("points", points, low=1)
    _validate.integer("clusters", clusters, low=1)
    _validate.number("outliers", outliers, low=0.0, high=1.0)

    def make(t: int, rng: np.random.Generator) -> Seeding:
        centers = rng.uniform(-5.0, 5.0, (clusters, 2))
        sizes = rng.dirichlet(np.ones(clusters))
        places = centers[rng.choice(clusters, points, p=sizes)] + rng.normal(0.0, 0.5, (points, 2))
        far = rng.random(points) < outliers
        places[far] = rng.uniform(-15.0, 15.0, (int(far.sum()), 2))
        return Seeding(places, clusters, space, uniforms=rng.random(clusters), iterations=iterations)

    return Stream(make, rounds, seed)
