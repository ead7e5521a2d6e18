"""Costs of cluster trees: callables (distances, Z) -> [0, 1]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.clustering.prunings import best_pruning, check_clusters, pruning_labels
from semibandit.clustering.trees import Layout, layout, square

__all__ = ["DasguptaCost", "KMeansCost", "KMedianCost", "TreeCost"]


class TreeCost(ABC):
    """A cost that depends on the shape of the tree and on the distances, not on the heights."""

    #: Whether the distances matter, and not the tree alone.
    needs_distances = True

    def __call__(self, distances: Any, Z: FloatArray) -> float:
        """Return the cost of the tree Z over points with these distances (square or condensed)."""
        D, tree = self._read(distances, Z)
        return self.of_layout(D, tree)

    def check(self, n: int) -> None:  # noqa: B027 -- most costs fit any number of points
        """Raise if the cost does not fit n points."""

    @abstractmethod
    def of_layout(self, D: FloatArray, tree: Layout) -> float:
        """Return the cost of a tree that is laid out, over a square matrix; without checks."""

    def _read(self, distances: Any, Z: FloatArray) -> tuple[FloatArray, Layout]:
        tree = layout(Z)
        n = tree.leaves.size
        D = square(distances, n)
        self.check(n)
        return D, tree


class _PruningCost(TreeCost):
    """The least total cost of k clusters of the tree, relative to that of all points as one cluster."""

    def __init__(self, n_clusters: int) -> None:
        self.n_clusters = _validate.integer("n_clusters", n_clusters, low=1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_clusters})"

    def check(self, n: int) -> None:
        """Raise if there are fewer than k points."""
        check_clusters(self.n_clusters, n)

    def labels(self, distances: Any, Z: FloatArray) -> IntArray:
        """Return the best k-pruning, as a label for each point."""
        D, tree = self._read(distances, Z)
        return pruning_labels(tree, best_pruning(tree, self._cluster_costs(D, tree), self.n_clusters)[1])

    def of_layout(self, D: FloatArray, tree: Layout) -> float:
        """Return the least cost of k clusters, relative to that of one."""
        costs = self._cluster_costs(D, tree)
        least, _ = best_pruning(tree, costs, self.n_clusters)
        # Splitting lowers the cost of Euclidean points; other distances may raise it.
        return min(1.0, least / float(costs[-1])) if costs[-1] > 0.0 else 0.0

    @abstractmethod
    def _cluster_costs(self, D: FloatArray, tree: Layout) -> FloatArray: ...


class KMeansCost(_PruningCost):
    """The k-means cost of the best k-pruning, relative to the cost of a single cluster.

    The k-means cost of a cluster C, its sum of squared distances to the mean, is Σ d(i, j)² / |C| over its
    pairs: it needs the distances alone. Distances that are not Euclidean may put the ratio above 1; it is
    cut off there. O(n² + nk) per tree.
    """

    def _cluster_costs(self, D: FloatArray, tree: Layout) -> FloatArray:
        from semibandit.clustering._kernels import sums_within

        return sums_within(D, tree) / tree.sizes


class KMedianCost(_PruningCost):
    """The k-median cost of the best k-pruning, relative to the cost of a single cluster.

    The cost of a cluster is the sum of distances to its medoid, the member that makes this sum smallest.
    Distances that are not a metric may put the ratio above 1; it is cut off there.
    O(n² + nk) per tree.
    """

    def _cluster_costs(self, D: FloatArray, tree: Layout) -> FloatArray:
        from semibandit.clustering._kernels import medoid_costs

        return medoid_costs(D, tree)


class DasguptaCost(TreeCost):
    """Dasgupta's cost for distances: low if far points are separated near the root. 0 is best.

    A pair is worth its distance times the size of the smallest cluster that holds both; the cost is one
    minus the total worth, relative to the worth if every pair were separated at the root. O(n²) per tree.
    """

    def __repr__(self) -> str:
        return "DasguptaCost()"

    def of_layout(self, D: FloatArray, tree: Layout) -> float:
        """Return the cost of the splits, relative to the worst."""
        from semibandit.clustering._kernels import joined_sums

        n = tree.leaves.size
        joined = joined_sums(D, tree, 1)
        most = n * float(joined.sum())
        return 1.0 - min(1.0, float(joined @ tree.sizes[n:]) / most) if most > 0.0 else 0.0
