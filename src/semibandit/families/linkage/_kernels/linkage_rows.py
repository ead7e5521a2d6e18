"""The linkages of one cluster to all others, kept up to date lazily.

A row holds the min, max or sum of the distances of a cluster to each slot. A merge of x into y changes one
entry of every row, a cache miss each. Therefore the merge is only logged. When a row is next read, the merges
that it missed are applied to its own entries: the min to x ∪ y is the min of those to x and to y, and
likewise for max and sum. Points that were never merged have no row; theirs is computed from the distances in
a scratch row. So at most n/2 clusters have rows.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _numerics as dd
from semibandit._jit import inner
from semibandit._validate import FloatArray, IntArray

# An index that cannot be negative needs no check for that.
UnsignedArray = npt.NDArray[np.uint64]
# A tree: into, part, size and lines.
TreeArrays = tuple[IntArray, IntArray, IntArray, FloatArray]
# Rows 0 and 1 of the pool are scratch, for the two clusters of a merge.
# numpy integers: numba would compile kernels again for each Python constant.
_SCRATCH = 2
FIRST: Any = np.int64(0)
SECOND: Any = np.int64(1)
NO_MERGES: Any = np.int64(0)
NONE: Any = np.int64(-1)


class Rows(NamedTuple):
    """The state of an agglomeration, reused from run to run."""

    D: FloatArray  # the distances
    kind: int
    pool: FloatArray  # [row, part, slot]; parts: (min, max), (sum, max, sum') or (min, sum, sum')
    places: IntArray  # [0]: where the row of a slot is, -1 while it holds a single point;
    # [1]: how many merges that row has taken in, 0 if there is none
    free: IntArray  # a stack of unused rows: its height, then its entries
    log: UnsignedArray  # the merges so far, as (x, y)
    sizes: IntArray
    inverse: FloatArray  # 1 / sizes


def new_rows(D: FloatArray, kind: int) -> Rows:
    """Return the state of an agglomeration of the points of D, which `start_rows` initialises."""
    n = D.shape[0]
    return Rows(
        D=D,
        kind=kind,
        pool=np.empty((n // 2 + _SCRATCH, 2 if kind == 0 else 3, n)),
        places=np.empty((2, n), np.int64),
        free=np.empty(n // 2 + 1, np.int64),
        log=np.empty((n, 2), np.uint64),
        sizes=np.empty(n, np.int64),
        inverse=np.empty(n),
    )


@inner
def start_rows(rows: Rows) -> None:
    """Reset the state to single points."""
    rows.places[0] = -1
    rows.places[1] = 0
    rows.sizes[:] = 1
    rows.inverse[:] = 1.0
    height = rows.free.size - 1
    rows.free[0] = height
    for i in range(height):
        rows.free[i + 1] = _SCRATCH + height - 1 - i


@inner
def fetch(rows: Rows, slot: int, scratch: int, now: int) -> int:
    """Return the index in the pool of a slot's row after log[:now]; that of a point is made in `scratch`."""
    return update(rows.kind, rows.D, rows.pool, rows.places, rows.log, slot, scratch, now)


@inner
def update(
    kind: int,
    D: FloatArray,
    pool: FloatArray,
    places: IntArray,
    log: UnsignedArray,
    slot: int,
    scratch: int,
    now: int,
) -> int:
    """Return what `fetch` does, without the other arrays of `Rows`.

    A call counts the references of each array that it passes; in the chain this would take longest.
    """
    r, start = places[0, slot], places[1, slot]
    if r < 0:
        r = scratch
        _copy_point(D, slot, pool, r)
        if kind > 0:
            pool[r, 2] = 0.0
    else:
        places[1, slot] = now
    if kind == 0:
        _repeat_extremes(pool, r, log, start, now)
    else:
        _repeat_sums(kind, pool[r, kind - 1], pool[r, 2 - kind], pool[r, 2], log, start, now)
    return int(r)


@inner
def _copy_point(D: FloatArray, point: int, pool: FloatArray, r: int) -> None:
    for i in range(D.shape[1]):
        pool[r, 0, i] = pool[r, 1, i] = D[point, i]


@inner
def _repeat_extremes(pool: FloatArray, r: int, log: UnsignedArray, start: int, now: int) -> None:
    """Make the merges log[start:now] in row r, which may have taken in some of them before."""
    for t in range(start, now):
        x, y = log[t, 0], log[t, 1]
        pool[r, 0, y] = pool[r, 0, x] if pool[r, 0, x] < pool[r, 0, y] else pool[r, 0, y]
        pool[r, 1, y] = pool[r, 1, x] if pool[r, 1, x] > pool[r, 1, y] else pool[r, 1, y]


@inner
def _repeat_sums(
    kind: int, total: FloatArray, end: FloatArray, rest: FloatArray, log: UnsignedArray, start: int, now: int
) -> None:
    for t in range(start, now):
        x, y = log[t, 0], log[t, 1]
        total[y], rest[y] = dd.add(total[x], rest[x], total[y], rest[y])
        end[y] = max(end[x], end[y]) if kind == 1 else min(end[x], end[y])


