"""The greedy run and the intervals on which its outcome stays the same.

Items come as rows (log v, log s, v, s) with v > 0, and as integer sizes (`weights`), so that sums are exact
and what fits does not depend on the order of additions. An item is a line log v - ρ log s; the larger its
size the faster it falls, so to the right of ρ small items gain and to the left large ones do.

Let S be the selected set, r the capacity left, and A(x) the weight of the selected items behind a rejected
item x. The run selects S at another ρ exactly if every rejected x still finds too little room there:

    weight(x) > r + A(x).

Swaps inside S, and among the rejected, change nothing. Going right, a rejected x can only overtake a larger
selected y, and then A(x) >= weight(y) >= weight(x): the first such swap is the end. Going left, x can only
overtake smaller ones (one that is larger and behind x would have broken the inequality already), so that
A(x) grows, and the end is where some A(x) has grown too far. Hence neither end needs a simulated sweep.

Comparisons are made in double precision where the scores differ by more than `margin`, which covers both
rounding errors and the rounding of critical values; otherwise `before` decides.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._jit import kernel
from semibandit._validate import FloatArray
from semibandit.families.knapsack._critical import before, critical

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_MOST_MOVES = 8
_GROWTH = 4.0


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
        while q > 0 and _leads(items, item, score, order[q - 1], scores[q - 1], rho, margin):
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
def _leads(items: FloatArray, i: int, zi: float, j: int, zj: float, rho: float, margin: float) -> bool:
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
    while a > start and _leads(items, order[mid], scores[mid], order[a - 1], scores[a - 1], rho, margin):
        a -= 1
    if a == mid:
        return
    left, left_scores = order[a:mid].copy(), scores[a:mid].copy()
    i, j, out = 0, mid, a
    while i < left.size:
        if j < stop and _leads(items, order[j], scores[j], left[i], left_scores[i], rho, margin):
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
) -> tuple[BoolArray, int, float]:
    """The greedy run: what is taken, the capacity left, the value. Makes `order`, that of keys, exact."""
    arrange(items, order, -keys[order], rho, margin)
    taken, rest = fill(order, weights, capacity)
    return taken, rest, worth(items, taken)


# -- the interval of the same output ---------------------------------------------------------------------


@kernel
def output_interval(
    items: FloatArray,
    weights: IntArray,
    order: IntArray,
    taken: BoolArray,
    rest: int,
    ends: tuple[float, float, float],
    margin: float,
) -> tuple[float, float]:
    """The maximal [left, right) around rho on which the set `taken` is selected; ends = (lo, rho, hi)."""
    lo, rho, hi = ends
    lines, chosen = _by_position(items, order, taken)
    right = _right_end(items, order, lines, chosen, (rho, hi, hi), margin)
    left = _left_end(items, weights, order, lines, chosen, rest, (lo, rho, right), margin)
    return left, right


@kernel
def _by_position(items: FloatArray, order: IntArray, taken: BoolArray) -> tuple[FloatArray, BoolArray]:
    lines = np.empty((order.size, 2))
    chosen = np.empty(order.size, np.bool_)
    for p in range(order.size):
        lines[p, 0], lines[p, 1] = items[order[p], 0], items[order[p], 1]
        chosen[p] = taken[order[p]]
    return lines, chosen


@kernel
def _right_end(
    items: FloatArray,
    order: IntArray,
    lines: FloatArray,
    chosen: BoolArray,
    ends: tuple[float, float, float],
    margin: float,
) -> float:
    """The first swap right of rho of a selected item with a rejected one behind it; ends = (rho, try, hi).

    Newton's method on the convex function "how far is a rejected item above a selected one that led it at
    rho": O(n) a step, a handful of steps, and each ends on an exact critical value.
    """
    rho, guess, hi = ends
    last = np.nextafter(hi, -math.inf)
    point = min(guess, last)
    while True:
        x, y = _overtaking(items, order, lines, chosen, point, margin)
        if x >= 0:
            break
        if point >= last:
            return hi
        point = min(rho + _GROWTH * (point - rho), last)
    end = hi
    while x >= 0:
        i, j = order[x], order[y]
        end = critical(items[i, 2], items[i, 3], items[j, 2], items[j, 3])
        x, y = _overtaking(items, order, lines, chosen, np.nextafter(end, -math.inf), margin)
    return end


@kernel
def _overtaking(
    items: FloatArray, order: IntArray, lines: FloatArray, chosen: BoolArray, point: float, margin: float
) -> tuple[int, int]:
    """Positions (x, y): the rejected x is ahead, at `point`, of a selected y in front of it; the widest."""
    rear, rear_score = -1, math.inf  # the selected item so far that is hindmost at `point`
    x, y, lead = -1, -1, -math.inf
    for p in range(order.size):
        score = lines[p, 0] - point * lines[p, 1]
        if chosen[p]:
            if score <= rear_score + margin and (
                score < rear_score - margin or before(items, order[rear], order[p], point)
            ):
                rear, rear_score = p, score
        elif score >= rear_score - margin and score - rear_score > lead:
            ahead = score - rear_score
            if ahead > margin or before(items, order[p], order[rear], point):
                x, y, lead = p, rear, ahead
    return x, y


@kernel
def _left_end(
    items: FloatArray,
    weights: IntArray,
    order: IntArray,
    lines: FloatArray,
    chosen: BoolArray,
    rest: int,
    ends: tuple[float, float, float],
    margin: float,
) -> float:
    """Where, going left from rho, some rejected item first finds room; ends = (lo, rho, right end).

    The bound starts at a guess (as far as the right end is) and is raised by every rejected item that finds
    room before it; a guess that nobody raises is a lower bound, and the next one lies further out.
    """
    lo, rho, right = ends
    need = _needs(weights, order, chosen, rest)
    reach = right - rho
    while True:
        guess = max(lo, rho - reach)
        bound = _raise_bound(items, weights, order, lines, chosen, need, guess, margin)
        if bound > guess or guess == lo:
            return bound
        reach *= _GROWTH


@kernel
def _needs(weights: IntArray, order: IntArray, chosen: BoolArray, rest: int) -> IntArray:
    """By position: the weight that a rejected item must yet overtake to find room, weight(x) - r - A(x)."""
    need = np.empty(order.size, np.int64)
    room = rest
    for p in range(order.size - 1, -1, -1):
        room += weights[order[p]] if chosen[p] else 0
        need[p] = weights[order[p]] - room
    return need


@kernel
def _raise_bound(
    items: FloatArray,
    weights: IntArray,
    order: IntArray,
    lines: FloatArray,
    chosen: BoolArray,
    need: IntArray,
    bound: float,
    margin: float,
) -> float:
    """The largest critical value above `bound` left of which a rejected item finds room, or `bound`.

    Each rejected item looks back over the items in front for those that it has overtaken at the bound. This
    is short where few have changed places; otherwise sorting is cheaper.
    """
    n = order.size
    scores, rear = np.empty(n), np.empty(n)
    met = np.empty(n, np.int64)
    steps = 0
    _score(lines, chosen, bound, scores, rear)
    for p in range(1, n):
        if chosen[p]:
            continue
        count, gained = 0, 0
        q = p - 1
        while q >= 0 and rear[q] <= scores[p] + margin:
            if chosen[q] and _leads(items, order[p], scores[p], order[q], scores[q], bound, margin):
                met[count] = order[q]
                gained += weights[order[q]]
                count += 1
            q -= 1
        if gained >= need[p]:
            bound = _room_at(items, weights, order[p], met[:count], need[p])
            _score(lines, chosen, bound, scores, rear)
        steps += p - q
        if steps > _MOST_MOVES * n:
            return _raise_bound_sorted(items, weights, order, lines, chosen, need, bound, margin)
    return bound


@kernel
def _raise_bound_sorted(
    items: FloatArray,
    weights: IntArray,
    order: IntArray,
    lines: FloatArray,
    chosen: BoolArray,
    need: IntArray,
    bound: float,
    margin: float,
) -> float:
    """The same by sorting at the bound: what a rejected item has gained is a difference of sums.

    Of those with room one is picked blindly, which halves their number on average.
    """
    n = order.size
    place = np.empty(n, np.int64)  # item -> position at rho
    behind = np.zeros(n + 1, np.int64)  # weight of the selected items from a position on, at rho
    for p in range(n - 1, -1, -1):
        place[order[p]] = p
        behind[p] = behind[p + 1] + (weights[order[p]] if chosen[p] else 0)
    roomy = np.empty(n, np.int64)
    picks = 1
    while True:
        now = order.copy()
        arrange(items, now, lines[:, 0] - bound * lines[:, 1], bound, margin)
        count, weight = 0, 0
        for k in range(n - 1, -1, -1):
            p = place[now[k]]
            if chosen[p]:
                weight += weights[now[k]]
            elif weight - behind[p] >= need[p]:
                roomy[count] = k
                count += 1
        if count == 0:
            return bound
        k = roomy[(picks * 2654435761) % count]
        picks += 1
        p = place[now[k]]
        met = np.array([item for item in now[k + 1 :] if place[item] < p and chosen[place[item]]])
        bound = _room_at(items, weights, now[k], met, need[p])


@kernel
def _score(lines: FloatArray, chosen: BoolArray, point: float, scores: FloatArray, rear: FloatArray) -> None:
    """Scores at `point` by position, and the smallest score of a selected item up to each position."""
    lowest = math.inf
    for p in range(scores.size):
        scores[p] = lines[p, 0] - point * lines[p, 1]
        lowest = min(lowest, scores[p] if chosen[p] else math.inf)
        rear[p] = lowest


@kernel
def _room_at(items: FloatArray, weights: IntArray, x: int, met: Any, need: int) -> float:
    """Left of which critical value the items that x has overtaken weigh `need`."""
    swaps = np.empty(met.size)
    for k in range(met.size):
        swaps[k] = critical(items[x, 2], items[x, 3], items[met[k], 2], items[met[k], 3])
    for k in np.argsort(-swaps):
        need -= weights[met[k]]
        if need <= 0:
            return float(swaps[k])
    return -math.inf


# -- the interval of the same order (the paper's Algorithm 2) ----------------------------------------------


@kernel
def order_interval(
    items: FloatArray, order: IntArray, ends: tuple[float, float, float], margin: float
) -> tuple[float, float]:
    """The maximal [left, right) around rho on which the items keep their order; ends = (lo, rho, hi).

    Neighbours are enough: the next two items to swap are neighbours. Only those whose scores could meet
    nearer than the best so far have their critical value computed.
    """
    left, rho, right = ends
    for p in range(order.size - 1):
        i, j = order[p], order[p + 1]
        gain = items[j, 1] - items[i, 1]  # how fast i pulls away from j as rho grows
        lead = items[i, 0] - items[j, 0] + rho * gain
        if lead > (rho - left) * gain + margin and lead > (rho - right) * gain + margin:
            continue
        if items[i, 3] == items[j, 3]:
            continue
        swap = critical(items[i, 2], items[i, 3], items[j, 2], items[j, 3])
        if left < swap <= rho:
            left = swap
        elif rho < swap < right:
            right = swap
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


# -- the whole function ----------------------------------------------------------------------------------


@kernel
def sweep(
    items: FloatArray,
    weights: IntArray,
    order: IntArray,
    capacity: int,
    space: tuple[float, float],
    margin: float,
) -> tuple[list[float], list[float]]:
    """From the exact `order` at lo to hi, output by output: where each starts, and its value.

    O(n) a piece besides the swaps, all of which together are at most n².
    """
    rho, hi = space
    starts, values = [rho], [0.0]
    values.pop()
    reach = (hi - rho) / (1.0 + order.size)
    while True:
        taken, _ = fill(order, weights, capacity)
        values.append(worth(items, taken))
        lines, chosen = _by_position(items, order, taken)
        end = _right_end(items, order, lines, chosen, (rho, rho + reach, hi), margin)
        if end == hi:
            return starts, values
        reach = max(end - rho, 0.5 * reach)
        rho = end
        starts.append(rho)
        arrange(items, order, lines[:, 0] - rho * lines[:, 1], rho, margin)
