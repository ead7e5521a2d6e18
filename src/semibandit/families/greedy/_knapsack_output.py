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
from typing import Any

import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy._knapsack_kernels import fill, worth
from semibandit.families.greedy.order import ahead, arrange, before, critical
from semibandit.families.greedy.solution import BoolArray

_GROWTH = 4.0
_MOST_STEPS = 8


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

    O(n) for each piece besides the swaps, all of which together are at most n².
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
