"""ρ-linkage as scikit-learn clusterers: with a given ρ, and with one that is learned online.

Needs the `sklearn` extra.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit._extras import needed
from semibandit._validate import FloatArray, IntArray
from semibandit.clustering import (
    DasguptaCost,
    KMeansCost,
    KMedianCost,
    TargetDistance,
    TreeCost,
    pruning_labels,
)
from semibandit.clustering.prunings import check_clusters
from semibandit.clustering.target import MOST_LABELS
from semibandit.families.linkage.linkage import Linkage
from semibandit.learners.exp3_set import Exp3Set
from semibandit.spaces.interval import Interval

with needed("semibandit.sklearn", "sklearn"):
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["OnlineRhoLinkage", "RhoLinkage"]

_PRUNINGS = {"k-means": KMeansCost, "k-median": KMedianCost}


class _Clusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """What the clusterers share: distances between the points of X, and flat clusters of a tree."""

    metric: Any
    pruning: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _checked(self, X: Any, **rules: Any) -> FloatArray:
        try:
            return np.asarray(validate_data(self, X, dtype=np.float64, **rules))
        except OverflowError:
            raise ValueError("X must hold numbers, got an integer beyond floats") from None

    def _distances(self, X: Any, *, reset: bool) -> FloatArray:
        X = self._checked(X, reset=reset, ensure_min_samples=2)
        if self.metric == "precomputed":
            return np.asarray(X)
        from scipy.spatial.distance import pdist

        return np.asarray(pdist(X, self.metric))

    def _labels(self, problem: Linkage, Z: FloatArray, n_clusters: int) -> IntArray:
        if self.pruning == "cut":
            return _cut(Z, n_clusters)
        if self.pruning not in _PRUNINGS:
            raise ValueError(f"pruning must be 'cut', 'k-means' or 'k-median', got {self.pruning!r}")
        return _PRUNINGS[self.pruning](n_clusters).labels(problem.distances, Z)


def _cut(Z: FloatArray, n_clusters: int) -> IntArray:
    """The clusters that are there when the merges have left k of them."""
    n = Z.shape[0] + 1
    made = n + np.arange(n - n_clusters)
    used = Z[: n - n_clusters, :2].astype(np.int64)
    return pruning_labels(Z, np.setdiff1d(np.append(np.arange(n), made), used).tolist())


class RhoLinkage(_Clusterer):
    """Agglomerative clustering by the linkage (1 - ρ)·a + ρ·b.

    Parameters
    ----------
    rho
        The parameter, from 0 (the first linkage) to 1 (the second).
    n_clusters
        The number of flat clusters.
    linkage
        "single-complete", "average-complete" or "single-average".
    metric
        A metric as `scipy.spatial.distance.pdist` takes it, or "precomputed" where X holds the distances.
    pruning
        Which k clusters of the tree: "cut", those that are there when the merges have left k; "k-means" or
        "k-median", those with the least cost.

    Attributes
    ----------
    labels_
        The cluster of each point; exactly k of them, whatever the ties.
    linkage_matrix_
        scipy's Z.
    children_
        The two clusters of each merge, as in `AgglomerativeClustering`.
    n_features_in_
        The number of features of X.

    Examples
    --------
    >>> RhoLinkage(rho=0.3, n_clusters=2).fit_predict([[0.0], [1.0], [5.0], [6.0]])
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        rho: float = 0.5,
        n_clusters: int = 2,
        *,
        linkage: str = "single-complete",
        metric: Any = "euclidean",
        pruning: str = "cut",
    ) -> None:
        self.rho = rho
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.pruning = pruning

    def fit(self, X: Any, y: Any = None) -> RhoLinkage:
        """Cluster the points of X; y is not used."""
        problem = Linkage(self._distances(X, reset=True), DasguptaCost(), self.linkage)
        k = check_clusters(self.n_clusters, problem.distances.shape[0])
        Z = problem.tree(self.rho)
        self.labels_ = self._labels(problem, Z, k)
        self.linkage_matrix_ = Z
        self.children_ = Z[:, :2].astype(np.int64)
        return self


