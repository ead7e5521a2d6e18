"""Hyperparameters of scikit-learn whose whole loss function follows from one fit.

Pruning a decision tree by its cost complexity makes a nested sequence of trees, and boosting a sequence of
ensembles. So one fit on a task gives the validation loss for every ccp_alpha, or every n_estimators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit._extras import needed
from semibandit._validate import FloatArray, IntArray
from semibandit.families.instance import interval_or
from semibandit.families.problem import Explicit
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

__all__ = ["path"]

_TIED = 1e-12  # relative difference of equal values of ccp_alpha


def path(
    estimator: Any, X: Any, y: Any, X_val: Any, y_val: Any, *, space: Interval | None = None
) -> Explicit:
    """Return a task as a problem: the validation loss as a function of a hyperparameter, from one fit.

    Parameters
    ----------
    estimator
        A decision tree: ρ is `ccp_alpha`. Or a boosting model with `staged_predict` (AdaBoost, gradient
        boosting): the number of estimators is ρ rounded down.
    X, y
        Training data. The estimator is cloned before it is fitted.
    X_val, y_val
        Validation data. The loss is the error rate of a classifier, and 1 - R² of a regressor, at most 1.
    space
        Range of ρ. Default: [0, 0.05] for the `ccp_alpha` of a classifier, and [1, n + 1] for n estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> path(DecisionTreeClassifier(random_state=0), X[::2], y[::2], X[1::2], y[1::2]).losses().compress()
    PiecewiseConstant([0.0, 0.02559..., 0.05], [0.04, 0.05333...])
    """
    with needed("path", "sklearn"):
        from sklearn.base import clone, is_classifier
    if hasattr(estimator, "cost_complexity_pruning_path"):
        if space is None and not is_classifier(estimator):
            raise ValueError(
                "space must be given for a regression tree: ccp_alpha has the scale of y squared"
            )
        space = interval_or((0.0, 0.05), space)
        fitted = clone(estimator).set_params(ccp_alpha=0.0).fit(X, y)
        starts, losses = _pruned(fitted, *_validation(X_val, y_val))
    elif hasattr(estimator, "staged_predict"):
        fitted = clone(estimator).fit(X, y)
        losses = _staged(fitted, *_validation(X_val, y_val))
        starts = np.arange(1.0, losses.size + 1.0)
        space = interval_or((1.0, losses.size + 1.0), space)
    else:
        raise TypeError(
            f"estimator must be a decision tree or have staged_predict, as boosting models, got {estimator!r}"
        )
    return Explicit(_on(space, starts, losses))


def _validation(X: Any, y: Any) -> tuple[Any, Any]:
    y = np.asarray(y)
    if y.ndim != 1 or not y.size or len(X) != y.size:
        raise ValueError(f"y_val must have a label for each row of X_val, got shape {y.shape}")
    return X, y


def _on(space: Interval, starts: FloatArray, losses: FloatArray) -> PiecewiseConstant:
    """Return the steps that begin at `starts`, restricted to a space."""
    first = max(int(np.searchsorted(starts, space.lo, side="right")) - 1, 0)
    inside = (starts > space.lo) & (starts < space.hi)
    edges = np.concatenate(([space.lo], starts[inside], [space.hi]))
    return PiecewiseConstant(edges, np.concatenate((losses[first : first + 1], losses[inside])))


def _errors(model: Any, predicted: Any, y: Any) -> FloatArray:
    """Return the part of each prediction in the loss, which is their sum."""
    from sklearn.base import is_classifier

    if is_classifier(model):
        return np.asarray(np.not_equal(predicted, y) / y.size, dtype=float)
    spread = float(((y - y.mean()) ** 2).sum())
    return np.asarray((predicted - y) ** 2 / (spread or 1.0), dtype=float)


def _staged(model: Any, X: Any, y: Any) -> FloatArray:
    """Return the loss after each stage of boosting."""
    found = [_errors(model, predicted, y).sum() for predicted in model.staged_predict(X)]
    return np.minimum(found, 1.0)


def _pruned(model: Any, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """Return the values of ccp_alpha at which the pruned tree changes, and the loss of each tree.

    The node with the weakest link is pruned first, as in scikit-learn.
    """
    tree = model.tree_
    parents: IntArray = np.full(tree.node_count, -1, dtype=np.int64)
    for children in (tree.children_left, tree.children_right):
        parents[children[children >= 0]] = np.flatnonzero(children >= 0)
    risks = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    below = np.stack([risks, np.ones_like(risks), _node_losses(model, X, y)])  # sums over leaves
    alone = below.copy()
    for node in range(tree.node_count - 1, -1, -1):  # children have larger numbers
        left, right = tree.children_left[node], tree.children_right[node]
        if left >= 0:
            below[:, node] = below[:, left] + below[:, right]
    inner = tree.children_left >= 0
    starts, losses = [0.0], [float(below[2, 0])]
    while inner[0]:
        links = np.full(tree.node_count, np.inf)
        links[inner] = (risks[inner] - below[0, inner]) / (below[1, inner] - 1.0)
        node = int(np.argmin(links))
        inner[_subtree(tree, node)] = False
        starts.append(max(float(links[node]), starts[-1]))
        change = alone[:, node] - below[:, node]
        while node >= 0:
            below[:, node] += change
            node = int(parents[node])
        losses.append(float(below[2, 0]))
    alphas = np.array(starts)
    last = np.append(np.diff(alphas) > _TIED * alphas[:-1], True)  # keep the last of the trees with one alpha
    return alphas[last], np.clip(np.array(losses)[last], 0.0, 1.0)


def _node_losses(model: Any, X: Any, y: Any) -> FloatArray:
    """Return the loss of the validation points in each node, if it is a leaf."""
    from sklearn.base import is_classifier

    value = model.tree_.value[:, 0, :]
    predicted = model.classes_[value.argmax(axis=1)] if is_classifier(model) else value[:, 0]
    paths = model.decision_path(X).tocoo()
    errors = _errors(model, predicted[:, None], y)[paths.col, paths.row]
    return np.asarray(np.bincount(paths.col, errors, minlength=model.tree_.node_count), dtype=float)


def _subtree(tree: Any, node: int) -> IntArray:
    """Return the nodes of a subtree: numbers are given depth first."""
    last = node
    while tree.children_right[last] >= 0:
        last = tree.children_right[last]
    return np.arange(node, last + 1)
