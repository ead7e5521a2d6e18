"""The greedy run, and the interval on which it tries the items in the same order (Algorithm 2).

Items come as rows (log v, log s, v, s) with v > 0, and as integer sizes (`weights`), so that sums are exact
and what fits does not depend on the order of additions. An item is a line log v - ρ log s.
"""

import math

import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import arrange, critical
from semibandit.families.greedy.solution import BoolArray

# -- before the first run --------------------------------------------------------------------------------


@kernel
def prepare(
    values: FloatArray, sizes: FloatArray, capacity: float, items: FloatArray, weights: IntArray
) -> tuple[bool, int, float, float, float]:
    """Write rows and integer sizes of the items of some value, by index.

    Integer sizes are in units of about capacity / 2^61. Returns whether values and sizes are fit for use, the
    number of rows, the largest |log v| and |log s|, and how far apart logarithms of sizes are.
    """
    _, exponent = math.frexp(capacity)
    n, total = 0, 0.0
    largest_v, lowest_s, highest_s = 0.0, math.inf, -math.inf
    for i in range(values.size):
        v, s = values[i], sizes[i]
        total += v
        if not (0.0 <= v < math.inf and 0.0 < s < math.inf):
            return False, i, 0.0, 0.0, 0.0
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
        return True, 0, 0.0, 0.0, 0.0
    return total < math.inf, n, largest_v, max(abs(lowest_s), abs(highest_s)), highest_s - lowest_s


@kernel
def relaxation(items: FloatArray, order: IntArray, capacity: float) -> tuple[float, int, float]:
    """Fill up in this order: the value of what fits, the first item that does not (-1: none), the room."""
    taken = np.zeros(order.size, np.bool_)
    filled = 0.0
    for p in range(order.size):
        item = order[p]
        if filled + items[item, 3] > capacity:
            return worth(items, taken), int(item), capacity - filled
        filled += items[item, 3]
        taken[item] = True
    return worth(items, taken), -1, capacity - filled


# -- the plain run ---------------------------------------------------------------------------------------


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
