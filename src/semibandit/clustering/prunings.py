"""The best k clusters of a tree."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.clustering.trees import Layout, layout

__all__ = ["best_pruning", "pruning_labels"]


def best_pruning(Z: FloatArray | Layout, costs: FloatArray, n_clusters: int) -> tuple[float, list[int]]:
    """Return the k clusters of a tree with the least sum of costs, by a dynamic programme in O(nk).

    Parameters
    ----------
    Z
        A linkage matrix, or its layout.
    costs
        The cost of each of the 2n - 1 clusters, by scipy's numbers.
    n_clusters
        k, from 1 to n.

    Returns
    -------
    The sum of costs, and the clusters from left to right in the dendrogram.

    Examples
    --------
    >>> Z = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 4]])
    >>> best_pruning(Z, np.array([0, 0, 0, 0, 1.0, 2.0, 9.0]), 3)
    (1.0, [4, 2, 3])
    """
    from semibandit.clustering._kernels import prune

    tree = layout(Z)
    n = tree.leaves.size
    k = check_clusters(n_clusters, n)
    costs = _validate.vector("costs", costs, length=2 * n - 1)
    best, split = prune(tree, costs, k)
    chosen, todo = [], [(2 * n - 2, k)]
    while todo:
        c, j = todo.pop()
        if j == 1:
            chosen.append(c)
        else:
            left, right = tree.children[c - n]
            todo += [(int(right), j - int(split[c, j])), (int(left), int(split[c, j]))]
    return float(best[-1, k]), chosen


def pruning_labels(Z: FloatArray | Layout, clusters: list[int]) -> IntArray:
    """Return the label of each point in a pruning; labels are numbered in the order of their first points.

    >>> pruning_labels(np.array([[0, 2, 1.0, 2], [1, 3, 1.0, 3]]), [3, 1])
    array([0, 1, 0])
    """
    tree = layout(Z)
    for c in _validate.iterable("clusters", clusters, "a list of scipy's numbers of clusters"):
        _validate.integer("clusters", c, low=0, high=tree.start.size - 1)
    labels = np.full(tree.leaves.size, -1, np.int64)
    members = [tree.leaves[tree.start[c] : tree.end[c]] for c in clusters]
    for label, points in enumerate(sorted(members, key=lambda points: int(points.min()))):
        labels[points] = label
    return labels


def check_clusters(n_clusters: int, n: int) -> int:
    """Return n_clusters, which must be an integer from 1 to n."""
    k = _validate.integer("n_clusters", n_clusters, low=1)
    if k > n:
        raise ValueError(f"n_clusters must be at most the number of points, {n}, got {k}")
    return k
