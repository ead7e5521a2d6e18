"""ρ-linkage as clusterers, with a fixed ρ or with one that is learned online."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from semibandit import _validate
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
from semibandit.functions.constant import PiecewiseConstant
from semibandit.learners.exp3_set import Exp3Set
from semibandit.sklearn.seeds import seed_of
from semibandit.spaces.interval import Interval

with needed("semibandit.sklearn", "sklearn"):
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["OnlineRhoLinkage", "RhoLinkage"]

_PRUNINGS: dict[str, Any] = {"k-means": KMeansCost, "k-median": KMedianCost}
_COSTS: dict[str, Any] = _PRUNINGS | {"dasgupta": lambda n_clusters: DasguptaCost()}
_METRICS = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}  # names of scipy
_UNLABELLED = -1


class _Clusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of both clusterers: distances between the points of X, and flat clusters of a tree."""

    linkage: str
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

    def _problem(self, X: FloatArray, cost: Any) -> Linkage:
        if self.metric == "precomputed":
            return Linkage(X, cost, self.linkage)
        from scipy.spatial.distance import pdist

        metric = _METRICS.get(self.metric, self.metric) if isinstance(self.metric, str) else self.metric
        return Linkage(pdist(X, metric), cost, self.linkage)

    def _labels(self, X: FloatArray, problem: Linkage, Z: FloatArray, n_clusters: int) -> IntArray:
        """Return the clusters, numbered by their least points, coordinate by coordinate."""
        if self.pruning != "cut" and self.pruning not in _PRUNINGS:
            raise ValueError(f"pruning must be 'cut', 'k-means' or 'k-median', got {self.pruning!r}")
        k = check_clusters(n_clusters, len(X))
        labels = (
            _cut(Z, k) if self.pruning == "cut" else _PRUNINGS[self.pruning](k).labels(problem.distances, Z)
        )
        order = np.arange(len(X)) if self.metric == "precomputed" else np.lexsort(X.T[::-1])
        _, first = np.unique(labels[order], return_index=True)
        return np.asarray(np.argsort(np.argsort(first))[labels])

    def _predicted(self, X: Any, rho: float, n_clusters: int) -> IntArray:
        X = self._checked(X, reset=False)
        if len(X) == 1:  # a cluster of its own: there are no distances
            return np.zeros(1, np.int64)
        problem = self._problem(X, DasguptaCost())
        return self._labels(X, problem, problem.tree(rho), min(n_clusters, len(X)))


def _cut(Z: FloatArray, n_clusters: int) -> IntArray:
    """Return the k clusters that are left after n - k merges."""
    n = Z.shape[0] + 1
    made = n + np.arange(n - n_clusters)
    used = Z[: n - n_clusters, :2].astype(np.int64)
    return pruning_labels(Z, np.setdiff1d(np.append(np.arange(n), made), used).tolist())


