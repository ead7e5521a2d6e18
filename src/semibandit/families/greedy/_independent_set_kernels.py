"""Kernels of the greedy independent set: the two runs, and the intervals with the same set.

A vertex is the line log w - ρ·log(1 + deg), like an item of a knapsack of value w and size 1 + deg, with the
same critical values (see `order`). A graph is given by `start` and `near`: the neighbours of v are
near[start[v]:start[v + 1]].
"""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import arrange, critical, leads
from semibandit.families.greedy.solution import BoolArray

# -- static: all vertices are sorted once -----------------------------------------------------------


@kernel
def run_static(
    items: FloatArray, start: IntArray, near: IntArray, order: IntArray, rho: float, margin: float
) -> BoolArray:
    """Sort `order` exactly, then take each vertex without a taken neighbour. O(n + m) if nearly sorted."""
    scores = items[order, 0] - rho * items[order, 1]
    arrange(items, order, scores, rho, margin)
    blocked = np.zeros(order.size, np.bool_)
    taken = np.zeros(order.size, np.bool_)
    for v in order:
        if not blocked[v]:
            taken[v] = True
            for k in range(start[v], start[v + 1]):
                blocked[near[k]] = True
    return taken


@kernel
def interval_static(
    items: FloatArray,
    start: IntArray,
    near: IntArray,
    taken: BoolArray,
    ends: tuple[float, float, float],
    margin: float,
) -> tuple[float, float]:
    """Return the maximal interval around rho on which the same set is taken; ends = (lo, rho, hi). O(n + m).

    The run takes S exactly where every other vertex x has a neighbour in S before it. A neighbour of larger
    degree is before x left of their critical value, one of smaller degree from there on. So x is blocked left
    of the largest critical value of the former (`until`) and from the least one of the latter (`since`).
    """
    left, rho, right = ends
    for x in range(taken.size):
        if taken[x] or _surely_behind(items, start, near, taken, x, left, right, margin):
            continue
        until, since = -math.inf, math.inf
        for k in range(start[x], start[x + 1]):
            y = near[k]
            if not taken[y]:
                continue
            wx, sx, wy, sy = items[x, 2], items[x, 3], items[y, 2], items[y, 3]
            if sy == sx:
                if leads(wy, sy, y, wx, sx, x, rho):
                    until, since = math.inf, -math.inf
                    break
            elif sy > sx:
                until = max(until, critical(wy, sy, wx, sx))
            else:
                since = min(since, critical(wy, sy, wx, sx))
        if until >= since:
            continue
        if rho < until:
            right = min(right, until)
        else:
            left = max(left, since)
    return left, right


@inner
def _surely_behind(
    items: Any, start: Any, near: Any, taken: Any, x: int, left: float, right: float, margin: float
) -> bool:
    """Return whether a taken neighbour is clearly ahead of x at both ends, and thus in between."""
    for k in range(start[x], start[x + 1]):
        y = near[k]
        if taken[y]:
            ahead, fall = items[y, 0] - items[x, 0], items[y, 1] - items[x, 1]
            if ahead - left * fall > margin and ahead - right * fall > margin:
                return True
    return False


# -- adaptive: degrees are those in the graph that is left ------------------------------------------


@kernel
def run_adaptive(
    weights: FloatArray,
    start: IntArray,
    near: IntArray,
    ends: tuple[float, float, float],
    margin: float,
    plain: bool,
) -> tuple[IntArray, float, float]:
    """Repeatedly take the best vertex and remove its neighbours. O(n) for each vertex taken, O(m) in all.

    Returns the vertices in the order in which they are taken, and the interval [left, right) around rho
    on which they are taken in this order, unless `plain`; ends = (lo, rho, hi).
    """
    left, rho, right = ends
    n = weights.size
    size = np.empty(n)
    alive = np.arange(n)
    count = n
    taken = np.empty(n, np.int64)
    n_taken = 0
    log_w = np.log(weights)
    log_size = np.empty(n)
    score = np.empty(n)
    gone = np.zeros(n, np.bool_)
    for v in range(n):
        size[v] = 1.0 + start[v + 1] - start[v]
        _rate(v, size, log_w, log_size, score, rho)
    while count > 0:
        best = _best(weights, size, score, alive[:count], rho, margin)
        if not plain:
            left, right = _tighten(
                weights, size, log_size, score, alive[:count], best, (left, rho, right), margin
            )
        taken[n_taken] = best
        n_taken += 1
        _remove(best, start, near, size, gone)
        kept = 0
        for v in alive[:count]:
            if not gone[v]:
                alive[kept] = v
                kept += 1
                _rate(v, size, log_w, log_size, score, rho)
        count = kept
    return taken[:n_taken].copy(), left, right


@inner
def _rate(v: int, size: Any, log_w: Any, log_size: Any, score: Any, rho: float) -> None:
    log_size[v] = math.log(size[v])
    score[v] = log_w[v] - rho * log_size[v]


@inner
def _best(weights: Any, size: Any, score: Any, alive: Any, rho: float, margin: float) -> int:
    best = alive[0]
    for v in alive[1:]:
        gap = score[v] - score[best]
        if gap > margin or (
            gap >= -margin and leads(weights[v], size[v], v, weights[best], size[best], best, rho)
        ):
            best = v
    return int(best)


@inner
def _tighten(
    weights: Any,
    size: Any,
    log_size: Any,
    score: Any,
    alive: Any,
    best: int,
    ends: tuple[float, float, float],
    margin: float,
) -> tuple[float, float]:
    """Return the part of [left, right) on which `best` stays ahead of all remaining vertices."""
    left, rho, right = ends
    for v in alive:
        slope = log_size[best] - log_size[v]
        if size[v] == size[best]:
            continue
        # Rounded lines first: the exact critical value is needed only near or inside the interval.
        gap = score[best] - score[v]
        if gap - margin > slope * (right - rho) and gap - margin > slope * (left - rho):
            continue
        swap = critical(weights[best], size[best], weights[v], size[v])
        if swap <= rho:
            left = max(left, swap)
        else:
            right = min(right, swap)
    return left, right


@inner
def _remove(v: int, start: Any, near: Any, size: Any, gone: Any) -> None:
    """Take v and its neighbours out of the graph."""
    gone[v] = True
    for k in range(start[v], start[v + 1]):
        x = near[k]
        if gone[x]:
            continue
        gone[x] = True
        for l in range(start[x], start[x + 1]):
            size[near[l]] -= 1.0


# -- a bound on the weight of independent sets ------------------------------------------------------


@kernel
def clique_bound(weights: FloatArray, start: IntArray, near: IntArray, order: IntArray) -> float:
    """Return the sum of the heaviest vertices of cliques that cover the graph, found greedily.

    An independent set has at most one vertex of each clique.
    """
    n = weights.size
    clique = np.full(n, -1)
    members = np.zeros(n, np.int64)
    met = np.zeros(n, np.int64)
    bound = 0.0
    n_cliques = 0
    for v in order:
        chosen = -1
        for k in range(start[v], start[v + 1]):
            c = clique[near[k]]
            if c >= 0:
                met[c] += 1
                if met[c] == members[c] and (chosen < 0 or c < chosen):
                    chosen = c
        for k in range(start[v], start[v + 1]):
            c = clique[near[k]]
            if c >= 0:
                met[c] = 0
        if chosen < 0:
            chosen = n_cliques
            n_cliques += 1
            bound += weights[v]
        clique[v] = chosen
        members[chosen] += 1
    return bound
