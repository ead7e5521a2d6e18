"""Splits of a cell of contexts: the cut that explains most of the losses, if it also pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray

__all__ = ["Cut", "best_cut", "cuts_of"]

_CUTS = 15  # candidates on a column
_FEWEST = 6  # rounds on either side
_SHRINK = 2.0  # weight of the curve of the whole cell for the gain, in rounds
_PRIOR = 8.0  # the same for the evidence: differences of a third of the noise are expected
_SIZES = 1, 4  # of the cell, and of a quarter of it: scales of the evidence, beside single groups


class Cut(NamedTuple):
    """A cut: values below `at` go to one side. `evidence` is the log-likelihood ratio for two curves."""

    evidence: float
    at: float


class Curves(NamedTuple):
    """Sums over rounds on each group of cells, for each cut: weights, losses, squares, squared weights."""

    weight: FloatArray
    loss: FloatArray
    square: FloatArray
    doubled: FloatArray

    def prior(self, shrink: float) -> tuple[FloatArray, FloatArray]:
        """Return the mean loss of each group, and the variance, shrunk to those of all groups."""
        total = self.weight.sum()
        level = self.loss.sum() / total
        mean = (self.loss + shrink * level) / (self.weight + shrink)
        spread = max(self.square.sum() / total - level * level, 0.0)
        squares = np.maximum(self.square - 2.0 * mean * self.loss + mean * mean * self.weight, 0.0)
        return mean, (squares + shrink * spread) / (self.weight + shrink)


def cuts_of(values: FloatArray) -> FloatArray:
    """Return candidate cuts between distinct values."""
    ordered = np.sort(values)
    steps = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    steps = steps[(steps >= _FEWEST) & (steps <= values.size - _FEWEST)]
    if steps.size > _CUTS:
        wanted = np.linspace(_FEWEST, values.size - _FEWEST, _CUTS)
        steps = np.unique(steps[np.clip(np.searchsorted(steps, wanted), 0, steps.size - 1)])
    return np.asarray(0.5 * ordered[steps - 1] + 0.5 * ordered[steps])


def best_cut(
    values: FloatArray, losses: FloatArray, weights: FloatArray, errors: float, price: float
) -> Cut | None:
    """Return the cut of rounds by a column of values with the most evidence; None if none pays.

    Parameters
    ----------
    values
        The column, for each round.
    losses
        For each round its mean loss in each group of cells; nan where nothing was observed.
    weights
        Of the rounds, against the bias of observed sets.
    errors, price
        A cut pays if the sides would have saved the price with the best group of each; differences are
        lowered by this number of standard errors.
    """
    cuts = cuts_of(values)
    if not cuts.size:
        return None
    seen = ~np.isnan(losses)
    y = np.where(seen, losses, 0.0)
    bins = np.searchsorted(cuts, values, side="right")  # 0 .. cuts.size
    left, right, whole = _sides(bins, cuts.size, seen * weights[:, None], y)
    n = np.bincount(bins, minlength=cuts.size + 1).cumsum()[:-1].astype(np.float64)
    pays = _gain(left, whole, n, errors) + _gain(right, whole, values.size - n, errors) > price
    if not pays.any():
        return None
    # One look is one observation, however many groups it observed.
    left, right, whole = _sides(bins, cuts.size, seen / np.maximum(seen.sum(1, keepdims=True), 1), y)
    evidence = np.where(pays, _evidence(left, whole) + _evidence(right, whole), -np.inf)
    best = int(np.argmax(evidence))
    return Cut(float(evidence[best]), float(cuts[best]))


def _sides(bins: IntArray, n: int, w: FloatArray, y: FloatArray) -> tuple[Curves, Curves, Curves]:
    """Return the curves on either side of each cut, and of all rounds."""
    order = np.argsort(bins, kind="stable")
    starts = np.searchsorted(bins[order], np.arange(n + 1))
    w, y = w[order], y[order]
    parts = w, w * y, w * y * y, w * w
    sums = [np.add.reduceat(part, starts, axis=0).cumsum(0) for part in parts]
    left, whole = Curves(*(part[:-1] for part in sums)), Curves(*(part[-1] for part in sums))
    return left, Curves(*(b - a for a, b in zip(left, whole, strict=True))), whole


def _gain(side: Curves, whole: Curves, n: FloatArray, errors: float) -> FloatArray:
    """Return for each cut the losses that a side would have saved by its own best group."""
    mean, variance = whole.prior(_SHRINK)
    best = int(np.argmin(mean))
    own = (side.loss + _SHRINK * mean) / (side.weight + _SHRINK)
    noise = np.maximum(side.square - 2.0 * own * side.loss + own * own * side.weight, 0.0)
    noise = (noise + _SHRINK * variance) / (side.weight + _SHRINK)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(side.weight > 0.0, side.weight**2 / side.doubled, 0.0)
    uncertain = noise / (effective + _SHRINK)
    advantage = own[:, [best]] - own - errors * np.sqrt(uncertain + uncertain[:, [best]])
    return np.asarray(n * np.maximum(advantage.max(1), 0.0))


def _evidence(side: Curves, whole: Curves) -> FloatArray:
    """Return half the squared excess of a side over the curve of the whole cell, in units of the noise.

    The excess is explained by a level first, then by quarters of the cell, then by groups; each explains what
    is left, with a prior of 8 rounds at 0. Sums over cuts of a column without influence are a few units.
    """
    mean, variance = whole.prior(1.0)
    if not variance.min() > 0.0:
        variance = np.maximum(variance, 1e-12 * max(float(variance.max()), 1e-300))
    rest, weight = (side.loss - side.weight * mean) / variance, side.weight / variance
    evidence, groups = np.zeros(rest.shape[0]), rest.shape[1]
    for parts in (*_SIZES, groups):
        size = max(groups // parts, 1)
        starts = np.arange(0, groups, size)
        prior = _PRIOR * np.add.reduceat(1.0 / variance, starts) / np.diff(np.append(starts, groups))
        total = np.add.reduceat(rest, starts, axis=1)
        shift = total / (np.add.reduceat(weight, starts, axis=1) + prior)
        evidence += 0.5 * (total * shift).sum(1)
        rest = rest - weight * np.repeat(shift, size, axis=1)[:, :groups]
    return evidence
