"""Labels compared by their losses: a direction in which loss curves differ, and each label's place on it."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np

from semibandit._validate import FloatArray, IntArray

__all__ = ["LEVELS", "Direction", "LabelCurves", "by_label", "look_weights", "main_direction"]

_MOST = 4096  # labels that are remembered; the least recently used is forgotten
_STEPS = 12  # of the EM algorithm
LEVELS = math.inf, 1.0  # weights of the prior of a label's level, in rounds; inf: labels have no level

Sums = FloatArray  # for each label: Σw, Σw·v, Σw·v², Σw·r, Σw·r·v with residuals r = loss - mean curve


class Direction:
    """A shape v on the groups of cells: label l has the expected losses mean + level_l + a_l · v.

    The place a_l has the prior N(0, 1). Its posterior mean is computed from the label's losses, so that a
    label without rounds is at 0.
    """

    def __init__(self, mean: FloatArray, shape: FloatArray, noise: float, level: float) -> None:
        self.mean, self.shape, self.noise, self.level = mean, shape, noise, level

    def sums(self, weights: FloatArray, totals: FloatArray) -> Sums:
        """Return the sums of labels (or rounds) with these weights and weighted losses on the groups."""
        residuals = totals - weights * self.mean
        v = self.shape
        along = np.einsum("...j,j", weights, v), np.einsum("...j,j", weights, v * v)
        return np.stack(
            (weights.sum(-1), *along, residuals.sum(-1), np.einsum("...j,j", residuals, v)), axis=-1
        )

    def places(self, sums: Sums) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the posterior means of place and level, and the variance of the place."""
        s0, s1, s2, q0, q1 = np.moveaxis(sums, -1, 0)
        s2 = s2 + self.noise
        if self.level == math.inf:
            return q1 / s2, np.zeros_like(q1), self.noise / s2
        s0 = s0 + self.level
        determinant = s0 * s2 - s1 * s1
        place = (s0 * q1 - s1 * q0) / determinant
        return place, (s2 * q0 - s1 * q1) / determinant, s0 * self.noise / determinant


def main_direction(weights: FloatArray, totals: FloatArray, squares: float, prior: float) -> Direction | None:
    """Return the direction in which the curves of labels differ most, by EM; None if they are all alike.

    The rows of `weights` and `totals` are the labels, the columns are the groups; `squares` is the weighted
    sum of the squared losses, `prior` the weight of the prior of levels.
    """
    n = weights.sum(0)
    if weights.shape[0] < 2 or not n.sum() > 0.0:
        return None
    mean = np.where(n > 0.0, totals.sum(0) / np.where(n > 0.0, n, 1.0), totals.sum() / n.sum())
    noise = max(squares - float((n * mean * mean).sum()), 0.0) / n.sum()
    if not noise > 0.0:
        return None
    spread = noise
    residuals = totals - weights * mean
    shrunk = residuals / (weights + 1.0)
    levels = residuals.sum(1) / (weights.sum(1) + prior)
    curves = shrunk - levels[:, None] * (weights / (weights + 1.0))
    shape = curves[int(np.argmax((curves * curves).sum(1)))]
    for _ in range(_STEPS):  # the main direction of the curves
        shape = np.einsum("i,ij", np.einsum("ij,j", curves, shape), curves)
        size = float(np.sqrt((shape * shape).sum()))
        if not size > 0.0:
            return None
        shape = shape / size
    direction = Direction(mean, shape * np.sqrt(noise), noise, prior)
    for _ in range(_STEPS):
        sums = direction.sums(weights, totals)
        place, level, variance = direction.places(sums)
        seconds = place * place + variance
        s0, s1, s2, q0, q1 = sums.T
        explained = (
            2.0 * (level @ q0 + place @ q1) - level * level @ s0 - 2.0 * (level * place) @ s1 - seconds @ s2
        )
        noise = max(spread - float(explained) / n.sum(), 1e-3 * spread)
        fitted = residuals - weights * level[:, None]
        counts = np.einsum("i,ij", seconds, weights)
        shape = np.einsum("i,ij", place, fitted) / (counts + 1e-9 + 1.0 * (n <= 0.0))
        direction = Direction(mean, shape, noise, prior)
    if not np.isfinite(shape).all() or not np.abs(shape).max() > 0.0:
        return None
    return direction


class LabelCurves:
    """Weighted losses of each label on the groups of cells."""

    def __init__(self, n_groups: int) -> None:
        self._n = n_groups
        self.curves: OrderedDict[str, FloatArray] = OrderedDict()

    def add(self, key: str, weights: FloatArray, totals: FloatArray) -> None:
        """Add a round."""
        if key not in self.curves:
            self.curves[key] = np.zeros((2, self._n))
            if len(self.curves) > _MOST:
                self.curves.popitem(last=False)
        self.curves.move_to_end(key)
        self.curves[key][0] += weights
        self.curves[key][1] += totals

    def place(self, key: str, direction: Direction) -> float:
        """Return the place of a label on a direction; 0 if it is unknown."""
        if key not in self.curves:
            return 0.0
        return float(direction.places(direction.sums(*self.curves[key]))[0])

    def keep(self, part: float) -> None:
        """Multiply all sums, to forget the past."""
        for curve in self.curves.values():
            curve *= part


def by_label(
    keys: list[str], weights: FloatArray, totals: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the label of each round as an index, and the sums of weights and totals for each label."""
    known: dict[str, int] = {}
    index = np.array([known.setdefault(key, len(known)) for key in keys])
    summed = np.zeros((2, len(known), weights.shape[1]))
    np.add.at(summed[0], index, weights)
    np.add.at(summed[1], index, totals)
    return index, summed[0], summed[1]


def look_weights(losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the groups that rounds observed, one for each round, and weighted losses."""
    seen = ~np.isnan(losses)
    weights = seen / np.maximum(seen.sum(-1, keepdims=True), 1)
    return weights, weights * np.where(seen, losses, 0.0)
