"""Certificates: an interval on which a tree stays the same, in O(n²), and the order of its merges.

Let the merges be sorted in their order at ρ. A merge of A and B is right where the two are nearest neighbours
of each other: their line comes before the lines of A and of B with every other existing cluster. So the line
of two clusters that exist together must come after the first merge that ends one of them. A pair is checked
when the later of its clusters arises, in one pass over the row of the new cluster.
"""

from typing import NamedTuple

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.crossings import (
    LAST,
    SLACK,
    before,
    copy_line,
    narrow,
    pair_index,
    top,
    value_at,
)
from semibandit.families.linkage._kernels.linkage_rows import (
    FIRST,
    NO_MERGES,
    NONE,
    Rows,
    TreeArrays,
    fetch,
    join,
    read_line,
    set_averages,
    start_rows,
)


def merge_order(into: IntArray, lines: FloatArray, rho: float) -> IntArray:
    """Return the merges, as the slots that they empty, in exact order at rho. O(n log n) without ties."""
    a, b = (lines[:, 0] + lines[:, 1]) / lines[:, 4], (lines[:, 2] + lines[:, 3]) / lines[:, 4]
    slopes = a - b if rho >= LAST else b - a
    order = np.lexsort((slopes, (1.0 - rho) * a + rho * b))
    mend_order(into, lines, rho, order)
    return order


@inner
def merge_before(into: IntArray, lines: FloatArray, rho: float, x: int, y: int, e: FloatArray) -> bool:
    """Return whether merge x comes before merge y at rho."""
    n = into.size + 1
    return before(rho, lines[x], pair_index(x, into[x], n), lines[y], pair_index(y, into[y], n), e)


@inner
def merge_span(
    into: IntArray, lines: FloatArray, x: int, y: int, rho: float, lo: float, hi: float, e: FloatArray
) -> tuple[float, float]:
    """Return the part of [lo, hi) around rho where merge x comes before merge y, as it does at rho."""
    n = into.size + 1
    index_x, index_y = pair_index(x, into[x], n), pair_index(y, into[y], n)
    _, lo, hi = narrow(lines[x], index_x, lines[y], index_y, rho, lo, hi, e)
    return lo, hi


@kernel
def mend_order(into: IntArray, lines: FloatArray, rho: float, order: IntArray) -> None:
    """Sort the merges by insertion, in O(n) plus the number of moves: for an order that is nearly right."""
    e = np.empty(64)
    for t in range(1, order.size):
        x = order[t]
        value = value_at(lines[x], rho)
        s = t
        while s > 0:
            y = order[s - 1]
            clear = value - value_at(lines[y], rho) > 2.0 * SLACK * value
            if clear or not merge_before(into, lines, rho, x, y, e):
                break
            order[s] = y
            s -= 1
        order[s] = x


@kernel
def linkage_matrix(into: IntArray, size: IntArray, order: IntArray, heights: FloatArray) -> FloatArray:
    """Return scipy's Z of a tree, with its merges in this order and these heights (by slot). O(n)."""
    n = into.size + 1
    node = np.arange(n)
    Z = np.empty((n - 1, 4))
    for t in range(n - 1):
        x = order[t]
        a, b = node[x], node[into[x]]
        Z[t, 0], Z[t, 1], Z[t, 2], Z[t, 3] = min(a, b), max(a, b), heights[x], size[x]
        node[into[x]] = n + t
    return Z


@kernel
def order_interval(
    into: IntArray, lines: FloatArray, order: IntArray, rho: float, lo: float, hi: float
) -> tuple[float, float]:
    """Return the part of [lo, hi) around rho on which neighbours in the order of merges stay in order."""
    e = np.empty(64)
    for t in range(1, order.size):
        x, y = order[t - 1], order[t]
        last = top(hi)
        # Rounded values that are well apart at both ends need no exact comparison.
        if (
            value_at(lines[x], lo) * (1.0 + SLACK) >= value_at(lines[y], lo)
            or value_at(lines[x], last) * (1.0 + SLACK) >= value_at(lines[y], last)
        ):  # fmt: skip
            lo, hi = merge_span(into, lines, x, y, rho, lo, hi, e)
    return lo, hi


