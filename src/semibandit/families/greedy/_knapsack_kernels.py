"""The greedy run, and the interval on which it tries the items in the same order (Algorithm 2).

Items are rows (log v, log s, v, s) with v > 0: lines log v - ρ log s. `weights` are their sizes as sums of
two doubles: a multiple of q, about room / 2^51, and a remainder below q. The multiples add up exactly, since
no sum exceeds twice the room. The remainders add up exactly because they are rounded to multiples of about
n q / 2^53, which changes a size only if it has bits below n · room / 2^102. So the result does not depend on
the order of additions.
"""

import math

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.order import arrange, critical
from semibandit.families.greedy.solution import FEW, BoolArray

# -- preparation -----------------------------------------------------------------------------------------


@kernel
def prepare(
    values: FloatArray, sizes: FloatArray, capacity: float, items: FloatArray, weights: FloatArray
) -> tuple[bool, int, float, float, float, float]:
    """Write the rows of `items` and `weights` for the items with a value above 0, by index.

    Returns whether values and sizes are valid, the number of rows, the room (the capacity, or twice the total
    size of the items that fit, if that is less), the largest |log v| and |log s|, and the largest difference
    of log s.
    """
    n, total, needed = 0, 0.0, 0.0
    largest_v, lowest_s, highest_s = 0.0, math.inf, -math.inf
    for i in range(values.size):
        v, s = values[i], sizes[i]
        total += v
        needed += s if s <= capacity else 0.0
        if not (0.0 <= v < math.inf and 0.0 < s < math.inf):
            return False, i, 0.0, 0.0, 0.0, 0.0
        if v > 0.0:
            log_v, log_s = math.log(v), math.log(s)
            items[n, 0], items[n, 1], items[n, 2], items[n, 3] = log_v, log_s, v, s
            largest_v = max(largest_v, abs(log_v))
            lowest_s, highest_s = min(lowest_s, log_s), max(highest_s, log_s)
            n += 1
    room = min(capacity, 2.0 * needed)
    if n == 0:
        return total < math.inf, 0, room, 0.0, 0.0, 0.0
    weigh(items[:n, 3], room, values.size, weights)
    largest_s = max(abs(lowest_s), abs(highest_s))
    return total < math.inf, n, room, largest_v, largest_s, highest_s - lowest_s


@kernel
def weigh(sizes: FloatArray, room: float, n: int, weights: FloatArray) -> None:
    """Write the weights of sizes, in units of a power of two near the room, for sums of up to n of them."""
    _, exponent = math.frexp(room)
    step = 2.0 ** (math.frexp(float(n))[1] - 104)
    for i in range(sizes.size):
        # Twice the room is too large to fit as well.
        share = math.ldexp(min(sizes[i], 2.0 * room), -exponent) if room > 0.0 else 1.0
        weights[i, 0] = math.floor(share * 2.0**51) * 2.0**-51
        weights[i, 1] = np.rint((share - weights[i, 0]) / step) * step


@inner
def all_room(room: float) -> tuple[float, float]:
    """Return the whole room, as a sum like those of weights."""
    return math.frexp(room)[0], 0.0


@kernel
def relaxation(items: FloatArray, capacity: float, order: IntArray, margin: float) -> float:
    """Return the value of the fractional relaxation: items by v / s, the first that does not fit in part.

    Sorts `order` as the greedy run at 1 does.
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
    """Return value · room / size, at most the value; the quotient alone might underflow."""
    v, ev = math.frexp(value)
    r, er = math.frexp(room)
    s, es = math.frexp(size)
    return min(math.ldexp(v * r / s, ev + er - es), value)


# -- the plain run ---------------------------------------------------------------------------------------


@inner
def rate(items: FloatArray, order: IntArray, rho: float) -> FloatArray:
    """Return the scores at rho, by position."""
    scores = np.empty(order.size)
    for p in range(order.size):
        scores[p] = items[order[p], 0] - rho * items[order[p], 1]
    return scores


@inner
def sort(items: FloatArray, order: IntArray, rho: float, margin: float) -> None:
    """Sort `order` at rho: from any order for up to FEW items, from a nearly right one for more."""
    scores = rate(items, order, rho)
    if order.size <= FEW:
        _count_places(scores, order)
        scores = rate(items, order, rho)
    arrange(items, order, scores, rho, margin)


@inner
def _count_places(scores: FloatArray, order: IntArray) -> None:
    """Sort by decreasing score in O(n²) without branches, which is fastest for a few items."""
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


@inner
def fits(weights: FloatArray, item: int, room: tuple[float, float]) -> bool:
    """Return whether an item fits into some room. The sign of the rounded difference is exact."""
    return bool((room[0] - weights[item, 0]) + (room[1] - weights[item, 1]) >= 0.0)


@kernel
def fill(
    order: IntArray, weights: FloatArray, room: tuple[float, float]
) -> tuple[BoolArray, tuple[float, float]]:
    """Take each item that fits, in this order; return a mask by item and the room left."""
    taken = np.zeros(order.size, np.bool_)
    for p in range(order.size):
        item = order[p]
        if fits(weights, item, room):
            taken[item] = True
            room = (room[0] - weights[item, 0], room[1] - weights[item, 1])
    return taken, room


@inner
def worth(items: FloatArray, taken: BoolArray) -> float:
    """Return the value of a set, added up by index: equal sets have equal values."""
    total = 0.0
    for item in range(taken.size):
        total += items[item, 2] if taken[item] else 0.0
    return total


@kernel
def run(
    items: FloatArray,
    weights: FloatArray,
    room: float,
    order: IntArray,
    rho: float,
    margin: float,
) -> tuple[BoolArray, tuple[float, float], float]:
    """Sort `order` at rho (see `sort`), take each item that fits; return a mask, the room left, the value."""
    sort(items, order, rho, margin)
    taken, rest = fill(order, weights, all_room(room))
    return taken, rest, worth(items, taken)


# -- the interval of the same order (the paper's Algorithm 2) --------------------------------------------


@kernel
def order_interval(
    items: FloatArray, order: IntArray, lo: float, rho: float, hi: float, spread: float, margin: float
) -> tuple[float, float]:
    """Return the maximal [left, right) in [lo, hi) around rho on which the items keep `order`, that at rho.

    Neighbours are enough: the next two items to swap are neighbours. Logarithms of sizes differ by at most
    `spread`, so neighbours whose scores are further apart than `spread` times the distance of the best ends
    so far need no critical value.
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
    """Return the critical values of all pairs in (lo, hi), unsorted, with repetitions: O(n²)."""
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
