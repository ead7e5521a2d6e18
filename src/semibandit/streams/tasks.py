"""Streams of supervised learning tasks, one model each, for `families.path`."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit.families.paths import path
from semibandit.families.problem import Explicit
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["path_tasks"]

_STAGES = 100


@pickled_as_call
def path_tasks(
    kind: str = "pruning", rounds: int = 300, *, data: str = "generated", size: int = 100, seed: int = 0
) -> Stream[Explicit]:
    """Return learning tasks with few labels, such as one model per shop or sensor. Needs the extra `sklearn`.

    Parameters
    ----------
    kind
        "pruning": ρ is the `ccp_alpha` of a decision tree in [0, 0.05]. "boosting": the number of stages of
        gradient boosting, from 1 to 100.
    rounds
        Number of tasks.
    data
        "generated": two classes, 8 features, a random share of up to 30 % of the labels is wrong.
        "breast-cancer", "wine", "digits": random subsets of scikit-learn's data.
    size
        Rows to train on, and as many to validate on (fewer if the data set is small).
    seed
        Seed of the stream.

    Examples
    --------
    >>> path_tasks(rounds=2, size=40, seed=0)[1].space
    Interval(0.0, 0.05)
    """
    _validate.choice("kind", kind, ("pruning", "boosting"))
    _validate.choice("data", data, ("generated", "breast-cancer", "wine", "digits"))
    _validate.integer("size", size, low=8)
    with needed("streams.path_tasks", "sklearn"):
        from sklearn import datasets

    def make(t: int, rng: np.random.Generator) -> Explicit:
        if data == "generated":
            X, y = datasets.make_classification(
                2 * size, 8, n_informative=4, flip_y=float(rng.uniform(0.0, 0.6)), class_sep=0.7,
                random_state=int(rng.integers(2**31)),
            )  # fmt: skip
        else:
            X, y = getattr(datasets, f"load_{data.replace('-', '_')}")(return_X_y=True)
        chosen = rng.permutation(len(y))[: 2 * size]
        train, test = chosen[::2], chosen[1::2]
        return path(_model(kind, int(rng.integers(2**31))), X[train], y[train], X[test], y[test])

    return Stream(make, rounds, seed)


def _model(kind: str, seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier

    if kind == "pruning":
        return DecisionTreeClassifier(random_state=seed)
    return GradientBoostingClassifier(n_estimators=_STAGES, random_state=seed)
