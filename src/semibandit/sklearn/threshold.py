"""A threshold on a score, learned online, as a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.solution import BoolArray
from semibandit.families.threshold import Threshold
from semibandit.functions.constant import PiecewiseConstant
from semibandit.learners.exp3_set import Exp3Set
from semibandit.learners.storage import dumps, loads
from semibandit.learners.trials import Trial
from semibandit.sklearn.seeds import seed_of
from semibandit.spaces.interval import Interval

with needed("semibandit.sklearn", "sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.model_selection import StratifiedKFold
    from sklearn.utils import _safe_indexing, get_tags
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import (
        _check_sample_weight,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
        indexable,
        validate_data,
    )

__all__ = ["OnlineThreshold"]

_FOLDS = 5


class OnlineThreshold(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Binary classifier by a threshold on a score, learned by Exp3-SET from the labels of flagged items.

    Parameters
    ----------
    estimator
        Binary classifier with `predict_proba` or `decision_function`, which gives the score. It is trained by
        `fit`, or by the first `partial_fit`; wrap a trained one in `sklearn.frozen.FrozenEstimator`. None: X
        has one column, the score, in [0, 1].
    false_alarm, miss
        Cost of a flagged item of the first class, and of an item of the second class that is not flagged.
    labels
        "flagged": learn from the labels of flagged items only. "all": learn from all labels.
    random_state
        Seed of the learner: an integer, None, or a `numpy.random.RandomState` to draw it from.

    Attributes
    ----------
    classes_
        The two classes; items of the second are to be flagged.
    estimator_
        The trained estimator, or None.
    learner_
        The learner.
    threshold_
        Recommended threshold. The score is a probability, or the logistic function of `decision_function`.
    flagged_
        Items of the last batch that were flagged by the thresholds that were played.

    Notes
    -----
    Each item is a round with a threshold of its own. Its loss (see `Threshold`) is multiplied by its weight.
    The scores of the batch that trains the estimator come from five-fold cross-validation, if each class has
    at least two items.

    Examples
    --------
    >>> model = OnlineThreshold(miss=4.0, random_state=0)
    >>> scores = np.linspace(0.0, 1.0, 200)[:, None]
    >>> model = model.partial_fit(scores, np.where(scores[:, 0] > 0.6, "fraud", "fine"))
    >>> model.predict([[0.1], [0.9]])
    array(['fine', 'fraud'], dtype='<U5')
    >>> mask = model.flag([[0.2], [0.7]])  # in use: flag, inspect what was flagged, then learn
    >>> model = model.partial_fit([[0.2], [0.7]], np.where(mask, ["fine", "fraud"], "unknown"))
    """

    learner_: Exp3Set

    def __init__(
        self,
        estimator: Any = None,
        *,
        false_alarm: float = 1.0,
        miss: float = 1.0,
        labels: str = "flagged",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.false_alarm = false_alarm
        self.miss = miss
        self.labels = labels
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self.estimator is not None and get_tags(self.estimator).input_tags.sparse
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineThreshold:
        """Train the estimator, start with a new learner, and play a round with each item."""
        for name in ("learner_", "_pending"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> OnlineThreshold:
        """Play a round with each item; the first call trains the estimator.

        Labels of items that are not flagged are ignored, unless labels="all". To know which items are flagged
        before labels are known, call `flag(X)` first. `classes` are the two classes, for a first batch
        without labels of both.
        """
        quiet = self._checked_costs()
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not hasattr(self, "learner_"):
            self.classes_ = _two_classes(y if classes is None else classes)
            scores = self._train(X, y, None if sample_weight is None else weights)
            learner = Exp3Set(Interval(0.0, 1.0), seed=seed_of(self.random_state))
        else:
            scores, learner = self._scores(self.estimator_, X), self.learner_
        self.learner_, self.flagged_ = self._play(learner, scores, y, weights, quiet)
        self.threshold_ = self.learner_.recommend().rho
        return self

    def flag(self, X: Any) -> BoolArray:
        """Draw a threshold for each item and return which are flagged; `partial_fit` takes the labels."""
        check_is_fitted(self, "learner_")
        scores = self._scores(self.estimator_, X)
        for trial in self.__dict__.pop("_pending", ([], None))[0]:
            self.learner_.forget(trial)
        self._pending = [self.learner_.ask() for _ in scores], scores
        return _is_above(scores, self._pending[0])

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score minus the recommended threshold."""
        check_is_fitted(self, "learner_")
        return self._scores(self.estimator_, X) - self.threshold_

    def predict(self, X: Any) -> Any:
        """Return the second class for items above the recommended threshold, else the first."""
        is_above = self.decision_function(X) > 0.0
        return self.classes_[is_above.astype(int)]

    def _checked_costs(self) -> float:
        """Check the parameters; return the constant loss of items that are not flagged."""
        _validate.choice("labels", self.labels, ("flagged", "all"))
        false_alarm = _validate.number("false_alarm", self.false_alarm, low=0.0, high=1e100, open=True)
        miss = _validate.number("miss", self.miss, low=0.0, high=1e100, open=True)
        return miss / (false_alarm + miss)

    def _train(self, X: Any, y: Any, weights: FloatArray | None) -> FloatArray:
        """Train the estimator; return scores of X by estimators that were trained on other items."""
        if self.estimator is None:
            self.estimator_ = None
            return self._scores(None, X, reset=True)

        def fitted(items: IntArray) -> Any:
            options = {}
            if weights is not None and has_fit_parameter(self.estimator, "sample_weight"):
                options["sample_weight"] = weights[items]
            return clone(self.estimator).fit(_safe_indexing(X, items), y[items], **options)

        model = fitted(np.arange(y.size))
        folds = min(_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
        scores = self._scores(model, X)
        if folds > 1:
            for train, test in StratifiedKFold(folds).split(np.zeros(y.size), y):
                scores[test] = self._scores(fitted(train), _safe_indexing(X, test))
        self.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return scores

    def _scores(self, estimator: Any, X: Any, *, reset: bool = False) -> FloatArray:
        """Return the score of each item, in [0, 1]."""
        if estimator is None:
            scores = np.asarray(validate_data(self, X, dtype=np.float64, reset=reset))
            if scores.shape[1] != 1 or scores.min() < 0.0 or scores.max() > 1.0:
                raise ValueError(f"X must have one column of scores in [0, 1], got shape {scores.shape}")
            return scores[:, 0]
        if hasattr(estimator, "predict_proba"):
            return np.array(estimator.predict_proba(X)[:, 1], np.float64)
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * np.asarray(estimator.decision_function(X), np.float64)))

    def _play(
        self, learner: Exp3Set, scores: FloatArray, y: Any, weights: FloatArray, quiet: float
    ) -> tuple[Exp3Set, BoolArray]:
        """Learn from a batch; return the learner, and which items were flagged.

        Without a call of `flag` items are played one by one, by a copy: labels may turn out to be missing.
        """
        pending = self.__dict__.get("_pending")
        if pending and not np.array_equal(pending[1], scores):
            raise ValueError(f"X must be the {pending[1].size} items of the last call of flag")
        positive, always = y == self.classes_[1], self.labels == "all"
        known = positive | (y == self.classes_[0])
        if pending:
            flagged = _is_above(scores, pending[0])
            self._check_labels(known[flagged | always])
        else:
            flagged, learner = np.zeros(scores.size, np.bool_), loads(dumps(learner))
        for i, (score, weight) in enumerate(zip(scores.tolist(), weights.tolist(), strict=True)):
            trial = pending[0][i] if pending else learner.ask()
            flagged[i] = score > trial.rho
            if flagged[i] or always:
                self._check_labels(known[i])
            item = Threshold(score, 0.0 if positive[i] else 1.0, quiet)
            seen = item.reveal(trial.rho) if self.labels == "flagged" else item.losses()
            if weight > 0.0:
                learner.tell(trial, PiecewiseConstant(seen.edges, weight * seen.values))
            else:
                learner.forget(trial)
        self.__dict__.pop("_pending", None)
        return learner, flagged

    def _check_labels(self, known: Any) -> None:
        if not np.all(known):
            which = "flagged" if self.labels == "flagged" else "all"
            raise ValueError(f"y must be {' or '.join(map(repr, self.classes_.tolist()))} for {which} items")


def _is_above(scores: FloatArray, trials: list[Trial]) -> BoolArray:
    return np.asarray(scores > np.array([trial.rho for trial in trials]))


def _two_classes(y: Any) -> Any:
    """Return the two classes of y."""
    classes = np.unique(y)
    check_classification_targets(classes)
    if classes.size > 2:
        kind = type_of_target(classes, input_name="y")
        raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
    if classes.size < 2:
        raise ValueError(f"y must have two classes, or classes must be given, got one class: {classes}")
    return classes
