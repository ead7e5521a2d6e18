"""Kernels of d^α seeding with fixed uniforms: the run, and the interval of α with the same centres.

At each step the candidates are sorted by decreasing distance to the centres so far. For every j, the share
of the first j in the mass d^α grows with α. A uniform u picks the first j whose share exceeds u. So the rank
falls as α grows, and candidate j is picked from the root of share(j; α) = u to that of share(j - 1; α) = u.

A root depends on the distances, on u and on the space, not on the α of the run. Every run computes the same
root and compares α with it.
"""

import math
from typing import Any

import numpy as np

from semibandit._jit import kernel

# Shares have an error below 1e-13. A run whose u is farther than this from a share needs no root.
CLEAR = 1e-9
_MOST_STEPS = 200


@kernel
def excess(logs: Any, j: int, logit: float, alpha: float) -> tuple[float, float]:
    """Return log(share of the first j + 1) - log(share of the others) - logit u, and its derivative in α.

    `logs` are logarithms of distances relative to the largest, decreasing.
    """
    head = tail = head_log = tail_log = 0.0
    for i in range(logs.size):
        mass = math.exp(alpha * logs[i])
        if i <= j:
            head += mass
            head_log += mass * logs[i]
        else:
            tail += mass
            tail_log += mass * logs[i]
    if tail == 0.0:
        return math.inf, 0.0
    return math.log(head / tail) - logit, head_log / head - tail_log / tail


@kernel
def root(logs: Any, j: int, u: float, lo: float, hi: float) -> float:
    """Return the α in [lo, hi] above which the first j + 1 have a share above u; -inf: all, inf: none.

    Newton's method, by halves where it leaves the bracket.
    """
    if j < 0:
        return math.inf
    if u <= 0.0 or j >= logs.size - 1:
        return -math.inf
    logit = math.log(u / (1.0 - u))
    if excess(logs, j, logit, lo)[0] > 0.0:
        return -math.inf
    if excess(logs, j, logit, hi)[0] <= 0.0:
        return math.inf
    a, b = lo, hi
    x = 0.5 * (a + b)
    for _ in range(_MOST_STEPS):
        value, slope = excess(logs, j, logit, x)
        if value > 0.0:
            b = x
        else:
            a = x
        following = x - value / slope if slope > 0.0 else 0.5 * (a + b)
        if not a < following < b:
            following = 0.5 * (a + b)
        if abs(following - x) <= 4e-16 * max(abs(a), abs(b)) or following in (a, b):
            return following
        x = following
    return x


@kernel
def pick(
    logs: Any, u: float, ends: tuple[float, float, float], with_interval: bool
) -> tuple[int, float, float]:
    """Return the rank picked at α, and the interval [left, right) of it; ends = (lo, α, hi)."""
    lo, alpha, hi = ends
    shares = np.cumsum(np.exp(alpha * logs))
    shares /= shares[-1]
    j = min(int(np.searchsorted(shares, u, side="right")), logs.size - 1)
    near = shares[j] - u < CLEAR or (j > 0 and u - shares[j - 1] < CLEAR)
    if not (near or with_interval):
        return j, lo, hi
    left, right = root(logs, j, u, lo, hi), root(logs, j - 1, u, lo, hi)
    while left > alpha:
        j += 1
        left, right = root(logs, j, u, lo, hi), left
    while right <= alpha:
        j -= 1
        left, right = right, root(logs, j - 1, u, lo, hi)
    return j, max(left, lo), min(right, hi)


@kernel
def seed(
    points: Any, uniforms: Any, ends: tuple[float, float, float], with_interval: bool
) -> tuple[Any, float, float]:
    """Return the centres in the order of picking, and the interval [left, right) of α with these.

    O(k·n·(log n + d)), and some ten sums of n powers for each end of each step's interval.
    """
    left, _, right = ends
    n = points.shape[0]
    centers = np.empty(uniforms.size, np.int64)
    centers[0] = min(int(uniforms[0] * n), n - 1)
    squares = np.full(n, math.inf)
    for step in range(1, uniforms.size):
        order, logs = candidates(points, centers[step - 1], squares)
        if order.size == 0:
            return centers[:step].copy(), left, right
        rank, a, b = pick(logs, uniforms[step], ends, with_interval)
        left, right = max(left, a), min(right, b)
        centers[step] = order[rank]
    return centers, left, right


@kernel
def candidates(points: Any, center: int, squares: Any) -> tuple[Any, Any]:
    """Return the points that may be picked after `center`, the farthest first, and their log distances.

    Brings `squares`, the squared distances to the nearest centre, up to date.
    """
    for i in range(points.shape[0]):
        s = 0.0
        for c in range(points.shape[1]):
            s += (points[i, c] - points[center, c]) ** 2
        squares[i] = min(squares[i], s)
    apart = np.flatnonzero(squares > 0.0)
    order = apart[np.argsort(-squares[apart], kind="mergesort")]
    return order, 0.5 * np.log(squares[order] / squares[order[:1]])
