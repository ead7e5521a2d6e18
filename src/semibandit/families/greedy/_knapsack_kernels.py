"""The greedy run, and the interval on which it tries the items in the same order (Algorithm 2).

Items come as rows (log v, log s, v, s) with v > 0, and as integer sizes (`weights`), so that sums are exact
and what fits does not depend on the order of additions. An item is a line log v - ρ log s.
"""

import math

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import arrange, critical
from semibandit.families.greedy.solution import FEW, BoolArray

# -- before the first run --------------------------------------------------------------------------------


@kernel
def prepare(
    values: FloatArray, sizes: FloatArray, capacity: float, items: FloatArray, weights: IntArray
) -> tuple[bool, int, int, float, float, float]:
    """Write rows and integer sizes of the items of some value, by index.

    Integer sizes are in units of about capacity / 2^61. Returns whether values and sizes are fit for use, the
    number of rows, the capacity as an integer, the largest |log v| and |log s|, and how far apart logarithms
    of sizes are.
    """
    _, exponent = math.frexp(capacity)
    room = int(math.ldexp(capacity, 61 - exponent))
    n, total = 0, 0.0
    largest_v, lowest_s, highest_s = 0.0, math.inf, -math.inf
    for i in range(values.size):
        v, s = values[i], sizes[i]
        total += v
        if not (0.0 <= v < math.inf and 0.0 < s < math.inf):
            return False, i, room, 0.0, 0.0, 0.0
        if v > 0.0:
            log_v, log_s = math.log(v), math.log(s)
            items[n, 0], items[n, 1], items[n, 2], items[n, 3] = log_v, log_s, v, s
            # Twice the capacity is too large as well, and stays within 64 bits.
            capped = min(s, 2.0 * capacity)
            weights[n] = int(np.rint(math.ldexp(capped, 61 - exponent))) if capacity > 0.0 else 1
            largest_v = max(largest_v, abs(log_v))
            lowest_s, highest_s = min(lowest_s, log_s), max(highest_s, log_s)
            n += 1
    if n == 0:
        return True, 0, room, 0.0, 0.0, 0.0
    largest_s = max(abs(lowest_s), abs(highest_s))
    return total < math.inf, n, room, largest_v, largest_s, highest_s - lowest_s


@kernel
def relaxation(items: FloatArray, capacity: float, order: IntArray, margin: float) -> float:
    """The value of the fractional relaxation: fill up by value per size, with a part of what is first out.

    Makes `order` that of the greedy run at 1.
    """
    sort(items, order, 1.0, margin)
    taken = np.zeros(order.size, np.bool_)
    filled, part = 0.0, 0.0
    for p in range(order.size):
        item = order[p]
        if filled + items[item, 3] > capacity:
            part = _part(items[item, 2], capacity - filled, items[item, 3])
            break
        filled += items[item, 3]
        taken[item] = True
    return worth(items, taken) + part


@inner
def _part(value: float, room: float, size: float) -> float:
    """The value times room / size, which is at most the value, where the quotient alone might vanish."""
    v, ev = math.frexp(value)
    r, er = math.frexp(room)
    s, es = math.frexp(size)
    return min(math.ldexp(v * r / s, ev + er - es), value)


# -- the plain run ---------------------------------------------------------------------------------------


@inner
def rate(items: FloatArray, order: IntArray, rho: float) -> FloatArray:
    """The scores at rho, by position."""
    scores = np.empty(order.size)
    for p in range(order.size):
        scores[p] = items[order[p], 0] - rho * items[order[p], 1]
    return scores


@inner
def sort(items: FloatArray, order: IntArray, rho: float, margin: float) -> None:
    """Make `order` that at rho: whatever it was for a few items, quick where it was nearly so for many."""
    scores = rate(items, order, rho)
    if order.size <= FEW:
        count_places(scores, order)
        scores = rate(items, order, rho)
    arrange(items, order, scores, rho, margin)


@inner
def count_places(scores: FloatArray, order: IntArray) -> None:
    """Sort by decreasing score: O(n²), and yet the quickest for a few, as nothing depends on a comparison."""
    n = order.size
    sorted_ = np.empty(n, np.int64)
    for p in range(n):
        score, place = scores[p], 0
        for q in range(p):
            place += scores[q] >= score
        for q in range(p + 1, n):
            place += scores[q] > score
        sorted_[place] = order[p]
    for p in range(n):
        order[p] = sorted_[p]


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


@inner
def worth(items: FloatArray, taken: BoolArray) -> float:
    """The value of a set, added up by index: the same set has the same value, however it was found."""
    total = 0.0
    for item in range(taken.size):
        total += items[item, 2] if taken[item] else 0.0
    return total


@kernel
def run(
    items: FloatArray, weights: IntArray, capacity: int, order: IntArray, rho: float, margin: float
) -> tuple[BoolArray, int, float]:
    """The greedy run, which makes `order` that at rho (see `sort`).

    Returns what is taken (by item), the capacity left, and the value.
    """
    sort(items, order, rho, margin)
    taken, rest = fill(order, weights, capacity)
    return taken, rest, worth(items, taken)


# -- the interval of the same order (the paper's Algorithm 2) --------------------------------------------


@kernel
def order_interval(
    items: FloatArray, order: IntArray, lo: float, rho: float, hi: float, spread: float, margin: float
) -> tuple[float, float]:
    """The maximal [left, right) in [lo, hi) around rho on which the items keep `order`, that at rho.

    Neighbours are enough: the next two items to swap are neighbours. Logarithms of sizes differ by at most
    `spread`, so that neighbours whose scores are further apart than that times the distance of the best ends
    so far need no look at the items.
    """
    left, right = lo, hi
    scores = rate(items, order, rho)
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
