import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

import semibandit as sb

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from semibandit.sklearn import OnlineRhoLinkage, OnlineThreshold, RhoLinkage

RANDOM = "an item of weight 2 is one round, two equal items are two with thresholds of their own"
RANDOM_ROUNDS = {f"check_sample_weight_equivalence_on_{kind}_data": RANDOM for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        RhoLinkage(),
        OnlineRhoLinkage(2, random_state=0),
        OnlineThreshold(LogisticRegression(), random_state=0),
    ],
    expected_failed_checks=lambda model: RANDOM_ROUNDS if isinstance(model, OnlineThreshold) else {},
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def blobs(seed, n=12, k=3):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(k), n)
    return 6.0 * rng.normal(size=(k, 2))[labels] + rng.normal(size=(n * k, 2)), labels


def test_many_tasks_at_once_give_the_exact_best_parameter():
    tasks = [blobs(seed) for seed in range(12)]
    model = OnlineRhoLinkage(3, random_state=0).fit_tasks(iter(tasks))
    problems = [sb.Linkage(pdist(X), sb.clustering.TargetDistance(y, 3)) for X, y in tasks]
    best = sb.best_in_hindsight(problems)
    assert np.mean([each.loss(model.rho_) for each in problems]) == pytest.approx(best.mean_loss)
    assert model.learner_.n_logged == 12
    X, y = blobs(50)
    np.testing.assert_array_equal(model.predict(X), RhoLinkage(model.rho_, 3).fit_predict(X))
    assert model.partial_fit(X, y).learner_.n_told == 1
    assert OnlineRhoLinkage(2).fit_tasks([(tasks[0][0], None)]).labels_.max() == 1


@pytest.mark.parametrize(("rho", "method"), [(0.0, "single"), (1.0, "complete")])
def test_rho_0_and_1_are_single_and_complete_linkage(rho, method):
    X, _ = blobs(0)
    for k in (1, 2, 5, 36):
        ours = RhoLinkage(rho, k).fit(X)
        theirs = AgglomerativeClustering(k, linkage=method).fit(X)
        assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
        assert len(set(ours.labels_)) == k
    assert np.array_equal(ours.linkage_matrix_, hierarchy.linkage(pdist(X), method))


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


# -- thresholds ------------------------------------------------------------------------------------------


def scored(seed, n=1000):
    """Scores and labels; the best threshold for costs 1 and 4 is where P(label = 1) = 1/5."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 1))
    return scores, (rng.random(n) < scores[:, 0]).astype(int)


@pytest.mark.parametrize("labels", ["flagged", "all"])
def test_the_threshold_that_costs_least_is_learned(labels):
    model = OnlineThreshold(false_alarm=1, miss=4, labels=labels, random_state=0)
    model.partial_fit(*scored(0, 3000))
    X, y = scored(1, 20_000)
    costs = [np.mean(np.where(X[:, 0] > t, 1.0 - y, 4.0 * y)) for t in (0.2, model.threshold_, 0.5)]
    assert costs[1] < 0.5 * (costs[0] + costs[2])
    assert costs[0] <= costs[1] + 0.01
    assert np.array_equal(model.predict(X), (X[:, 0] > model.threshold_).astype(int))
    assert model.learner_.n_told == 3000


def test_labels_of_items_that_are_not_flagged_do_not_matter():
    X, y = scored(2, 300)
    models = [OnlineThreshold(random_state=0).partial_fit(X, y) for _ in range(2)]
    X, y = scored(3, 100)
    flagged = [model.flag(X) for model in models]
    hidden = [np.where(mask, y, other) for mask, other in zip(flagged, (0, 1), strict=True)]
    thresholds = {
        model.partial_fit(X, labels).threshold_ for model, labels in zip(models, hidden, strict=True)
    }
    assert len(thresholds) == 1
    assert np.array_equal(models[0].flagged_, models[1].flagged_)


def test_the_first_fit_learns_from_each_item_before_the_next_one():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = np.clip(0.3 + 0.4 * y + rng.normal(0.0, 0.15, 200), 0.0, 1.0)[:, None]
    models = [OnlineThreshold(random_state=seed).fit(X, y) for seed in range(10)]
    right = np.array([model.flagged_ == y for model in models])
    assert right[:, 100:].mean() > 0.78  # uniform play: 0.74


def test_flag_is_answered_by_the_next_partial_fit():
    X, y = scored(4, 200)
    model = OnlineThreshold(random_state=0).partial_fit(X, y)
    flagged = model.flag(X)
    assert len(model.learner_.pending) == 200
    with pytest.raises(ValueError, match="X must be the 200 items of the last call of flag"):
        model.partial_fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="y must be 0 or 1 for flagged items"):
        model.partial_fit(X, np.full(200, 7))
    assert len(model.learner_.pending) == 200
    model.partial_fit(X, np.where(flagged, y, 7))
    assert np.array_equal(model.flagged_, flagged)
    assert model.learner_.pending == ()
    assert model.learner_.n_told == 400
    model.flag(X)
    model.flag(X[:3])  # replaces the items before
    assert len(model.learner_.pending) == 3


def test_weights_multiply_losses_and_zero_leaves_an_item_out():
    X, y = scored(6, 400)
    even = np.arange(400) % 2 == 0
    model = OnlineThreshold(random_state=0).partial_fit(X, y, sample_weight=even)
    assert model.learner_.n_told == 200
    heavy = OnlineThreshold(labels="all", random_state=0).fit(X, y, np.where(y == 1, 4.0, 1.0))
    light = OnlineThreshold(labels="all", random_state=0).fit(X, y)
    assert heavy.threshold_ < light.threshold_  # misses cost more


def test_scores_of_the_training_batch_come_from_other_items():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]
    forest = RandomForestClassifier(50, random_state=0)
    model = OnlineThreshold(forest, labels="all", random_state=0).fit(X, y)
    frozen = OnlineThreshold(FrozenEstimator(clone(forest).fit(X, y)), labels="all", random_state=0).fit(X, y)
    assert np.array_equal(model.estimator_.predict_proba(X), frozen.estimator_.predict_proba(X))
    assert model.threshold_ != frozen.threshold_
    assert model.score(X, y) > 0.9


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
