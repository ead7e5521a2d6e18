"""Handwritten digits with two metrics: pixels, and an embedding learned from labels of half the classes."""

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
from semibandit.streams.stream import Stream, remade

__all__ = ["digits_two_metrics"]

_LABELLED = 20  # digits of each odd class that the embedding is learned from
_SIZES = (2, 4, 20)


@remade
def digits_two_metrics(
    rounds: int = 1000,
    sizes: tuple[int, ...] = _SIZES,
    seed: int = 0,
    *,
    kappa: float | None = 100.0,
    n_rows: int | None = None,
    partition: str = "tree",
) -> Stream[MetricLinkage]:
    """Clusterings of handwritten digits; which mix of metrics, which linkage?

    Each instance has some of the ten classes of scikit-learn's digits (8 × 8 pixels), of different sizes, and
    asks for the classes again. d0 is the distance of the pixels. d1 is that of a linear discriminant
    embedding, learned once from 20 labelled digits of each odd class, which are in no instance: of the even
    ones it knows nothing. Both have a mean of 1.

    Parameters
    ----------
    rounds
        The number of instances.
    sizes
        The number of digits of each class in an instance; the classes are drawn anew.
    seed
        The seed of the stream.
    kappa
        Each distance has independent uniform noise of this density (Theorem 14 asks for smoothness); None for
        the distances as they are.
    n_rows
        The number of rows of α; by default what `Strips` takes for this many rounds.
    partition
        What the feedback sets of each `MetricLinkage` keep together.

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
    """The pixels, the embedding, and the digits of each class that instances may have."""
    with needed("the stream of digits", "sklearn"):
        from sklearn.datasets import load_digits
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    pixels, labels = load_digits(return_X_y=True)
    members = [np.random.default_rng(c).permutation(np.flatnonzero(labels == c)) for c in range(10)]
    labelled = np.concatenate([points[:_LABELLED] for points in members[1::2]])
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.3)
    embedded = model.fit(pixels[labelled], labels[labelled]).transform(pixels)
    return pixels, embedded, tuple(points[_LABELLED:] for points in members)
