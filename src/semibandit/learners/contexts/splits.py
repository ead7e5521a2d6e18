"""Splits of a cell of contexts: the cut that explains most of the losses, if it also pays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray

__all__ = ["Cut", "Looks", "cuts_of"]

_CUTS = 31  # candidates on a column
_FEWEST = 6  # rounds on either side
_SHRINK = 2.0  # weight of the curve of the whole cell for the gain, in rounds
_PRIOR = 8.0  # the same for the evidence: differences of a third of the noise are expected

# Sums over rounds on each group of cells: weights, weighted losses and squares, squared weights for the gain;
# parts of looks, losses and squares for the evidence, where one look is one observation.
_WEIGHT, _LOSS, _SQUARE, _DOUBLED, _ONE, _ONE_LOSS, _ONE_SQUARE = range(7)
_ROWS = 7


class Cut(NamedTuple):
    """A cut: values below `at` go to one side. `evidence` is the log-likelihood ratio for two curves."""

    evidence: float
    at: float


def cuts_of(values: FloatArray) -> FloatArray:
    """Return candidate cuts between distinct values."""
    return np.asarray(candidates(np.sort(values)))


class Looks:
    """Losses of rounds on the groups of cells, as sums over any set of rounds need them.

    Parameters
    ----------
    losses
        For each round its mean loss in each group of cells; nan where nothing was observed.
    weights
        Of the rounds, against the bias of observed sets.
    """

    def __init__(self, losses: FloatArray, weights: FloatArray) -> None:
        self._losses, self._weights = losses, weights
        self._spans = spans(losses)
        self._whole = sums_of(np.zeros(len(losses)), np.empty(0), losses, weights, self._spans)[0]

    def best_cut(self, values: FloatArray, errors: float, price: float) -> Cut | None:
        """Return the cut by a column of values with the most evidence; None if none pays.

        A cut pays if the sides would have saved the price with the best group of each; differences are
        lowered by this number of standard errors. O(rounds · groups that they observed).
        """
        cuts = cuts_of(values)
        if not cuts.size:
            return None
        sums = sums_of(values, cuts, self._losses, self._weights, self._spans)
        evidence, best = strongest(sums, self._whole, values.size, errors, price)
        return None if best < 0 else Cut(evidence, float(cuts[best]))


@kernel
def candidates(ordered: Any) -> Any:
    """Return at most 31 cuts between distinct neighbours of ordered values, at even ranks."""
    n = ordered.size
    steps = np.empty(n, np.int64)
    count = 0
    for i in range(_FEWEST, n - _FEWEST + 1):
        if ordered[i] > ordered[i - 1]:
            steps[count] = i
            count += 1
    if count > _CUTS:
        kept = at = 0
        for c in range(_CUTS):
            wanted = _FEWEST + c * (n - 2.0 * _FEWEST) / (_CUTS - 1)
            while at < count - 1 and steps[at] < wanted:
                at += 1
            if kept == 0 or steps[at] > steps[kept - 1]:
                steps[kept] = steps[at]
                kept += 1
        count = kept
    cuts = np.empty(count)
    for c in range(count):
        cuts[c] = 0.5 * ordered[steps[c] - 1] + 0.5 * ordered[steps[c]]
    return cuts


@kernel
def spans(losses: Any) -> Any:
    """Return for each round the first group that it observed, the last one, and their number."""
    out = np.zeros((losses.shape[0], 3), np.int64)
    for i in range(losses.shape[0]):
        out[i, 1] = -1
        for j in range(losses.shape[1]):
            if losses[i, j] == losses[i, j]:
                if out[i, 2] == 0:
                    out[i, 0] = j
                out[i, 1] = j
                out[i, 2] += 1
    return out


@kernel
def sums_of(values: Any, cuts: Any, losses: Any, weights: Any, span: Any) -> Any:
    """Return the sums over the rounds below each cut, and at the end over all; the last row counts rounds."""
    sums = np.zeros((cuts.size + 1, _ROWS + 1, losses.shape[1]))
    for i in range(values.size):
        b = 0
        beyond = cuts.size
        while b < beyond:
            middle = (b + beyond) // 2
            if cuts[middle] <= values[i]:
                b = middle + 1
            else:
                beyond = middle
        w, part = weights[i], 1.0 / max(span[i, 2], 1)
        sums[b, _ROWS, 0] += 1.0
        for j in range(span[i, 0], span[i, 1] + 1):
            y = losses[i, j]
            if y == y:
                sums[b, _WEIGHT, j] += w
                sums[b, _LOSS, j] += w * y
                sums[b, _SQUARE, j] += w * y * y
                sums[b, _DOUBLED, j] += w * w
                sums[b, _ONE, j] += part
                sums[b, _ONE_LOSS, j] += part * y
                sums[b, _ONE_SQUARE, j] += part * y * y
    for b in range(1, cuts.size + 1):
        for row in range(_ROWS + 1):
            for j in range(losses.shape[1]):
                sums[b, row, j] += sums[b - 1, row, j]
    return sums


@kernel
def strongest(sums: Any, whole: Any, rounds: int, errors: float, price: float) -> tuple[float, int]:
    """Return the most evidence of a cut that pays, and its index; -1 if none pays."""
    groups = whole.shape[1]
    _, variance = prior_of(whole[_WEIGHT], whole[_LOSS], whole[_SQUARE], _SHRINK)
    centre, noise = prior_of(whole[_ONE], whole[_ONE_LOSS], whole[_ONE_SQUARE], 1.0)
    least = max(1e-12 * max(noise.max(), 1e-300), 0.0)
    if not noise.min() > 0.0:
        noise = np.maximum(noise, least)
    right = np.empty((_ROWS, groups))
    most, best = -math.inf, -1
    for c in range(sums.shape[0] - 1):
        left = sums[c]
        for row in range(_ROWS):
            for j in range(groups):
                right[row, j] = whole[row, j] - left[row, j]
        n = left[_ROWS, 0]
        of_left, of_right = curve_of(left, variance), curve_of(right, variance)
        # The mean over all rounds would not do: where each side plays its own best, it is low at both.
        common = np.argmin(n * of_left[0] + (rounds - n) * of_right[0])
        gain = n * gain_of(of_left, common, errors) + (rounds - n) * gain_of(of_right, common, errors)
        if not gain > price:
            continue
        evidence = 0.0
        for side in (left, right):
            evidence += explained(side[_ONE].copy(), side[_ONE_LOSS] - side[_ONE] * centre, noise, True)
        evidence = min(evidence, shape_evidence(left, right, whole, centre))
        if evidence > most or best < 0:
            most, best = evidence, c
    return most, best


@inner
def prior_of(weight: Any, loss: Any, square: Any, shrink: float) -> tuple[Any, Any]:
    """Return the mean loss of each group, and the variance, shrunk to those of all groups."""
    total = weight.sum()
    level = loss.sum() / total
    mean = (loss + shrink * level) / (weight + shrink)
    spread = max(square.sum() / total - level * level, 0.0)
    squares = np.maximum(square - 2.0 * mean * loss + mean * mean * weight, 0.0)
    return mean, (squares + shrink * spread) / (weight + shrink)


@inner
def curve_of(side: Any, variance: Any) -> Any:
    """Return the mean loss of a side in each group, shrunk to its mean loss, and the variance of this.

    Not shrunk to the curve of the whole cell: groups that one side has left are observed by the other only.
    """
    curve = np.empty((2, variance.size))
    level = side[_LOSS].sum() / side[_WEIGHT].sum()
    for j in range(variance.size):
        w, loss = side[_WEIGHT, j], side[_LOSS, j]
        x = (loss + _SHRINK * level) / (w + _SHRINK)
        noise = max(side[_SQUARE, j] - 2.0 * x * loss + x * x * w, 0.0)
        noise = (noise + _SHRINK * variance[j]) / (w + _SHRINK)
        effective = w * w / side[_DOUBLED, j] if w > 0.0 else 0.0
        curve[0, j], curve[1, j] = x, noise / (effective + _SHRINK)
    return curve


@inner
def gain_of(curve: Any, common: Any, errors: float) -> float:
    """Return the loss per round that a side would have saved by its own best group."""
    most = 0.0
    for j in range(curve.shape[1]):
        error = math.sqrt(curve[1, j] + curve[1, common])
        most = max(most, curve[0, common] - curve[0, j] - errors * error)
    return most


@inner
def explained(weight: Any, rest: Any, variance: Any, with_level: bool) -> float:
    """Return half the squared excess of a side over the curve of the whole cell, in units of the noise.

    The excess is explained by a level first, then by quarters of the cell, then by groups; each explains what
    is left, with a prior of 8 rounds at 0. Sums over cuts of a column without influence are a few units.
    """
    groups = rest.size
    for j in range(groups):
        weight[j] /= variance[j]
        rest[j] /= variance[j]
    evidence = 0.0
    for parts in (1, 4, groups):
        if parts == 1 and not with_level and groups > 1:
            continue
        size = max(groups // parts, 1)
        for start in range(0, groups, size):
            end = min(start + size, groups)
            prior = total = sum_of = 0.0
            for j in range(start, end):
                prior += 1.0 / variance[j]
                total += rest[j]
                sum_of += weight[j]
            shift = total / (sum_of + _PRIOR * prior / (end - start))
            evidence += 0.5 * total * shift
            for j in range(start, end):
                rest[j] -= weight[j] * shift
    return evidence


@inner
def shape_evidence(left: Any, right: Any, whole: Any, mean: Any) -> float:
    """Return the evidence of `explained` for both sides, with the level of each side subtracted.

    That instances are harder on one side is no reason to split. The noise is that within the sides.
    """
    groups = mean.size
    rests, squares, spread = np.empty((2, groups)), np.zeros(groups), 0.0
    for s in range(2):
        side = left if s == 0 else right
        weight, total = 0.0, 0.0
        for j in range(groups):
            rests[s, j] = side[_ONE_LOSS, j] - side[_ONE, j] * mean[j]
            total += rests[s, j]
            weight += side[_ONE, j]
        level = total / max(weight, 1e-9)
        for j in range(groups):
            x = mean[j] + level
            squares[j] += side[_ONE_SQUARE, j] - 2.0 * x * side[_ONE_LOSS, j] + x * x * side[_ONE, j]
            rests[s, j] -= level * side[_ONE, j]
    seen = 0.0
    for j in range(groups):
        squares[j] = max(squares[j], 0.0)
        spread += squares[j]
        seen += whole[_ONE, j]
    spread /= seen
    for j in range(groups):
        squares[j] = max((squares[j] + spread) / (whole[_ONE, j] + 1.0), 1e-12 * spread + 1e-300)
    return explained(left[_ONE].copy(), rests[0], squares, False) + explained(
        right[_ONE].copy(), rests[1], squares, False
    )
