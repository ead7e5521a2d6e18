"""The greedy run, and the interval on which it tries the items in the same order (Algorithm 2).

Items come as rows (log v, log s, v, s) with v > 0, and as integer sizes (`weights`), so that sums are exact
and what fits does not depend on the order of additions. An item is a line log v - ρ log s.

Comparisons are made in double precision where the scores differ by more than `margin`, which covers both
rounding errors and the rounding of critical values; otherwise `before` decides.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._jit import kernel
from semibandit._validate import FloatArray
from semibandit.families.knapsack._critical import before, critical

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_MOST_MOVES = 8


# -- the plain run ---------------------------------------------------------------------------------------


@kernel
def arrange(items: FloatArray, order: IntArray, scores: FloatArray, rho: float, margin: float) -> None:
    """Bring `order`, and the scores by position, into the exact order at rho.

    Insertion, O(n) where the order is nearly right already; once that has moved too much, O(n log n).
    """
    n = order.size
    moves = 0
    for p in range(1, n):
        if scores[p - 1] - scores[p] > margin:
            continue
        item, score = order[p], scores[p]
        q = p
        while q > 0 and leads(items, item, score, order[q - 1], scores[q - 1], rho, margin):
            order[q], scores[q] = order[q - 1], scores[q - 1]
            q -= 1
        order[q], scores[q] = item, score
        moves += p - q
        if moves > _MOST_MOVES * n:
            _merge_sort(items, order, scores, p + 1, rho, margin)
            return


@kernel
def _merge_sort(
    items: FloatArray, order: IntArray, scores: FloatArray, done: int, rho: float, margin: float
) -> None:
    """Sort what comes after the first `done` positions, bottom up, then merge both."""
    n = order.size
    width = 1
    while width < n - done:
        for start in range(done, n - width, 2 * width):
            _merge(items, order, scores, start, start + width, min(start + 2 * width, n), rho, margin)
        width *= 2
    if done < n:
        _merge(items, order, scores, 0, done, n, rho, margin)


@kernel
def leads(items: FloatArray, i: int, zi: float, j: int, zj: float, rho: float, margin: float) -> bool:
    """Whether item i with score zi comes before item j with score zj."""
    if abs(zi - zj) > margin:
        return zi > zj
    return before(items, i, j, rho)


@kernel
def _merge(
    items: FloatArray, order: Any, scores: Any, start: int, mid: int, stop: int, rho: float, margin: float
) -> None:
    """Merge the sorted stretches [start, mid) and [mid, stop), touching only where they overlap."""
    a = mid
    while a > start and leads(items, order[mid], scores[mid], order[a - 1], scores[a - 1], rho, margin):
        a -= 1
    if a == mid:
        return
    left, left_scores = order[a:mid].copy(), scores[a:mid].copy()
    i, j, out = 0, mid, a
    while i < left.size:
        if j < stop and leads(items, order[j], scores[j], left[i], left_scores[i], rho, margin):
            order[out], scores[out] = order[j], scores[j]
            j += 1
        else:
            order[out], scores[out] = left[i], left_scores[i]
            i += 1
        out += 1


@kernel
def fill(order: IntArray, weights: IntArray, capacity: int) -> tuple[BoolArray, int]:
    """Add what fits, in this order: which items are taken (by item), and the capacity left."""
    taken = np.zeros(order.size, np.bool_)
    for p in range(order.size):
        item = order[p]
        if weights[item] <= capacity:
            taken[item] = True
            capacity -= weights[item]
    return taken, capacity


@kernel
def worth(items: FloatArray, taken: BoolArray) -> float:
    """The value of a set, added up by index: the same set has the same value, however it was found."""
    total = 0.0
    for item in range(taken.size):
        total += items[item, 2] if taken[item] else 0.0
    return total


@kernel
def run(
    items: FloatArray,
    weights: IntArray,
    capacity: int,
    order: IntArray,
    keys: FloatArray,
    rho: float,
    margin: float,
) -> tuple[FloatArray, BoolArray, int, float]:
    """The greedy run, which makes `order`, that of `keys`, exact.

    Returns the scores by position, what is taken (by item), the capacity left, and the value.
    """
    scores = -keys[order]
    arrange(items, order, scores, rho, margin)
    taken, rest = fill(order, weights, capacity)
    return scores, taken, rest, worth(items, taken)


# -- the interval of the same order (the paper's Algorithm 2) --------------------------------------------


@kernel
def order_interval(
    items: FloatArray,
    order: IntArray,
    scores: FloatArray,
    ends: tuple[float, float, float],
    spread: float,
    margin: float,
) -> tuple[float, float]:
    """The maximal [left, right) around rho on which the items keep their order; ends = (lo, rho, hi).

    Neighbours are enough: the next two items to swap are neighbours. Logarithms of sizes differ by at most
    `spread`, so that neighbours whose scores are further apart than that times the distance of the best ends
    so far need no look at the items.
    """
    left, rho, right = ends
    near = spread * max(rho - left, right - rho) + margin
    for p in range(order.size - 1):
        if scores[p] - scores[p + 1] > near:
            continue
        i, j = order[p], order[p + 1]
        if items[i, 3] == items[j, 3]:
            continue
        swap = critical(items[i, 2], items[i, 3], items[j, 2], items[j, 3])
        if left < swap <= rho:
            left = swap
        elif rho < swap < right:
            right = swap
        near = spread * max(rho - left, right - rho) + margin
    return left, right


@kernel
def all_critical(items: FloatArray, lo: float, hi: float) -> FloatArray:
    """The critical values of all pairs in (lo, hi), unsorted, with repetitions: O(n²)."""
    n = len(items)
    found = np.empty(n * (n - 1) // 2)
    count = 0
    for i in range(n):
        for j in range(i):
            if items[i, 3] != items[j, 3]:
                swap = critical(items[i, 2], items[i, 3], items[j, 2], items[j, 3])
                if lo < swap < hi:
                    found[count] = swap
                    count += 1
    return found[:count].copy()
