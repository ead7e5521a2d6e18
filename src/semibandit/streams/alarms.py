"""Streams of scored items for a threshold."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit._validate import FloatArray
from semibandit.families.threshold import Threshold
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["threshold"]


@pickled_as_call
def threshold(
    kind: str = "normal",
    rounds: int = 1000,
    *,
    false_alarm: float = 1.0,
    miss: float = 4.0,
    seed: int = 0,
) -> Stream[Threshold]:
    """Return items with a score and a label, one per round; only flagged items show their label.

    A flagged item has the loss 0 if it is positive and 1 if negative. An item that is not flagged has the
    constant loss miss / (false_alarm + miss). Up to a term that no threshold changes, this is the cost of
    errors divided by false_alarm + miss.

    Parameters
    ----------
    kind
        "normal": 20 % positives, scores Φ(x) with x normal around 1 for positives and -1 for negatives, of
        deviation 1. "breast-cancer": tumours of scikit-learn's data set, in random order with repetition; the
        score is the rank of the mean texture among all, which is a weak predictor. "phishing": web sites of
        the package `river` (only its data file is read) in the same way; the score is 1 - the mean of the
        nine features.
    rounds
        Number of items.
    false_alarm, miss
        Cost of a negative that is flagged, and of a positive that is not.
    seed
        Seed of the stream.

    Examples
    --------
    >>> threshold(rounds=2, seed=0)[1]
    Threshold(1 items, Interval(0.0, 1.0))
    """
    _validate.choice("kind", kind, ("normal", *_DATA))
    false_alarm = _validate.number("false_alarm", false_alarm, low=0.0, high=1e100, open=True)
    miss = _validate.number("miss", miss, low=0.0, high=1e100, open=True)
    quiet = miss / (false_alarm + miss)

    def make(t: int, rng: np.random.Generator) -> Threshold:
        if kind == "normal":
            from scipy.special import ndtr

            positive = bool(rng.random() < 0.2)
            score = float(ndtr(rng.normal(1.0 if positive else -1.0)))
        else:
            scores, labels = _DATA[kind]()
            i = int(rng.integers(scores.size))
            score, positive = float(scores[i]), bool(labels[i])
        return Threshold(score, 0.0 if positive else 1.0, quiet)

    return Stream(make, rounds, seed)


@cache
def _tumours() -> tuple[FloatArray, FloatArray]:
    """Return the relative rank of the mean texture of each tumour, and whether it is malignant."""
    with needed('kind="breast-cancer"', "sklearn"):
        from sklearn.datasets import load_breast_cancer

    data, target = load_breast_cancer(return_X_y=True)
    texture = data[:, 1]
    ranks = np.searchsorted(np.sort(texture), texture, side="left") / texture.size
    return ranks, np.asarray(target == 0, np.float64)


@cache
def _sites() -> tuple[FloatArray, FloatArray]:
    """Return 1 - the mean feature of each web site, and whether it is a phishing site."""
    with needed('kind="phishing"', "river"):
        found = find_spec("river")
        if found is None or found.origin is None:
            raise ModuleNotFoundError(name="river")
    table = np.loadtxt(Path(found.origin).parent / "datasets" / "phishing.csv.gz", delimiter=",", skiprows=1)
    return 1.0 - table[:, :-1].mean(axis=1), table[:, -1]


_DATA = {"breast-cancer": _tumours, "phishing": _sites}