class OnlineRhoLinkage(_Clusterer):
    """ρ-linkage with a ρ that is learned from one data set after the other, by Exp3-SET.

    Parameters
    ----------
    n_clusters
        The number of flat clusters; None: as many as a data set has labels, which needs labels.
    linkage, metric, pruning
        The same as for `RhoLinkage`.
    cost
        What to learn from where there are no labels: "k-means", "k-median" or "dasgupta".
    learner
        An `Exp3Set` on [0, 1] to go on with; None: a new one.
    random_state
        The seed of a new learner.

    Attributes
    ----------
    learner_
        The learner.
    rho_
        The ρ that the learner recommends now.
    labels_, linkage_matrix_
        The clusters and the tree of the last data set, with the ρ that was played on it.
    played_rho_, loss_
        The ρ and the loss of the last round.

    Notes
    -----
    A round is judged by its tree, as in theory: the loss is that of the *best* k clusters of the tree.
    `predict` has no labels to choose them by and follows `pruning`. With pruning="k-means" or "k-median", and
    the same `cost`, both use one rule.

    Examples
    --------
    >>> import semibandit as sb
    >>> model = OnlineRhoLinkage(n_clusters=2, random_state=0)
    >>> for shift in range(3):
    ...     model = model.partial_fit([[0.0], [1.0 + shift], [5.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.0], [1.0], [5.0], [6.0]])
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: str = "single-complete",
        metric: Any = "euclidean",
        pruning: str = "cut",
        cost: str = "k-means",
        learner: Exp3Set | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.pruning = pruning
        self.cost = cost
        self.learner = learner
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any = None) -> OnlineRhoLinkage:
        """Play a round: draw ρ, cluster X with it, learn from the labels y or else from the cost."""
        first = not hasattr(self, "learner_")
        distances = self._distances(X, reset=first)
        cost, k = self._cost(y, np.shape(X)[0])
        problem = Linkage(distances, cost, self.linkage)
        if first:
            self.learner_ = self.learner or Exp3Set(Interval(0.0, 1.0), seed=self.random_state)
        trial = self.learner_.ask()
        try:
            seen = problem.reveal(trial.rho)
            Z = problem.tree(trial.rho)
            labels = self._labels(problem, Z, k)
        except BaseException:
            self.learner_.forget(trial)
            raise
        self.learner_.tell(trial, seen)
        self.played_rho_, self.loss_ = trial.rho, seen(trial.rho)
        self.labels_, self.linkage_matrix_ = self._numbered(labels, X), Z
        self.rho_ = self.learner_.recommend().rho
        return self

    def fit(self, X: Any, y: Any = None) -> OnlineRhoLinkage:
        """Start anew, with one round on X."""
        if hasattr(self, "learner_"):
            del self.learner_
        return self.partial_fit(X, y)

    def predict(self, X: Any) -> IntArray:
        """Cluster the points of X with the recommended ρ; nothing is learned.

        Clusters are numbered by their least points, coordinate by coordinate: the order of the points in X
        plays no part (but with precomputed distances).
        """
        check_is_fitted(self, "learner_")
        X = self._checked(X, reset=False)
        if len(X) == 1:  # which has no distances, and is a cluster of its own
            return np.zeros(1, np.int64)
        k = self.n_clusters if self.n_clusters is not None else int(self.labels_.max()) + 1
        fixed = RhoLinkage(
            self.rho_, min(k, len(X)), linkage=self.linkage, metric=self.metric, pruning=self.pruning
        )
        return self._numbered(fixed.fit(X).labels_, X)

    def _numbered(self, labels: IntArray, X: Any) -> IntArray:
        """The same clusters, numbered by their least points: as they appear when points are sorted."""
        if self.metric == "precomputed":
            return labels
        order = np.lexsort(np.asarray(X, np.float64).T[::-1])
        _, first = np.unique(labels[order], return_index=True)
        return np.asarray(np.argsort(np.argsort(first))[labels])

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> IntArray:
        """Play a round on X, then cluster it with the ρ that is recommended after it."""
        return self.partial_fit(X, y).predict(X)

    def _cost(self, y: Any, n_points: int) -> tuple[TreeCost, int]:
        """What the tree of a data set costs, and the number of clusters."""
        if y is not None:
            y = np.asarray(y)
            if y.shape != (n_points,):
                raise ValueError(
                    f"y must have a label for each of the {n_points} points, got shape {y.shape}"
                )
            different = np.unique(y).size
            matching = "hamming" if different <= MOST_LABELS else "majority"
            target = TargetDistance(y, self.n_clusters, matching)
            return target, target.n_clusters
        if self.n_clusters is None:
            raise ValueError("n_clusters must be given where there are no labels y")
        if self.cost == "dasgupta":
            return DasguptaCost(), self.n_clusters
        if self.cost not in _PRUNINGS:
            raise ValueError(f"cost must be 'k-means', 'k-median' or 'dasgupta', got {self.cost!r}")
        return _PRUNINGS[self.cost](self.n_clusters), self.n_clusters
