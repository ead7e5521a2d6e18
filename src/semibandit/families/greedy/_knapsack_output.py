"""The interval around ρ on which the greedy run selects the same set, and the whole function.

An item is a line log v - ρ log s. The larger its size the faster it falls, so small items gain to the right
of ρ and large ones to the left. Let S be the selected set, r the room left, and A(x) the total size of the
selected items behind a rejected item x. The run selects S at another ρ exactly if no rejected x fits there:

    size(x) > r + A(x).

Swaps inside S, and among the rejected, change nothing. Going right, a rejected x can only overtake a larger
selected y, and then A(x) >= size(y) >= size(x): the first such swap is the end. Going left, x can only
overtake smaller ones (a larger one behind x would have broken the inequality already), so A(x) grows, and the
end is where some x fits. Neither end needs a simulated sweep.
"""

import math

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy._knapsack_kernels import all_room, fill, fits, rate, run, sort, worth
from semibandit.families.greedy.order import ahead, arrange, before, critical
from semibandit.families.greedy.solution import BoolArray

_GROWTH = 4.0
_MOST_STEPS = 8  # comparisons per item before sorting is used instead
_PICK = 2654435761  # pseudo-random picks: Knuth's multiplicative hash


@kernel
def reveal(
    items: FloatArray,
    weights: FloatArray,
    room: float,
    order: IntArray,
    ends: tuple[float, float, float],
    margin: float,
) -> tuple[float, float, float]:
    """Run at rho; return the maximal interval around rho with its output, and its value.

    ends = (lo, rho, hi).
    """
    lo, rho, hi = ends
    taken, rest, value = run(items, weights, room, order, rho, margin)
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
    """Return the first swap right of rho of a selected item and a rejected one; ends = (rho, guess, hi).

    Newton's method on a convex function of ρ, the largest lead of a rejected item over a selected one that
    was ahead of it at rho: a handful of steps of O(n), each of which ends on an exact critical value.
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
    """Return positions (x, y): at `point` the rejected x leads the selected y before it, by the most."""
    rear, rear_score = -1, math.inf  # the last of the selected items so far, at `point`
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
    weights: FloatArray,
    order: IntArray,
    lines: FloatArray,
    chosen: BoolArray,
    rest: tuple[float, float],
    ends: tuple[float, float, float],
    margin: float,
) -> float:
    """Return where, going left from rho, a rejected item first fits; ends = (lo, rho, right end).

    The bound starts at a guess, as far from rho as the right end is, and is raised by rejected items that fit
    left of rho. A guess that no item raises is a lower bound, and the next one is farther out.
    """
    lo, rho, right = ends
    behind = _rooms(weights, order, chosen, rest)
    reach = right - rho
    while True:
        guess = max(lo, rho - reach)
        bound = _raise_bound(items, weights, order, lines, chosen, behind, guess, margin)
        if bound > guess or guess == lo:
            return bound
        reach *= _GROWTH


@inner
def _rooms(weights: FloatArray, order: IntArray, chosen: BoolArray, rest: tuple[float, float]) -> FloatArray:
    """Return the room for a rejected item at each position, r + A(x)."""
    behind = np.empty((order.size + 1, 2))
    behind[order.size, 0], behind[order.size, 1] = room = rest
    for p in range(order.size - 1, -1, -1):
        if chosen[p]:
            room = (room[0] + weights[order[p], 0], room[1] + weights[order[p], 1])
        behind[p, 0], behind[p, 1] = room
    return behind


@inner
def _raise_bound(
    items: FloatArray,
    weights: FloatArray,
    order: IntArray,
    lines: FloatArray,
    chosen: BoolArray,
    behind: FloatArray,
    bound: float,
    margin: float,
) -> float:
    """Return the largest critical value above `bound` left of which a rejected item fits, or `bound`.

    Each rejected item looks back over the items before it for those that it has passed at the bound. This is
    fast if few items have swapped; otherwise sorting is.
    """
    n = order.size
    scores, rear = np.empty(n), np.empty(n)
    passed = np.empty(n, np.int64)
    steps = 0
    _score(lines, chosen, bound, scores, rear)
    for p in range(1, n):
        if chosen[p]:
            continue
        count, room = 0, (behind[p, 0], behind[p, 1])
        q = p - 1
        while q >= 0 and rear[q] <= scores[p] + margin:
            if chosen[q] and ahead(items, order[p], scores[p], order[q], scores[q], bound, margin):
                passed[count] = item = order[q]
                room = (room[0] + weights[item, 0], room[1] + weights[item, 1])
                count += 1
            q -= 1
        if fits(weights, order[p], room):
            bound = _fits_from(items, weights, order[p], passed[:count], (behind[p, 0], behind[p, 1]))
            _score(lines, chosen, bound, scores, rear)
        steps += p - q
        if steps > _MOST_STEPS * n:
            return _raise_bound_sorted(items, weights, order, chosen, behind, bound, margin)
    return bound


@inner
def _raise_bound_sorted(
    items: FloatArray,
    weights: FloatArray,
    order: IntArray,
    chosen: BoolArray,
    behind: FloatArray,
    bound: float,
    margin: float,
) -> float:
    """Do the same as `_raise_bound`: sort at the bound, and find the rejected items that fit in one pass.

    A pseudo-random one of them raises the bound; this halves their number on average.
    """
    n = order.size
    place = np.empty(n, np.int64)  # of an item at rho
    for p in range(n):
        place[order[p]] = p
    rest = (behind[n, 0], behind[n, 1])
    fitting, passed = np.empty(n, np.int64), np.empty(n, np.int64)
    picks = 1
    while True:
        now = order.copy()
        sort(items, now, bound, margin)
        count, room = 0, rest
        for k in range(n - 1, -1, -1):
            item = now[k]
            if chosen[place[item]]:
                room = (room[0] + weights[item, 0], room[1] + weights[item, 1])
            elif fits(weights, item, room):
                fitting[count] = k
                count += 1
        if count == 0:
            return bound
        k = fitting[(picks * _PICK) % count]
        picks += 1
        p = place[now[k]]
        count = 0
        for l in range(k + 1, n):
            if place[now[l]] < p and chosen[place[now[l]]]:
                passed[count] = now[l]
                count += 1
        bound = _fits_from(items, weights, now[k], passed[:count], (behind[p, 0], behind[p, 1]))


@inner
def _score(lines: FloatArray, chosen: BoolArray, point: float, scores: FloatArray, rear: FloatArray) -> None:
    """Write scores at `point` by position, and the smallest score of a selected item up to each position."""
    lowest = math.inf
    for p in range(scores.size):
        scores[p] = lines[p, 0] - point * lines[p, 1]
        lowest = min(lowest, scores[p] if chosen[p] else math.inf)
        rear[p] = lowest


@inner
def _fits_from(
    items: FloatArray, weights: FloatArray, x: int, passed: IntArray, behind: tuple[float, float]
) -> float:
    """Return the largest critical value left of which x has passed enough items to fit.

    `behind` is the room for x before it passes any. Quickselect: O(m) for m items on average.
    """
    swaps = np.empty(passed.size)
    for k in range(passed.size):
        swaps[k] = critical(items[x, 2], items[x, 3], items[passed[k], 2], items[passed[k], 3])
    best, above, picks = -math.inf, math.inf, 1
    while True:
        count = 0
        for swap in swaps:
            count += 1 if best < swap < above else 0
        if count == 0:
            return best
        skip, pivot = (picks * _PICK) % count, best
        picks += 1
        for swap in swaps:
            if best < swap < above:
                if skip == 0:
                    pivot = swap
                skip -= 1
        room = behind
        for k in range(passed.size):
            if swaps[k] >= pivot:
                room = (room[0] + weights[passed[k], 0], room[1] + weights[passed[k], 1])
        if fits(weights, x, room):
            best = pivot
        else:
            above = pivot


# -- the whole function ----------------------------------------------------------------------------------


@kernel
def sweep(
    items: FloatArray,
    weights: FloatArray,
    room: float,
    order: IntArray,
    lo: float,
    hi: float,
    margin: float,
) -> tuple[FloatArray, FloatArray]:
    """Go from lo to hi, output by output; return the edges, and the values between them.

    O(n) for each piece, plus at most n² swaps in all.
    """
    rho = lo
    edges, values = np.empty(33), np.empty(32)
    count = 0
    reach = (hi - rho) / (1.0 + order.size)
    sort(items, order, rho, margin)
    while True:
        if count == values.size:
            edges, values = _longer(edges), _longer(values)
        taken, _ = fill(order, weights, all_room(room))
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
    """Return a copy of twice the length."""
    longer = np.empty(2 * array.size)
    for i in range(array.size):
        longer[i] = array[i]
    return longer
