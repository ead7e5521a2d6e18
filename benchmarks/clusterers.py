"""Learned ρ-linkage beside other clusterers, on held-out tasks of scikit-learn's bundled data.

Run: python benchmarks/clusterers.py [compare] [--count 60] [--seeds 3]

A task is 20 random points of each of up to five classes. ρ is the best one of the training tasks: exactly,
and of 17 values for the mix of average and Ward. The error is the share of points in a wrong cluster, for the
best matching of clusters and classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from measure import run_parts, say, table
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist, squareform
from sklearn import datasets
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.preprocessing import StandardScaler

import semibandit as sb
from semibandit.sklearn import RhoLinkage

Task = tuple[Any, Any]
DATA = ("digits", "iris", "wine", "breast-cancer")
OURS = [
    (linkage, pruning)
    for linkage in ("single-complete", "average-complete")
    for pruning in ("cut", "k-means")
]


def tasks(name: str, count: int, seed: int) -> list[Task]:
    """Return tasks: points and classes."""
    X, y = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    if name in ("wine", "breast-cancer"):  # features of different units
        X = StandardScaler().fit_transform(X)
    rng, classes = np.random.default_rng(seed), np.unique(y)
    found = []
    for _ in range(count):
        chosen = rng.choice(classes, min(5, classes.size), replace=False)
        rows = np.concatenate([rng.choice(np.flatnonzero(y == c), 20, replace=False) for c in chosen])
        found.append((X[rows], np.searchsorted(np.sort(chosen), y[rows])))
    return found


def error(clusters: Any, classes: Any) -> float:
    """Return the share of misplaced points; noise (-1) is misplaced."""
    counts = np.zeros((max(clusters.max(), 0) + 1, classes.max() + 1))
    np.add.at(counts, (clusters[clusters >= 0], classes[clusters >= 0]), 1)
    return 1.0 - float(counts[linear_sum_assignment(-counts)].sum()) / classes.size


def learned(linkage: str, pruning: str, training: list[Task]) -> Callable[[Any, int], Any]:
    """Return ρ-linkage with the ρ that has the least mean error on the training tasks, exactly."""

    def losses(X: Any, y: Any) -> Any:
        k = int(y.max()) + 1
        model = RhoLinkage(n_clusters=k, linkage=linkage, pruning=pruning)

        def cost(D: Any, Z: Any) -> float:
            return error(model._labels(X, problem, Z, k), y)

        problem = sb.Linkage(pdist(X), cost, linkage, partition="sequence" if pruning == "cut" else "tree")
        return problem.losses()

    lo, hi = sb.PiecewiseConstant.sum([losses(X, y) for X, y in training]).argmin()
    rho = 0.5 * (lo + hi)
    say(f"{linkage}, {pruning}: ρ = {rho:.3f}")
    return lambda X, k: RhoLinkage(rho, k, linkage=linkage, pruning=pruning).fit_predict(X)


def average_ward(rho: Any, X: Any, n_clusters: int) -> Any:
    """Return clusters by (1 - ρ) · mean squared distance + ρ · Ward's distance."""
    average = squareform(pdist(X, "sqeuclidean"))
    ward, sizes = average.copy(), np.ones(len(X))
    labels, alive = np.arange(len(X)), np.arange(len(X))
    while alive.size > n_clusters:
        i, j = (alive[side] for side in np.triu_indices(alive.size, 1))
        closest = np.argmin((1 - rho) * average[i, j] + rho * ward[i, j])
        a, b = i[closest], j[closest]
        p, q = sizes[a], sizes[b]
        average[a] = average[:, a] = (p * average[a] + q * average[b]) / (p + q)
        merged = (p + sizes) * ward[a] + (q + sizes) * ward[b] - sizes * ward[a, b]
        ward[a] = ward[:, a] = merged / (p + q + sizes)
        sizes[a] += q
        labels[labels == b] = a
        alive = alive[alive != b]
    return np.unique(labels, return_inverse=True)[1]


def learned_ward(training: list[Task]) -> Callable[[Any, int], Any]:
    """Return the mix of average and Ward with the best of 17 values of ρ on the training tasks."""
    grid = np.linspace(0.0, 1.0, 17).tolist()
    losses = [[error(average_ward(r, X, int(y.max()) + 1), y) for r in grid] for X, y in training]
    rho = grid[int(np.mean(losses, axis=0).argmin())]
    say(f"average-Ward: ρ = {rho:.3f}")
    return lambda X, k: average_ward(rho, X, k)


def compare(count: int, seeds: int) -> None:
    rows = []
    for name in DATA:
        found: dict[str, list[float]] = {}
        for seed in range(seeds):
            training, test = tasks(name, count, 2 * seed), tasks(name, count, 2 * seed + 1)
            methods: dict[str, Callable[[Any, int], Any]] = {
                f"{linkage}, {pruning}": learned(linkage, pruning, training) for linkage, pruning in OURS
            }
            methods["average-Ward, cut"] = learned_ward(training)
            for kind in ("average", "complete", "ward"):
                methods[kind] = lambda X, k, kind=kind: AgglomerativeClustering(k, linkage=kind).fit_predict(
                    X
                )
            methods["k-means"] = lambda X, k: KMeans(k, n_init=10, random_state=0).fit_predict(X)
            methods["HDBSCAN"] = lambda X, k: HDBSCAN(min_cluster_size=5, copy=True).fit_predict(X)
            for method, cluster in methods.items():
                errors = [error(cluster(X, int(y.max()) + 1), y) for X, y in test]
                found.setdefault(method, []).append(float(np.mean(errors)))
        rows.append((name, *(f"{100 * np.mean(each):.1f}" for each in found.values())))
        say("  ".join(rows[-1]))
    table("methods", ("error in %", *found), rows)


if __name__ == "__main__":
    run_parts({"compare": compare}, __doc__, count=60, seeds=3)
