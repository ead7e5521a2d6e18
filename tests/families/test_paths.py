"""Whole loss functions of one fit, compared with a fit for each value."""

import numpy as np
import pytest

import semibandit as sb

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

path = sb.families.path
TREES = {
    "digits": (DecisionTreeClassifier(random_state=0), load_digits, None),
    "large leaves": (DecisionTreeClassifier(random_state=0, min_samples_leaf=3), load_digits, None),
    "entropy": (DecisionTreeClassifier(criterion="entropy", random_state=1), load_breast_cancer, None),
    "weights": (DecisionTreeClassifier(class_weight={0: 3, 1: 1}, random_state=1), load_breast_cancer, None),
    "regression": (DecisionTreeRegressor(random_state=0), load_diabetes, sb.Interval(0, 500)),
    "inner range": (DecisionTreeRegressor(random_state=0), load_diabetes, sb.Interval(50, 5000)),
}
BOOSTED = {
    "trees": (GradientBoostingRegressor(n_estimators=12, random_state=0), load_diabetes),
    "histograms": (HistGradientBoostingClassifier(max_iter=5, random_state=0), load_breast_cancer),
    "AdaBoost": (AdaBoostClassifier(n_estimators=8, random_state=0), load_breast_cancer),
}


def halves(load):
    X, y = load(return_X_y=True)
    return X[::2][:200], y[::2][:200], X[1::2][:200], y[1::2][:200]


def loss(model, X_val, y_val):
    return min(1.0 - model.score(X_val, y_val), 1.0)


@pytest.mark.parametrize("name", TREES)
def test_pruned_trees_are_those_of_a_fit_for_each_alpha(name):
    tree, load, space = TREES[name]
    X, y, X_val, y_val = halves(load)
    function = path(tree, X, y, X_val, y_val, space=space).losses()
    assert tree.ccp_alpha == 0.0
    assert len(function) > 3
    for lo, hi, value in zip(function.edges, function.edges[1:], function.values, strict=False):
        fitted = type(tree)(**tree.get_params() | {"ccp_alpha": 0.5 * (lo + hi)}).fit(X, y)
        assert value == pytest.approx(loss(fitted, X_val, y_val), abs=1e-12)


@pytest.mark.parametrize("name", BOOSTED)
def test_stages_are_those_of_a_fit_for_each_number(name):
    model, load = BOOSTED[name]
    X, y, X_val, y_val = halves(load)
    problem = path(model, X, y, X_val, y_val)
    parameter = "max_iter" if name == "histograms" else "n_estimators"
    n = model.get_params()[parameter]
    assert problem.space == sb.Interval(1, n + 1)
    for k in range(1, n + 1, 3):
        fitted = type(model)(**model.get_params() | {parameter: k}).fit(X, y)
        assert (
            problem.loss(k) == problem.loss(k + 0.7) == pytest.approx(loss(fitted, X_val, y_val), abs=1e-12)
        )


@pytest.mark.parametrize("options", [{}, {"kind": "boosting"}, {"data": "wine"}, {"data": "digits"}])
def test_streams_keep_the_contract(options):
    sb.testing.check_problem(sb.streams.path_tasks(rounds=2, size=30, seed=1, **options)[1], n_points=20)


def test_other_estimators_and_shapes_are_refused():
    X, y, X_val, y_val = halves(load_diabetes)
    with pytest.raises(TypeError, match="decision tree or have staged_predict"):
        path(RandomForestClassifier(), X, y, X_val, y_val)
    with pytest.raises(ValueError, match="space must be given"):
        path(DecisionTreeRegressor(), X, y, X_val, y_val)
    with pytest.raises(ValueError, match="y_val must have a label for each row"):
        path(DecisionTreeRegressor(), X, y, X_val, y_val[:3], space=sb.Interval(0, 1))


def test_best_alpha_over_tasks_beats_no_pruning():
    tasks = sb.streams.path_tasks(rounds=30, seed=0)
    best = sb.best_in_hindsight(tasks)
    assert best.mean_loss < np.mean([task.loss(0.0) for task in tasks]) - 0.005
