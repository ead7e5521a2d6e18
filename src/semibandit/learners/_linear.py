"""One step of Algorithm 1 with piecewise linear losses."""

from __future__ import annotations

import numpy as np

from semibandit._validate import FloatArray
from semibandit.learners._kernels import SMALLEST_SHARE
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.linear_pieces import LinearPieces

__all__ = ["learn"]


def learn(
    weights: IntervalTree | LinearPieces,
    edges: FloatArray,
    losses: FloatArray,
    p: float,
    shift: float,
    explore: float,
    floor: float,
    rate: float,
) -> tuple[LinearPieces, float, float]:
    """The new weights, p, and the mixability gap of the step; arguments as in the kernel `learn`. O(P).

    Losses may be two columns, the ends of each piece.
    """
    if isinstance(weights, IntervalTree):
        steps, logs = weights.pieces()
        weights = LinearPieces(steps, logs, logs)
    if losses.ndim == 1:
        losses = np.column_stack((losses, losses))
    if p < 0.0:
        seen = ~np.isnan(losses[:, 0])
        p = weights.share(edges[:-1][seen], edges[1:][seen])
    p = max(p, SMALLEST_SHARE)
    edges, estimates = raised(edges, (losses - shift) / (p + explore), floor)
    after, mean = weights.learn(edges, estimates, rate)
    log_mixed = after.log_total() - weights.log_total()
    return after, p, max(mean + log_mixed / rate, 0.0)


def raised(edges: FloatArray, ends: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """The larger of a piecewise linear function and a number: lines that cross it get a kink there.

    >>> raised(np.array([0.0, 4.0]), np.array([[-1.0, 3.0]]), 0.0)
    (array([0., 1., 4.]), array([[0., 0.],
           [0., 3.]]))
    """
    left, right = ends[:, 0], ends[:, 1]
    crossing = np.flatnonzero((left - floor) * (right - floor) < 0.0)
    if crossing.size:
        share = (floor - left[crossing]) / (right[crossing] - left[crossing])
        kinks = edges[crossing] + share * np.diff(edges)[crossing]
        inside = (edges[crossing] < kinks) & (kinks < edges[crossing + 1])
        crossing, kinks = crossing[inside], kinks[inside]
        edges = np.insert(edges, crossing + 1, kinks)
        left = np.insert(left, crossing + 1, floor)
        right = np.insert(right, crossing, floor)
    return edges, np.maximum(np.column_stack((left, right)), floor)
