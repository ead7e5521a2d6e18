import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

import semibandit as sb

pytest.importorskip("sklearn")
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from semibandit.sklearn import OnlineRhoLinkage, RhoLinkage


@parametrize_with_checks(
    [
        RhoLinkage(),
        RhoLinkage(0.2, 3, linkage="average-complete", pruning="k-means"),
        OnlineRhoLinkage(2, random_state=0),
    ]
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def blobs(seed, n=12, k=3):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(k), n)
    return 6.0 * rng.normal(size=(k, 2))[labels] + rng.normal(size=(n * k, 2)), labels


@pytest.mark.parametrize(("rho", "method"), [(0.0, "single"), (1.0, "complete")])
def test_rho_0_and_1_are_single_and_complete_linkage(rho, method):
    X, _ = blobs(0)
    for k in (1, 2, 5, 36):
        ours = RhoLinkage(rho, k).fit(X)
        theirs = AgglomerativeClustering(k, linkage=method).fit(X)
        assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
        assert len(set(ours.labels_)) == k
    assert np.array_equal(ours.linkage_matrix_, hierarchy.linkage(pdist(X), method))


def test_precomputed_distances_and_prunings():
    X, _ = blobs(1)
    plain = RhoLinkage(0.4, 3).fit(X)
    given = RhoLinkage(0.4, 3, metric="precomputed").fit(squareform(pdist(X)))
    assert adjusted_rand_score(plain.labels_, given.labels_) == 1.0
    pruned = RhoLinkage(0.4, 3, pruning="k-means").fit(X)
    cost = sb.clustering.KMeansCost(3)
    assert adjusted_rand_score(pruned.labels_, cost.labels(pdist(X), plain.linkage_matrix_)) == 1.0


def test_ties_give_exactly_k_clusters():
    X = np.array([[i // 3, i % 3] for i in range(9)], dtype=float)
    for k in range(1, 10):
        assert len(set(RhoLinkage(0.5, k).fit_predict(X))) == k


def test_online_learns_the_better_parameter():
    stream = sb.streams.clustering("elongated", 60, seed=1)
    model = OnlineRhoLinkage(metric="precomputed", random_state=0)
    losses = []
    for problem in stream:
        model.partial_fit(problem.distances, problem.cost.target)
        losses.append(model.loss_)
        assert model.loss_ == problem.loss(model.played_rho_)
    assert 0.05 < model.rho_ < 0.7
    assert np.mean(losses[30:]) < np.mean([problem.loss(1.0) for problem in stream[30:]])
    predicted = model.predict(stream[0].distances)
    fixed = RhoLinkage(model.rho_, 3, metric="precomputed").fit_predict(stream[0].distances)
    assert np.array_equal(predicted, fixed)
    assert model.learner_.n_told == 60


@pytest.mark.parametrize("cost", ["k-means", "k-median", "dasgupta"])
def test_online_learns_without_labels(cost):
    model = OnlineRhoLinkage(3, random_state=3, cost=cost)
    for seed in range(4):
        X, _ = blobs(seed)
        assert len(set(model.partial_fit(X).predict(X))) == 3
    assert model.learner_.n_told == 4
    assert 0.0 <= model.loss_ <= 1.0
    assert model.fit(X).fit(X).learner_.n_told == 1  # fit starts anew
    majority = OnlineRhoLinkage(3, random_state=0).partial_fit(X, np.arange(36) % 15)
    assert 0.0 <= majority.loss_ <= 1.0


def test_bad_arguments_are_named():
    X, y = blobs(2)
    for fit, message in [
        (RhoLinkage(0.5, 37).fit, "n_clusters must be at most the number of points, 36, got 37"),
        (RhoLinkage(2.0).fit, r"rho must be in \[0, 1\], got 2.0"),
        (RhoLinkage(pruning="best").fit, "pruning must be 'cut'"),
        (OnlineRhoLinkage().partial_fit, "n_clusters must be given"),
        (OnlineRhoLinkage(2, cost="ward").partial_fit, "cost must be 'k-means'"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit(X)
    model = OnlineRhoLinkage(3, pruning="best", random_state=0)
    with pytest.raises(ValueError, match="pruning must be"):
        model.partial_fit(X, y)
    assert model.learner_.n_told == 0
    assert model.learner_.pending == ()
    with pytest.raises(ValueError, match="y must have a label for each of the 36 points, got shape"):
        OnlineRhoLinkage(3).partial_fit(X, y[:-1])


@pytest.mark.parametrize("model", [OnlineRhoLinkage(4, random_state=0), RhoLinkage(0.3, 4)])
def test_predictions_do_not_depend_on_the_order_of_points(model):
    rng = np.random.default_rng(0)
    points = rng.random((30, 2))
    labels = model.fit(points).predict(points)
    for _ in range(5):
        order = rng.permutation(30)
        assert np.array_equal(model.predict(points[order]), labels[order])


@pytest.mark.parametrize(
    ("metric", "same"), [("manhattan", "cityblock"), ("l1", "cityblock"), ("l2", "euclidean")]
)
def test_metrics_have_the_names_of_scikit_learn(metric, same):
    X, _ = blobs(4)
    ours, theirs = (RhoLinkage(0.3, 3, metric=name).fit(X) for name in (metric, same))
    assert np.array_equal(ours.linkage_matrix_, theirs.linkage_matrix_)


def test_random_state_may_be_a_random_state():
    X, y = blobs(5)
    models = [OnlineRhoLinkage(3, random_state=np.random.RandomState(seed)).fit(X, y) for seed in (0, 0, 1)]
    assert models[0].played_rho_ == models[1].played_rho_ != models[2].played_rho_


def test_grid_search_scores_by_name_without_warnings(recwarn):
    X, y = blobs(3)
    search = GridSearchCV(
        RhoLinkage(n_clusters=3), {"rho": [0.0, 1.0]}, scoring="adjusted_rand_score", cv=2
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert not list(recwarn)
    model = search.best_estimator_
    assert model.n_features_in_ == 2
    assert model.children_.tolist() == model.linkage_matrix_[:, :2].tolist()


def test_label_minus_one_means_unlabelled():
    X, y = blobs(6, n=5, k=2)
    partly = np.where(np.arange(10) % 4 == 1, -1, y)
    model = OnlineRhoLinkage(random_state=0).fit(X, partly)
    assert len(set(model.labels_)) == 2
    assert model.loss_ == OnlineRhoLinkage(random_state=0).fit(X, y).loss_ == 0.0
    wrong = np.array([0, 1, -1, -1, -1, -1, -1, -1, 0, 1])
    assert OnlineRhoLinkage(random_state=0).fit(X, wrong).loss_ > 0.0
    assert OnlineRhoLinkage(2, random_state=0).fit(X, np.where(np.arange(10) == 3, 5, -1)).loss_ == 0.0
    with pytest.raises(ValueError, match="y must have labels other than -1"):
        OnlineRhoLinkage(2).fit(X, np.full(10, -1))
