"""Where the greedy run selects the same set: the interval around ρ, and the whole function.

An item is a line log v - ρ log s; the larger its size the faster it falls, so to the right of ρ small items
gain and to the left large ones do. Let S be the selected set, r the capacity left, and A(x) the weight of
the selected items behind a rejected item x. The run selects S at another ρ exactly if every rejected x still
finds too little room there:

    weight(x) > r + A(x).

Swaps inside S, and among the rejected, change nothing. Going right, a rejected x can only overtake a larger
selected y, and then A(x) >= weight(y) >= weight(x): the first such swap is the end. Going left, x can only
overtake smaller ones (one that is larger and behind x would have broken the inequality already), so that
A(x) grows, and the end is where some A(x) has grown too far. Hence neither end needs a simulated sweep.
"""

import math

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy._knapsack_kernels import fill, rate, run, sort, worth
from semibandit.families.greedy.order import ahead, arrange, before, critical
from semibandit.families.greedy.solution import BoolArray

_GROWTH = 4.0
_MOST_STEPS = 8


@kernel
def reveal(
    items: FloatArray,
    weights: IntArray,
    capacity: int,
    order: IntArray,
    lo: float,
    rho: float,
    hi: float,
    margin: float,
) -> tuple[float, float, float]:
    """A run at rho: the maximal [left, right) around rho with its output, and its value."""
    taken, rest, value = run(items, weights, capacity, order, rho, margin)
    lines, chosen = _by_position(items, order, taken)
    right = _right_end(items, order, lines, chosen, (rho, hi, hi), margin)
    left = _left_end(items, weights, order, lines, chosen, rest, (lo, rho, right), margin)
    return left, right, value


@inner
def _by_position(items: FloatArray, order: IntArray, taken: BoolArray) -> tuple[FloatArray, BoolArray]:
    lines = np.empty((order.size, 2))
    chosen = np.empty(order.size, np.bool_)
    for p in range(order.size):
        lines[p, 0], lines[p, 1] = items[order[p], 0], items[order[p], 1]
        chosen[p] = taken[order[p]]
    return lines, chosen


@inner
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
    rho": a handful of steps of O(n), each of which ends on an exact critical value.
    """
    rho, guess, hi = ends
    last = np.nextafter(hi, -math.inf)
    point = min(max(guess, np.nextafter(rho, math.inf)), last)  # far out, a guess may be rho itself
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


@inner
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


@inner
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


@inner
def _needs(weights: IntArray, order: IntArray, chosen: BoolArray, rest: int) -> IntArray:
    """By position: the weight that a rejected item must yet overtake to find room, weight(x) - r - A(x)."""
    need = np.empty(order.size, np.int64)
    room = rest
    for p in range(order.size - 1, -1, -1):
        room += weights[order[p]] if chosen[p] else 0
        need[p] = weights[order[p]] - room
    return need


@inner
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
            if chosen[q] and ahead(items, order[p], scores[p], order[q], scores[q], bound, margin):
                met[count] = order[q]
                gained += weights[order[q]]
                count += 1
            q -= 1
        if gained >= need[p]:
            bound = _room_at(items, weights, order[p], met[:count], need[p])
            _score(lines, chosen, bound, scores, rear)
        steps += p - q
        if steps > _MOST_STEPS * n:
            return _raise_bound_sorted(items, weights, order, lines, chosen, need, bound, margin)
    return bound


@inner
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
    roomy, met = np.empty(n, np.int64), np.empty(n, np.int64)
    picks = 1
    while True:
        now = order.copy()
        sort(items, now, bound, margin)
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
        count = 0
        for l in range(k + 1, n):
            if place[now[l]] < p and chosen[place[now[l]]]:
                met[count] = now[l]
                count += 1
        bound = _room_at(items, weights, now[k], met[:count], need[p])


@inner
def _score(lines: FloatArray, chosen: BoolArray, point: float, scores: FloatArray, rear: FloatArray) -> None:
    """Scores at `point` by position, and the smallest score of a selected item up to each position."""
    lowest = math.inf
    for p in range(scores.size):
        scores[p] = lines[p, 0] - point * lines[p, 1]
        lowest = min(lowest, scores[p] if chosen[p] else math.inf)
        rear[p] = lowest


@inner
def _room_at(items: FloatArray, weights: IntArray, x: int, met: IntArray, need: int) -> float:
    """Left of which critical value the items that x has overtaken weigh `need`; sorts these."""
    swaps = np.empty(met.size)
    for k in range(met.size):
        swaps[k] = critical(items[x, 2], items[x, 3], items[met[k], 2], items[met[k], 3])
    _sort_down(swaps, met)
    for k in range(met.size):
        need -= weights[met[k]]
        if need <= 0:
            return float(swaps[k])
    return -math.inf


@inner
def _sort_down(keys: FloatArray, items: IntArray) -> None:
    """Sort keys, and the items that they belong to, downwards: a heap, which is short to compile."""
    count = keys.size
    for end in range(count + count // 2 - 1, 0, -1):
        # First sift down the upper half, then what takes the place of each smallest key.
        start, size = 0, end
        if end >= count:
            start, size = end - count, count
        else:
            keys[0], keys[end] = keys[end], keys[0]
            items[0], items[end] = items[end], items[0]
        child = 2 * start + 1
        while child < size:
            if child + 1 < size and keys[child + 1] < keys[child]:
                child += 1
            if keys[start] <= keys[child]:
                break
            keys[start], keys[child] = keys[child], keys[start]
            items[start], items[child] = items[child], items[start]
            start, child = child, 2 * child + 1


# -- the whole function ----------------------------------------------------------------------------------


@kernel
def sweep(
    items: FloatArray,
    weights: IntArray,
    capacity: int,
    order: IntArray,
    lo: float,
    hi: float,
    margin: float,
) -> tuple[FloatArray, FloatArray]:
    """From lo to hi, output by output: the edges, and the value between them.

    O(n) for each piece besides the swaps, all of which together are at most n².
    """
    rho = lo
    edges, values = np.empty(33), np.empty(32)
    count = 0
    reach = (hi - rho) / (1.0 + order.size)
    sort(items, order, rho, margin)
    while True:
        if count == values.size:
            edges, values = _longer(edges), _longer(values)
        taken, _ = fill(order, weights, capacity)
        edges[count], values[count] = rho, worth(items, taken)
        count += 1
        lines, chosen = _by_position(items, order, taken)
        end = _right_end(items, order, lines, chosen, (rho, rho + reach, hi), margin)
        if end == hi:
            break
        reach = max(end - rho, 0.5 * reach)
        rho = end
        arrange(items, order, rate(items, order, rho), rho, margin)
    edges[count] = hi
    return edges[: count + 1].copy(), values[:count].copy()


@inner
def _longer(array: FloatArray) -> FloatArray:
    """The same with room for as much again."""
    longer = np.empty(2 * array.size)
    for i in range(array.size):
        longer[i] = array[i]
    return longer
