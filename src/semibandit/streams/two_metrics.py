"""Streams of handwritten digits with two metrics: pixels, and an embedding learned from half the classes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._extras import needed
from semibandit._validate import FloatArray
from semibandit.clustering.target import TargetDistance
from semibandit.families.linkage.metric import MetricLinkage
from semibandit.spaces.interval import Interval
from semibandit.spaces.strips import Strips
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["digits_two_metrics"]

_LABELLED = 20  # digits of each odd class to learn the embedding from
_SIZES = (2, 4, 20)


@pickled_as_call
def digits_two_metrics(
    rounds: int = 1000,
    sizes: tuple[int, ...] = _SIZES,
    seed: int = 0,
    *,
    kappa: float | None = 100.0,
    n_rows: int | None = None,
    partition: str = "tree",
) -> Stream[MetricLinkage]:
    """Return clusterings of handwritten digits with two metrics.

    Each instance has digits (8 × 8 pixels, from scikit-learn) of random classes; a good clustering recovers
    them. d0 is the distance of the pixels. d1 is the distance of a linear discriminant embedding, learned
    once from 20 digits of each odd class, which are in no instance. Both have a mean of 1.

    Parameters
    ----------
    rounds
        Number of instances.
    sizes
        Number of digits of each class in an instance.
    seed
        Seed of the stream.
    kappa
        Density of independent uniform noise on each distance, as Theorem 14 requires; None for no noise.
    n_rows
        Number of rows of α. Default: that of `Strips` for this many rounds.
    partition
        Argument of each `MetricLinkage`.

    Examples
    --------
    >>> stream = digits_two_metrics(rounds=10, sizes=(4, 5, 6))
    >>> stream[3]
    MetricLinkage(15 points, TargetDistance(3 labels, 3, 'hamming'), 3 rows)
    """
    _validate.integer("rounds", rounds, low=1)
    sizes = _validate.iterable("sizes", sizes, "a tuple of integers")
    sizes = tuple(_validate.integer("sizes", size, low=1) for size in sizes)
    if not 1 <= len(sizes) <= 10:
        raise ValueError(f"sizes must have 1 to 10 entries, got {len(sizes)}")
    noise = 0.0 if kappa is None else 1.0 / _validate.number("kappa", kappa, low=1.0)
    space = Strips(n_rows, Interval(0.0, 1.0), horizon=rounds)
    pixels, embedded, classes = embedded_digits()
    if max(sizes) > min(map(len, classes)):
        raise ValueError(f"sizes must be at most {min(map(len, classes))}, got {max(sizes)}")

    def make(t: int, rng: np.random.Generator) -> MetricLinkage:
        chosen = rng.choice(10, len(sizes), replace=False)
        points = [rng.choice(classes[c], size, replace=False) for c, size in zip(chosen, sizes, strict=True)]
        index = np.concatenate(points)
        d0, d1 = (_distances(vectors[index], noise, rng) for vectors in (pixels, embedded))
        cost = TargetDistance(np.repeat(chosen, sizes))
        return MetricLinkage(d0, d1, cost, space=space, partition=partition)

    return Stream(make, rounds, seed)


def _distances(vectors: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    from scipy.spatial.distance import pdist, squareform

    condensed = pdist(vectors)
    condensed /= condensed.mean()
    condensed += noise * rng.random(condensed.size)
    square: FloatArray = squareform(condensed)
    return square


@lru_cache(maxsize=1)
def embedded_digits() -> tuple[FloatArray, FloatArray, tuple[npt.NDArray[np.int64], ...]]:
    """Return the pixels, the embedding, and the digits of each class that instances may contain."""
    with needed("the stream of digits", "sklearn"):
        from sklearn.datasets import load_digits
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    pixels, labels = load_digits(return_X_y=True)
    members = [np.random.default_rng(c).permutation(np.flatnonzero(labels == c)) for c in range(10)]
    labelled = np.concatenate([points[:_LABELLED] for points in members[1::2]])
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.3)
    embedded = model.fit(pixels[labelled], labels[labelled]).transform(pixels)
    return pixels, embedded, tuple(points[_LABELLED:] for points in members)
