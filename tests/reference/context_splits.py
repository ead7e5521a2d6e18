"""Splits of a cell of contexts, with one array operation for each formula."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.learners.contexts.splits import Cut, cuts_of

_SHRINK = 2.0  # weight of the curve of the whole cell for the gain, in rounds
_PRIOR = 8.0  # the same for the evidence: differences of a third of the noise are expected
_SIZES = 1, 4  # of the cell, and of a quarter of it: scales of the evidence, beside single groups


class Curves(NamedTuple):
    """Sums over rounds on each group of cells, for each cut: weights, losses, squares, squared weights."""

    weight: FloatArray
    loss: FloatArray
    square: FloatArray
    doubled: FloatArray

    def rest_of(self, whole: Curves) -> Curves:
        """Return the sums over the other rounds of a whole."""
        return Curves(*(b - a for a, b in zip(self, whole, strict=True)))

    def prior(self, shrink: float) -> tuple[FloatArray, FloatArray]:
        """Return the mean loss of each group, and the variance, shrunk to those of all groups."""
        total = self.weight.sum()
        level = self.loss.sum() / total
        mean = (self.loss + shrink * level) / (self.weight + shrink)
        spread = max(self.square.sum() / total - level * level, 0.0)
        squares = np.maximum(self.square - 2.0 * mean * self.loss + mean * mean * self.weight, 0.0)
        return mean[0], ((squares + shrink * spread) / (self.weight + shrink))[0]


class LooksByArrays:
    """Losses of rounds on the groups of cells, as sums over any set of rounds need them.

    Parameters
    ----------
    losses
        For each round its mean loss in each group of cells; nan where nothing was observed.
    weights
        Of the rounds, against the bias of observed sets.
    """

    def __init__(self, losses: FloatArray, weights: FloatArray) -> None:
        seen = ~np.isnan(losses)
        y = np.where(seen, losses, 0.0)
        w = seen * weights[:, None]
        one = seen / np.maximum(seen.sum(1, keepdims=True), 1)  # one look is one observation
        self._parts = np.hstack((w, w * y, w * y * y, w * w, one, one * y, one * y * y))
        self._groups = losses.shape[1]
        self._whole = self._curves(np.zeros(losses.shape[0], np.int64), 1)

    def best_cut(self, values: FloatArray, errors: float, price: float) -> Cut | None:
        """Return the cut by a column of values with the most evidence; None if none pays.

        A cut pays if the sides would have saved the price with the best group of each; differences are
        lowered by this number of standard errors.
        """
        cuts = cuts_of(values)
        if not cuts.size:
            return None
        bins = np.searchsorted(cuts, values, side="right")
        left, whole = self._curves(bins, cuts.size), self._whole
        right = [
            Curves(*(b - a for a, b in zip(*pair, strict=True))) for pair in zip(left, whole, strict=True)
        ]
        n = np.bincount(bins, minlength=cuts.size + 1)[:-1].cumsum().astype(np.float64)
        pays = _gain([(left[0], n), (right[0], values.size - n)], whole[0], errors) > price
        if not pays.any():
            return None
        evidence = np.minimum(
            _evidence(left[1], whole[1]) + _evidence(right[1], whole[1]),
            _shape_evidence(left[1], right[1], whole[1]),
        )
        best = int(np.argmax(np.where(pays, evidence, -np.inf)))
        return Cut(float(evidence[best]), float(cuts[best]))

    def _curves(self, bins: IntArray, n: int) -> tuple[Curves, Curves]:
        """Return the sums over the rounds of the first bins, for the gain and for the evidence."""
        sums = np.zeros((bins.max() + 1, self._parts.shape[1]))
        np.add.at(sums, bins, self._parts)
        parts = np.split(sums[:n].cumsum(0), 7, axis=1)
        return Curves(*parts[:4]), Curves(parts[4], parts[5], parts[6], parts[4])


def _gain(sides: list[tuple[Curves, FloatArray]], whole: Curves, errors: float) -> FloatArray:
    """Return for each cut the losses that the sides would have saved with a group of their own."""
    spread = whole.prior(_SHRINK)[1]
    curves, variances = [], []
    for side, _ in sides:
        with np.errstate(invalid="ignore"):
            level = side.loss.sum(1, keepdims=True) / side.weight.sum(1, keepdims=True)
        own = (side.loss + _SHRINK * level) / (side.weight + _SHRINK)
        noise = np.maximum(side.square - 2.0 * own * side.loss + own * own * side.weight, 0.0)
        noise = (noise + _SHRINK * spread) / (side.weight + _SHRINK)
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where(side.weight > 0.0, side.weight**2 / side.doubled, 0.0)
        curves.append(own)
        variances.append(noise / (effective + _SHRINK))
    rounds = [n[:, None] for _, n in sides]
    common = np.argmin(rounds[0] * curves[0] + rounds[1] * curves[1], axis=1)[:, None]
    gain = np.zeros(common.size)
    for own, uncertain, n in zip(curves, variances, rounds, strict=True):
        error = np.sqrt(uncertain + np.take_along_axis(uncertain, common, 1))
        advantage = np.take_along_axis(own, common, 1) - own - errors * error
        gain += n[:, 0] * np.maximum(advantage.max(1), 0.0)
    return gain


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


def _shape_evidence(left: Curves, right: Curves, whole: Curves) -> FloatArray:
    """Return the evidence of `_evidence` for both sides, with the level of each side subtracted.

    That instances are harder on one side is no reason to split. The noise is that within the sides.
    """
    mean, _ = whole.prior(1.0)
    sides, squares = [], np.zeros(left.weight.shape)
    for side in (left, right):
        rest = side.loss - side.weight * mean
        level = rest.sum(1, keepdims=True) / np.maximum(side.weight.sum(1, keepdims=True), 1e-9)
        centre = mean + level
        squares += side.square - 2.0 * centre * side.loss + centre * centre * side.weight
        sides.append((side.weight, rest - level * side.weight))
    squares = np.maximum(squares, 0.0)
    spread = squares.sum(1, keepdims=True) / whole.weight.sum()
    variance = np.maximum((squares + spread) / (whole.weight + 1.0), 1e-12 * spread + 1e-300)
    evidence, groups = np.zeros(len(squares)), left.weight.shape[1]
    for weight, rest in sides:
        rest, weight = rest / variance, weight / variance
        for parts in (4, groups):
            size = max(groups // parts, 1)
            starts = np.arange(0, groups, size)
            lengths = np.diff(np.append(starts, groups))
            prior = _PRIOR * np.add.reduceat(1.0 / variance, starts, axis=1) / lengths
            total = np.add.reduceat(rest, starts, axis=1)
            shift = total / (np.add.reduceat(weight, starts, axis=1) + prior)
            evidence += 0.5 * (total * shift).sum(1)
            rest = rest - weight * np.repeat(shift, size, axis=1)[:, :groups]
    return evidence
