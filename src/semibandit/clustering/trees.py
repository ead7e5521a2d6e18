"""Cluster trees laid out on a line, so that each cluster is a range of leaves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray

__all__ = ["Layout", "diameters", "layout", "square", "trusted_layout"]


class Layout(NamedTuple):
    """A tree over n points. Cluster c (scipy's number) holds the points leaves[start[c]:end[c]]."""

    children: IntArray  # of cluster n + t in row t
    leaves: IntArray
    start: IntArray
    end: IntArray

    @property
    def sizes(self) -> IntArray:
        """The number of points of each cluster."""
        return self.end - self.start


def layout(Z: FloatArray) -> Layout:
    """Lay out a linkage matrix: leaves in dendrogram order, clusters as ranges. O(n).

    >>> layout(np.array([[0, 2, 1.0, 2], [1, 3, 2.0, 3]])).leaves
    array([1, 0, 2])
    """
    Z = _validate.floats("Z", Z, "a linkage matrix")
    if Z.ndim != 2 or Z.shape[1] != 4:
        raise ValueError(f"Z must be a linkage matrix with 4 columns, got shape {Z.shape}")
    n = Z.shape[0] + 1
    with np.errstate(invalid="ignore"):
        children = np.ascontiguousarray(Z[:, :2]).astype(np.int64)
    # Each cluster but the last must be merged once, after it was made.
    if not (
        np.array_equal(children, Z[:, :2])
        and np.array_equal(np.sort(children, axis=None), np.arange(2 * n - 2))
        and (children.max(axis=1, initial=-1) < n + np.arange(n - 1)).all()
    ):
        raise ValueError("Z must merge each cluster exactly once, after it was made, got another matrix")
    return trusted_layout(children)


def trusted_layout(children: IntArray) -> Layout:
    """Lay out a valid tree from the first two columns of Z. O(n)."""
    from semibandit.clustering._kernels import lay_out

    return Layout(children, *lay_out(children))


def diameters(distances: FloatArray, tree: Layout) -> FloatArray:
    """Return the largest distance within each cluster. O(n²)."""
    from semibandit.clustering._kernels import largest_within

    if not isinstance(tree, Layout):
        raise TypeError(f"tree must be a Layout, as returned by layout(Z), got {tree!r}")
    return largest_within(square(distances, tree.leaves.size), tree)


def square(distances: Any, n: int) -> FloatArray:
    """Return the distances of n points as a matrix, from one or from scipy's condensed form."""
    D = _validate.floats("distances", distances, "a matrix of numbers")
    if D.ndim == 1 and D.size == n * (n - 1) // 2:
        from scipy.spatial.distance import squareform

        D = squareform(D) if n > 1 else np.zeros((1, 1))
    if D.shape != (n, n):
        raise ValueError(f"distances must be those of the {n} points of Z, got shape {D.shape}")
    if not np.isfinite(D.sum()) and not np.isfinite(D).all():  # the sum may overflow
        raise ValueError(f"distances must be finite, got {D[~np.isfinite(D)][0]!s}")
    return np.ascontiguousarray(D)