@inner
def following(
    into: IntArray, part: IntArray, size: IntArray, order: IntArray
) -> tuple[bool, IntArray, IntArray]:
    """Return whether this order builds this tree, and the ranks of the merges that end points and clusters.

    A cluster is named by the rank of its merge. The rank is -1 for the last cluster.
    """
    count = into.size
    of_point = np.full(count + 1, -1, np.int64)
    of_merge = np.full(count, -1, np.int64)
    latest = np.full(count + 1, -1, np.int64)  # the rank of the merge that made the cluster in a slot
    sizes = np.ones(count + 1, np.int64)
    for t in range(count):
        x = order[t]
        y = into[x]
        if sizes[x] != part[x] or sizes[x] + sizes[y] != size[x]:
            return False, of_point, of_merge
        for slot in (x, y):
            if latest[slot] < 0:
                of_point[slot] = t
            else:
                of_merge[latest[slot]] = t
        latest[y] = t
        sizes[y] = size[x]
    return True, of_point, of_merge


class _Check(NamedTuple):
    """State of a certificate."""

    into: IntArray
    lines: FloatArray
    order: IntArray
    ending: IntArray  # the rank of the merge that ends the cluster in a slot; -1 to leave the slot out
    span: FloatArray  # lo, hi
    ends: FloatArray  # a and b of the merges by rank
    # Values of the merges by rank, at lo and just below hi, raised by the rounding error; then -1.
    values: FloatArray
    limits: FloatArray  # the same by slot, -1 where the slot is left out
    doubts: FloatArray  # the pairs that set lo and hi, as (slot, size, slot, size, line)
    averages: FloatArray  # working memory for the averages of a row
    line: FloatArray  # working memory for a line
    e: FloatArray  # working memory for an expansion


@inner
def _set_ends(lines: FloatArray, order: IntArray, ends: FloatArray) -> None:
    """Write the rounded a and b of the merges, by rank."""
    for t in range(order.size):
        line = lines[order[t]]
        ends[0, t], ends[1, t] = value_at(line, 0.0), value_at(line, 1.0)


@inner
def _set_values(ends: FloatArray, rho: float, out: FloatArray) -> None:
    """Set the values of lines at rho, raised by the rounding error."""
    stay = 1.0 - rho
    for t in range(ends.shape[1]):
        out[t] = (stay * ends[0, t] + rho * ends[1, t]) * (1.0 + SLACK)


@inner
def _set_span(check: _Check, lo: float, hi: float) -> None:
    check.span[0], check.span[1] = lo, hi
    _set_values(check.ends, lo, check.values[0])
    _set_values(check.ends, top(hi), check.values[1])
    for i in range(check.ending.size):
        _set_ending(check.ending, check.limits, check.values, i, check.ending[i])


@inner
def _set_ending(ending: IntArray, limits: FloatArray, values: FloatArray, slot: int, rank: int) -> None:
    ending[slot] = rank
    limits[0, slot], limits[1, slot] = values[0, rank], values[1, rank]  # the last ones are those of rank -1


@inner
def _close_pairs(
    a: FloatArray,
    b: FloatArray,
    ending: IntArray,
    limits: tuple[FloatArray, FloatArray],
    own: int,
    own_limits: tuple[float, float],
    span: tuple[float, float],
) -> int:
    """Count the pairs of a row that may come before the merge that ends them, at either end of the span.

    The earlier of the two merges that end a pair decides: that of the row (`own`) or of the other.
    """
    (limits_lo, limits_hi), (own_lo, own_hi), (lo, last) = limits, own_limits, span
    stay_lo, stay_hi = 1.0 - lo, 1.0 - last
    close = 0
    for i in range(a.size):
        low = limits_lo[i] if ending[i] < own else own_lo
        high = limits_hi[i] if ending[i] < own else own_hi
        close += stay_lo * a[i] + lo * b[i] <= low
        close += stay_hi * a[i] + last * b[i] <= high
    return close


@inner
def _set_doubt(doubt: FloatArray, rows: Rows, slot: int, other: int, line: FloatArray) -> None:
    doubt[0], doubt[1], doubt[2], doubt[3] = slot, rows.sizes[slot], other, rows.sizes[other]
    copy_line(line, doubt[4:])


@inner
def _check_closely(
    check: _Check,
    rows: Rows,
    row: tuple[FloatArray, FloatArray],
    r: int,
    slot: int,
    own: int,
    start: int,
    rho: float,
) -> bool:
    """Shrink the span to where the pairs of a cluster are right; return False if they are wrong at rho.

    r is the cluster's row, with rounded ends `row`. Rounded values could not decide for some pair.
    """
    a, b = row
    lo, hi = check.span[0], check.span[1]
    last = top(hi)
    n = a.size
    line = check.line
    for i in range(start, n):
        if check.ending[i] < 0:
            continue
        rank = min(own, check.ending[i])
        if (1.0 - lo) * a[i] + lo * b[i] > check.values[0, rank] and (
            (1.0 - last) * a[i] + last * b[i] > check.values[1, rank]
        ):
            continue
        read_line(rows.kind, rows.pool, rows.sizes, r, slot, i, line)
        x = check.order[rank]
        merge, this = pair_index(x, check.into[x], n), pair_index(slot, i, n)
        right, new_lo, new_hi = narrow(check.lines[x], merge, line, this, rho, lo, hi, check.e)
        if not right:
            _set_doubt(check.doubts[0], rows, slot, i, line)
            return False
        if new_lo != lo or new_hi != hi:
            _set_doubt(check.doubts[0 if new_lo != lo else 1], rows, slot, i, line)
            lo, hi, last = new_lo, new_hi, top(new_hi)
            _set_span(check, lo, hi)
    return True


