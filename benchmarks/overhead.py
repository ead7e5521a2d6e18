"""What a user pays for small instances, from arrays to the answer. Run: python benchmarks/overhead.py

Construction is included on our side, and not on the other: a greedy run on ready arrays, fastcluster.
"""

from __future__ import annotations

import fastcluster
import numba
import numpy as np
from measure import at_most, ratio, run_parts
from scipy.spatial.distance import pdist

import semibandit as sb


@numba.njit(cache=True)
def greedy(values: np.ndarray, sizes: np.ndarray, capacity: float, rho: float) -> float:
    """The plain run: sort by the score, take what fits."""
    total = 0.0
    for item in np.argsort(-values / sizes**rho):
        if sizes[item] <= capacity:
            capacity -= sizes[item]
            total += values[item]
    return total


def knapsacks() -> None:
    random = np.random.default_rng(0)
    values, sizes = random.random(50), random.random(50) + 0.1
    for name, target, calls in (("loss", 12.0, 500), ("reveal", 18.0, 500), ("losses", 30.0, 100)):
        arguments = () if name == "losses" else (1.0,)
        figure = ratio(
            lambda name=name, arguments=arguments: getattr(sb.Knapsack(values, sizes, 10.0), name)(
                *arguments
            ),
            lambda: greedy(values, sizes, 10.0, 1.0),
            calls=(calls, 2000),
        )
        at_most(f"`Knapsack` of 50 items, `{name}`, over a greedy run", figure, target)


def clusterings() -> None:
    for n, what, target in ((1000, "tree", 1.0), (1000, "reveal", 1.5), (200, "tree", 2.5)):
        distances = pdist(np.random.default_rng(0).normal(size=(n, 5)))
        cost = sb.clustering.TargetDistance(np.arange(n) % 3)
        figure = ratio(
            lambda what=what, d=distances, cost=cost: getattr(sb.Linkage(d, cost), what)(0.5),
            lambda d=distances: fastcluster.complete(d),
            calls=(1, 1) if n == 1000 else (20, 20),
        )
        at_most(f"`Linkage` of {n:,} points, `{what}`, over fastcluster", figure, target)


if __name__ == "__main__":
    run_parts(
        {
            "knapsacks": knapsacks,
            "clusterings": clusterings,
        },
        __doc__,
        "small-instances",
    )