class RhoLinkage(_Clusterer):
    """Agglomerative clustering by the linkage (1 - ρ)·a + ρ·b.

    Parameters
    ----------
    rho
        Parameter, from 0 (the first linkage) to 1 (the second).
    n_clusters
        Number of flat clusters.
    linkage
        "single-complete", "average-complete" or "single-average".
    metric
        Metric of `scipy.spatial.distance.pdist`, also "manhattan", "l1" and "l2"; "precomputed" if X holds
        the distances.
    pruning
        The k clusters of the tree: "cut" takes those that are left after n - k merges, "k-means" and
        "k-median" those with the least cost.

    Attributes
    ----------
    labels_
        Cluster of each point; exactly k clusters, also with ties. Clusters are numbered by their least
        points: the numbers do not depend on the order of the points (except with precomputed distances).
    linkage_matrix_
        scipy's Z.
    children_
        The two clusters of each merge, as in `AgglomerativeClustering`.
    n_features_in_
        Number of features of X.

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
        """Cluster the points of X; y is ignored."""
        X = self._checked(X, ensure_min_samples=2)
        problem = self._problem(X, DasguptaCost())
        Z = problem.tree(self.rho)
        self.labels_ = self._labels(X, problem, Z, self.n_clusters)
        self.linkage_matrix_ = Z
        self.children_ = Z[:, :2].astype(np.int64)
        return self

    def predict(self, X: Any) -> IntArray:
        """Cluster the points of X on their own, with the same ρ; for scorers that call `predict`."""
        check_is_fitted(self, "labels_")
        return self._predicted(X, self.rho, self.n_clusters)


class OnlineRhoLinkage(_Clusterer):
    """ρ-linkage with a ρ that is learned from a sequence of data sets, by Exp3-SET.

    Parameters
    ----------
    n_clusters
        Number of flat clusters; None: the number of different labels of a data set, which must have labels.
    linkage, metric, pruning
        As in `RhoLinkage`.
    cost
        Loss of data sets without labels: "k-means", "k-median" or "dasgupta".
    random_state
        Seed of the learner: an integer, None, or a `numpy.random.RandomState` to draw it from.

    Attributes
    ----------
    learner_
        The learner.
    rho_
        ρ that the learner recommends.
    labels_, linkage_matrix_
        Clusters and tree of the last data set, for the ρ that was played.
    played_rho_, loss_
        ρ and loss of the last round.

    Notes
    -----
    The loss of a round is that of the *best* k clusters of the tree, as in theory. `predict` has no labels
    and takes the clusters of `pruning`. With pruning="k-means" or "k-median", and the same `cost`, both use
    the same clusters. Points with the label -1 are unlabelled, as elsewhere in scikit-learn: they take part
    in the clustering, but not in the loss.

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
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.pruning = pruning
        self.cost = cost
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any = None) -> OnlineRhoLinkage:
        """Play a round: draw ρ, cluster X with it, and learn from the labels y, or else from the cost."""
        first = not hasattr(self, "learner_")
        X = self._checked(X, reset=first, ensure_min_samples=2)
        cost, k = self._cost(y, len(X))
        problem = self._problem(X, cost)
        if first:
            self.learner_ = Exp3Set(Interval(0.0, 1.0), seed=seed_of(self.random_state))
        trial = self.learner_.ask()
        try:
            seen = problem.reveal(trial.rho)
            Z = problem.tree(trial.rho)
            labels = self._labels(X, problem, Z, k)
        except BaseException:
            self.learner_.forget(trial)
            raise
        self.learner_.tell(trial, seen)
        self.played_rho_, self.loss_ = trial.rho, seen(trial.rho)
        self.labels_, self.linkage_matrix_ = labels, Z
        self.rho_ = self.learner_.recommend().rho
        return self

    def fit(self, X: Any, y: Any = None) -> OnlineRhoLinkage:
        """Start with a new learner, and play one round on X."""
        if hasattr(self, "learner_"):
            del self.learner_
        return self.partial_fit(X, y)

    def fit_tasks(self, tasks: Iterable[Any]) -> OnlineRhoLinkage:
        """Learn from many data sets at once: pairs (X, y), with y = None for no labels.

        `rho_` is the value with the least mean loss, exactly; `partial_fit` goes on from there.
        """
        functions: list[Any] = []
        for X, y in _validate.iterable("tasks", tasks, "pairs (X, y)"):
            X = self._checked(X, reset=not functions, ensure_min_samples=2)
            cost, k = self._cost(y, len(X))
            functions.append(self._problem(X, cost).losses())
        if not functions:
            raise ValueError("tasks must hold at least one pair (X, y), got none")
        self.learner_ = Exp3Set(Interval(0.0, 1.0), seed=seed_of(self.random_state))
        self.learner_.learn_from(functions)
        lo, hi = PiecewiseConstant.sum(functions).argmin()
        self.rho_ = 0.5 * (lo + hi)
        problem = self._problem(X, cost)
        self.linkage_matrix_ = problem.tree(self.rho_)
        self.labels_ = self._labels(X, problem, self.linkage_matrix_, k)
        return self

    def predict(self, X: Any) -> IntArray:
        """Cluster the points of X with the recommended ρ, without learning."""
        check_is_fitted(self, "learner_")
        return self._predicted(X, self.rho_, self.n_clusters or int(self.labels_.max()) + 1)

    def _cost(self, y: Any, n_points: int) -> tuple[TreeCost | Callable[..., float], int]:
        """Return the cost of the tree of a data set, and the number of clusters."""
        if y is not None:
            return self._target(np.asarray(y), n_points)
        if self.n_clusters is None:
            raise ValueError("n_clusters must be given where there are no labels y")
        if self.cost not in _COSTS:
            raise ValueError(f"cost must be 'k-means', 'k-median' or 'dasgupta', got {self.cost!r}")
        return _COSTS[self.cost](self.n_clusters), self.n_clusters

    def _target(self, y: Any, n_points: int) -> tuple[TreeCost | Callable[..., float], int]:
        """Return the distance to the labels y, for the points that have one, and the number of clusters."""
        if y.shape != (n_points,):
            raise ValueError(f"y must have a label for each of the {n_points} points, got shape {y.shape}")
        labelled = np.flatnonzero(y != _UNLABELLED) if y.dtype.kind in "if" else np.arange(n_points)
        if labelled.size == 0:
            raise ValueError(f"y must have labels other than {_UNLABELLED}, which means unlabelled")
        y = y[labelled]
        matching = "hamming" if np.unique(y).size <= MOST_LABELS else "majority"
        k = None if self.n_clusters is None else min(self.n_clusters, y.size)
        target = TargetDistance(y, k, matching)
        if y.size == n_points:
            return target, target.n_clusters
        pairs = np.ix_(labelled, labelled)
        return (lambda D, Z: target(D[pairs], _restricted(Z, labelled))), self.n_clusters or target.n_clusters


def _restricted(Z: FloatArray, points: IntArray) -> FloatArray:
    """Return the tree that Z induces on some of its points, numbered in the order given."""
    n = Z.shape[0] + 1
    clusters = np.full(2 * n - 1, -1)  # in the new tree; -1: without any of the points
    clusters[points] = np.arange(points.size)
    sizes, rows = [1] * points.size, []
    for i, (a, b, height, _) in enumerate(Z):
        first, second = sorted((int(clusters[int(a)]), int(clusters[int(b)])))
        if first >= 0:
            clusters[n + i] = len(sizes)
            sizes.append(sizes[first] + sizes[second])
            rows.append((first, second, height, sizes[-1]))
        else:
            clusters[n + i] = second
    return np.array(rows, np.float64).reshape(-1, 4)