@inner
def _check_all(check: _Check, rows: Rows, of_merge: IntArray, rho: float) -> bool:
    """Shrink the span to where all pairs are right; return False if they are wrong at rho.

    Kept in one function, as a call with all these arrays takes as long as a short row.
    """
    into, order, ending, limits, values = check.into, check.order, check.ending, check.limits, check.values
    span, averages = check.span, check.averages
    D, kind, pool, inverse = rows.D, rows.kind, rows.pool, rows.inverse
    n = ending.size
    for born in range(1 - n, n - 2):  # all points but the last, then all merges but the last
        if born < 0:
            slot = born + n - 1
            r, own, start = NONE, ending[slot], slot + 1
            a = b = D[slot]  # lines between points are flat
        else:
            x, slot = order[born], into[order[born]]
            _set_ending(ending, limits, values, x, NONE)
            r, own, start = join(rows, x, slot, born), of_merge[born], 0
            set_averages(kind, pool, r, inverse, slot, averages)
            a = averages if kind == 1 else pool[r, 0]
            b = averages if kind == 2 else pool[r, 1]
        # Leave out the cluster itself, and the one that it is merged with if that exists.
        mate = into[order[own]] if slot == order[own] else order[own]
        mate_is_there = ending[mate] == own
        _set_ending(ending, limits, values, slot, NONE)
        if mate_is_there:
            _set_ending(ending, limits, values, mate, NONE)
        if _close_pairs(
            a[start:],
            b[start:],
            ending[start:],
            (limits[0, start:], limits[1, start:]),
            own,
            (values[0, own], values[1, own]),
            (span[0], top(span[1])),
        ):
            if r < 0:
                r = fetch(rows, slot, FIRST, NO_MERGES)
            if not _check_closely(check, rows, (a, b), r, slot, own, start, rho):
                return False
        _set_ending(ending, limits, values, slot, own)
        if mate_is_there:
            _set_ending(ending, limits, values, mate, own)
    return True


@kernel
def tree_interval(
    rows: Rows, tree: TreeArrays, order: IntArray, rho: float, lo: float, hi: float
) -> tuple[bool, float, float, FloatArray]:
    """Return whether rho has this tree, and an interval around rho inside [lo, hi) that has it.

    `order` is that of the merges at rho. Exact. O(n²). The last result holds the pairs that set lo and hi, as
    (slot, size, slot, size, line); if rho has another tree, the first entry is the pair that refutes it.
    """
    into, part, size, lines = tree
    n = into.size + 1
    good, ending, of_merge = following(into, part, size, order)
    ends, values, limits = np.empty((2, n - 1)), np.full((2, n), -1.0), np.empty((2, n))
    span, doubts = np.empty(2), np.zeros((2, 9))
    if not good:
        return False, lo, hi, doubts
    room, line, e = np.empty(n), np.empty(5), np.empty(64)
    check = _Check(into, lines, order, ending, span, ends, values, limits, doubts, room, line, e)
    _set_ends(lines, order, ends)
    _set_span(check, lo, hi)
    start_rows(rows)
    if not _check_all(check, rows, of_merge, rho):
        return False, lo, hi, doubts
    return True, span[0], span[1], doubts


@kernel
def refutes(doubt: FloatArray, tree: TreeArrays, order: IntArray, rho: float) -> bool:
    """Return whether a single pair refutes the tree at rho: it comes before the merge that ends it.

    `order` is that of the merges at rho. The pair that ended a certificate nearly always refutes the tree
    beyond it. O(n).
    """
    into, _, size, lines = tree
    n = into.size + 1
    p, q = int(doubt[0]), int(doubt[2])
    sizes = np.ones(n, np.int64)
    for t in range(n - 1):
        x, y = order[t], into[order[t]]
        touched = x in (p, q) or y in (p, q)
        if touched and sizes[p] == doubt[1] and sizes[q] == doubt[3]:
            e = np.empty(64)
            return before(rho, doubt[4:], pair_index(p, q, n), lines[x], pair_index(x, y, n), e)
        sizes[x], sizes[y] = 0, size[x]
    return False
