"""Streams of clustering instances: labelled points for ρ-linkage."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit._validate import FloatArray, IntArray
from semibandit.clustering import TargetDistance
from semibandit.families.linkage.linkage import Linkage
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["clustering"]

# Length and thickness of strips at distance 1, and points on the bridge between two of them. The bridges
# mislead single linkage, the length misleads complete linkage.
_LENGTH, _THICKNESS, _BRIDGE = 1.5, 0.05, 3
_SPREAD = 2.2  # of the means of a Gaussian mixture, in standard deviations of its parts

_DATA = {"digits": "digits", "iris": "iris", "wine": "wine", "breast-cancer": "breast_cancer"}
_KINDS = ("elongated", "gaussian", *_DATA)


@pickled_as_call
def clustering(
    kind: str = "elongated",
    rounds: int = 500,
    *,
    n_classes: int = 3,
    per_class: int = 20,
    smooth: float = 0.0,
    linkage: str = "single-complete",
    partition: str = "tree",
    seed: int = 0,
) -> Stream[Linkage]:
    """Return a stream of labelled points for ρ-linkage.

    Parameters
    ----------
    kind
        "elongated": parallel strips with a few points in between, on which an interior ρ is clearly better
        than both ends. "gaussian": round clusters that overlap a little. "digits", "iris", "wine",
        "breast-cancer": random classes and points of scikit-learn's data (standardised, except for digits).
    rounds
        Number of instances.
    n_classes, per_class
        Number of classes, and of points of each.
    smooth
        Width of independent uniform noise on each distance, in mean distances: the stream is κ-smooth with
        κ = 1 / (smooth · mean distance).
    linkage, partition
        Arguments of each `Linkage`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> problem = clustering("elongated", rounds=2, seed=0)[1]
    >>> problem.losses().min() < 0.5 * min(problem.loss(0.0), problem.loss(1.0))
    True
    """
    _validate.choice("kind", kind, _KINDS)
    _validate.integer("n_classes", n_classes, low=1)
    _validate.integer("per_class", per_class, low=1)
    _validate.number("smooth", smooth, low=0.0)
    if kind in _DATA:
        _check_data(kind, n_classes, per_class)

    def make(t: int, rng: np.random.Generator) -> Linkage:
        from scipy.spatial.distance import pdist

        if kind == "elongated":
            points, labels = _strips(n_classes, per_class, rng)
        elif kind == "gaussian":
            points, labels = _mixture(n_classes, per_class, rng)
        else:
            points, labels = _sample(kind, n_classes, per_class, rng)
        distances = pdist(points)
        if smooth > 0.0:
            distances += smooth * distances.mean() * rng.random(distances.size)
        return Linkage(distances, TargetDistance(labels), linkage, partition=partition)

    return Stream(make, rounds, seed)


def _strips(n_classes: int, per_class: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return parallel strips, joined by bridges whose points belong to the nearer strip."""
    labels = np.repeat(np.arange(n_classes), per_class)
    across = _LENGTH * rng.uniform(-0.5, 0.5, labels.size)
    strips = np.column_stack((across, labels + _THICKNESS * rng.normal(size=labels.size)))
    height = np.arange(1, _BRIDGE + 1) / (_BRIDGE + 1)
    below = np.repeat(np.arange(n_classes - 1), _BRIDGE)
    place = np.repeat(_LENGTH * rng.uniform(-0.4, 0.4, n_classes - 1), _BRIDGE)
    up = np.tile(height, n_classes - 1)
    bridges = np.column_stack((place + _THICKNESS * rng.normal(size=up.size), below + up))
    return np.concatenate((strips, bridges)), np.concatenate((labels, below + (up >= 0.5)))


def _mixture(n_classes: int, per_class: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    labels = np.repeat(np.arange(n_classes), per_class)
    means = _SPREAD * np.sqrt(n_classes) * rng.normal(size=(n_classes, 2))
    return means[labels] + rng.normal(size=(labels.size, 2)), labels


def _sample(
    kind: str, n_classes: int, per_class: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    points, labels = _data(kind)
    classes = rng.choice(np.unique(labels), n_classes, replace=False)
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(labels == c), per_class, replace=False) for c in classes]
    )
    return points[chosen], labels[chosen]


@lru_cache(maxsize=4)
def _data(kind: str) -> tuple[FloatArray, IntArray]:
    with needed(f"the {kind} stream", "sklearn"):
        from sklearn import datasets
    points, labels = getattr(datasets, f"load_{_DATA[kind]}")(return_X_y=True)
    if kind != "digits":
        points = (points - points.mean(axis=0)) / points.std(axis=0)
    return points, labels.astype(np.int64)


def _check_data(kind: str, n_classes: int, per_class: int) -> None:
    _, counts = np.unique(_data(kind)[1], return_counts=True)
    if n_classes > counts.size:
        raise ValueError(f"n_classes must be at most {counts.size} for {kind}, got {n_classes}")
    if per_class > counts.min():
        raise ValueError(f"per_class must be at most {counts.min()} for {kind}, got {per_class}")