@inner
def _place_of_joined(places: IntArray, free: IntArray, x: int, y: int) -> int:
    """Return where the row of x ∪ y goes: to that of y or x, or an unused one. The other one is released."""
    rx, ry = places[0, x], places[0, y]
    place = ry if ry >= 0 else rx
    if place < 0:
        place = free[free[0]]
        free[0] -= 1
    elif rx >= 0 and ry >= 0:
        free[0] += 1
        free[free[0]] = rx
    return int(place)


@inner
def join(rows: Rows, x: int, y: int, now: int) -> int:
    """Merge x into y as merge number `now`; the place of the new row. O(n)."""
    if rows.kind == 0:
        place = _join_extremes(rows.D, rows.pool, rows.places, rows.free, x, y)
        start = min(rows.places[1, x], rows.places[1, y])
        _repeat_extremes(rows.pool, place, rows.log, start, now)
    else:
        p, q = fetch(rows, x, FIRST, now), fetch(rows, y, SECOND, now)
        place = _place_of_joined(rows.places, rows.free, x, y)
        _join_sums(rows.kind, rows.pool, p, q, place)
    _note_merge(rows.places, rows.log, rows.sizes, rows.inverse, place, x, y, now)
    return place


@inner
def _note_merge(
    places: IntArray,
    log: UnsignedArray,
    sizes: IntArray,
    inverse: FloatArray,
    place: int,
    x: int,
    y: int,
    now: int,
) -> None:
    places[0, x], places[0, y], places[1, y] = -1, place, now + 1
    log[now, 0], log[now, 1] = x, y
    sizes[y] += sizes[x]
    inverse[y] = 1.0 / sizes[y]


@inner
def _join_extremes(D: FloatArray, pool: FloatArray, places: IntArray, free: IntArray, x: int, y: int) -> int:
    """Join minima and maxima, before the new row takes in the merges that either row has missed."""
    rx, ry = places[0, x], places[0, y]
    place = _place_of_joined(places, free, x, y)
    if rx >= 0 and ry >= 0:
        _join_row(pool, rx, place)
    elif rx < 0 and ry < 0:
        _join_points(D, x, y, pool, place)
    else:
        _join_point(D, x if rx < 0 else y, pool, place)
    return place


@inner
def _join_row(pool: FloatArray, r: int, place: int) -> None:
    for i in range(pool.shape[2]):
        low, high = pool[r, 0, i], pool[r, 1, i]
        pool[place, 0, i] = low if low < pool[place, 0, i] else pool[place, 0, i]
        pool[place, 1, i] = high if high > pool[place, 1, i] else pool[place, 1, i]


@inner
def _join_point(D: FloatArray, point: int, pool: FloatArray, place: int) -> None:
    for i in range(D.shape[1]):
        d = D[point, i]
        pool[place, 0, i] = d if d < pool[place, 0, i] else pool[place, 0, i]
        pool[place, 1, i] = d if d > pool[place, 1, i] else pool[place, 1, i]


@inner
def _join_points(D: FloatArray, x: int, y: int, pool: FloatArray, place: int) -> None:
    for i in range(D.shape[1]):
        pool[place, 0, i] = D[x, i] if D[x, i] < D[y, i] else D[y, i]
        pool[place, 1, i] = D[x, i] if D[x, i] > D[y, i] else D[y, i]


@inner
def _join_sums(kind: int, pool: FloatArray, p: int, q: int, place: int) -> None:
    """Join the rows p and q with sums, which can take in a merge only once: both rows are up to date."""
    s = kind - 1
    for i in range(pool.shape[2]):
        pool[place, s, i], pool[place, 2, i] = dd.add(
            pool[p, s, i], pool[p, 2, i], pool[q, s, i], pool[q, 2, i]
        )
        if s == 0:
            pool[place, 1, i] = max(pool[p, 1, i], pool[q, 1, i])
        else:
            pool[place, 0, i] = min(pool[p, 0, i], pool[q, 0, i])


@inner
def read_line(
    kind: int, pool: FloatArray, sizes: IntArray, r: int, slot: int, other: int, line: FloatArray
) -> None:
    """Set the exact line between a slot, whose row is r, and another."""
    s = max(kind - 1, 0)
    rest = pool[r, 2, other] if kind > 0 else 0.0
    count = float(sizes[slot] * sizes[other])
    set_line(line, kind, pool[r, 0, other], pool[r, 1, other], pool[r, s, other], rest, count)


@inner
def set_line(
    line: FloatArray, kind: int, low: float, high: float, total: float, rest: float, count: float
) -> None:
    """Write the line of two clusters, from the extremes, or the sum, of their `count` distances."""
    if kind == 0:
        line[0], line[1], line[2], line[3], line[4] = low, 0.0, high, 0.0, 1.0
    elif kind == 1:
        line[0], line[1], line[4] = total, rest, count
        line[2], line[3] = dd.two_product(high, count)
    else:
        line[2], line[3], line[4] = total, rest, count
        line[0], line[1] = dd.two_product(low, count)


@inner
def set_averages(
    kind: int, pool: FloatArray, r: int, inverse: FloatArray, slot: int, out: FloatArray
) -> None:
    """Set the rounded averages of a slot, whose row is r, where the linkage has them."""
    if kind > 0:
        for i in range(out.size):
            out[i] = pool[r, kind - 1, i] * inverse[slot] * inverse[i]
