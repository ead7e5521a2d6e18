"""Cost of small instances from arrays to the result. Run: python benchmarks/overhead.py

Our side includes construction. The other side is a greedy run on given arrays, or fastcluster.
"""

from __future__ import annotations

from operator import methodcaller

import fastcluster
import numba
import numpy as np
from measure import at_most, ratio, run_parts
from scipy.spatial.distance import pdist

import semibandit as sb


@numba.njit(cache=True)
def greedy(values: np.ndarray, sizes: np.ndarray, capacity: float, rho: float) -> float:
    """Sort by the score, take what fits."""
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
        call = methodcaller(name, *(() if name == "losses" else (1.0,)))
        cost = ratio(
            lambda call=call: call(sb.Knapsack(values, sizes, 10.0)),
            lambda: greedy(values, sizes, 10.0, 1.0),
            calls=(calls, 2000),
        )
        at_most(f"`Knapsack` of 50 items, `{name}`, over a greedy run", cost, target)


def clusterings() -> None:
    for n, what, target, calls in ((1000, "tree", 1.0, 1), (1000, "reveal", 1.5, 1), (200, "tree", 2.5, 20)):
        distances = pdist(np.random.default_rng(0).normal(size=(n, 5)))
        cost = sb.clustering.TargetDistance(np.arange(n) % 3)
        value = ratio(
            lambda what=what, d=distances, cost=cost: getattr(sb.Linkage(d, cost), what)(0.5),
            lambda d=distances: fastcluster.complete(d),
            calls=(calls, calls),
        )
        at_most(f"`Linkage` of {n:,} points, `{what}`, over fastcluster", value, target)


if __name__ == "__main__":
    run_parts({"knapsacks": knapsacks, "clusterings": clusterings}, __doc__, "small-instances")
