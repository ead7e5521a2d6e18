"""Distance of the best pruning of a tree from a known clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.clustering.costs import TreeCost
from semibandit.clustering.prunings import best_pruning, check_clusters
from semibandit.clustering.trees import Layout

__all__ = ["MOST_LABELS", "TargetDistance"]

#: The most labels that are matched one to one with clusters.
MOST_LABELS = 12
_MOST_STATES = 1 << 27


class TargetDistance(TreeCost):
    """The share of points that the best k-pruning of the tree puts into a wrong cluster.

    Parameters
    ----------
    labels
        The target clustering: a label (of any kind) for each point.
    n_clusters
        k; by default the number of different labels.
    matching
        Which label a cluster stands for. "hamming": each label for at most one cluster; the best pruning and
        matching are found together by a dynamic programme over sets of labels, O(n 2^L L) for L ≤ 12 labels.
        "majority": the most frequent label of the cluster, which several clusters may share; O(nL + nk).

    Attributes
    ----------
    target
        The labels, numbered from 0.

    Examples
    --------
    >>> Z = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 4]])
    >>> TargetDistance(["a", "a", "b", "a"])(np.ones((4, 4)), Z)
    0.25
    """

    needs_distances = False

    def __init__(self, labels: Any, n_clusters: int | None = None, matching: str = "hamming") -> None:
        array = np.asarray(labels)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"labels must be one-dimensional and not empty, got shape {array.shape}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError("labels must not be nan")
        self.matching = _validate.choice("matching", matching, ("hamming", "majority"))
        try:
            names, codes = np.unique(array, return_inverse=True)
        except TypeError:
            raise TypeError(f"labels must be of one kind, to be sorted, got {labels!r}") from None
        self.target = codes.astype(np.int64)
        self._n_labels = names.size
        self.n_clusters = check_clusters(names.size if n_clusters is None else n_clusters, array.size)
        if matching == "hamming":
            self._check_states(array.size)
            # Sets of labels, as bits, that the clusters of a complete pruning can be matched with.
            taken = np.array([s.bit_count() for s in range(1 << self._n_labels)])
            self._full = taken == min(self.n_clusters, self._n_labels)

    def _check_states(self, n: int) -> None:
        limit = f"at most {MOST_LABELS} different labels" if self._n_labels > MOST_LABELS else ""
        if (n + 1) * (self._spare + 1) << self._n_labels > _MOST_STATES:
            limit = limit or f"(n + 1)·(spare clusters + 1)·2^labels up to {_MOST_STATES}"
        if limit:
            raise ValueError(
                f'matching="hamming" takes {limit}, got {self._n_labels} labels, {self.n_clusters} clusters '
                f'and {n} points; matching="majority" takes any number'
            )

    @property
    def _spare(self) -> int:
        """The number of clusters without a label."""
        return max(self.n_clusters - self._n_labels, 0)

    def __repr__(self) -> str:
        return f"TargetDistance({self._n_labels} labels, {self.n_clusters}, {self.matching!r})"

    def check(self, n: int) -> None:
        """Raise if there is not a label for each of n points."""
        if self.target.size != n:
            raise ValueError(f"labels must have one entry for each of the {n} points, got {self.target.size}")

    def of_layout(self, D: FloatArray, tree: Layout) -> float:
        """Return the share of wrong points."""
        from semibandit.clustering._kernels import label_counts, match

        n, counts = self.target.size, label_counts(tree, self.target, self._n_labels)
        if self.matching == "majority":
            return best_pruning(tree, tree.sizes - counts.max(axis=1), self.n_clusters)[0] / n
        return (n - int(match(tree, counts, self._spare)[n, self._full, self._spare].max())) / n
