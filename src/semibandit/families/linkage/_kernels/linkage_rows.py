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
    row_of: IntArray  # index in the pool of the row of a slot; -1 for a single point
    seen: IntArray  # number of merges that the row of a slot includes; 0 without a row
    free: IntArray  # a stack of unused rows: its height, then its entries
    log: UnsignedArray  # the merges so far, as (x, y)
    sizes: IntArray
    inverse: FloatArray  # 1 / sizes


def new_rows(D: FloatArray, kind: int) -> Rows:
    """Return the state of an agglomeration of the points of D, which `start_rows` initialises."""
    n = D.shape[0]
    height = n // 2 + 1 + _SCRATCH
    return Rows(
        D=D,
        kind=kind,
        pool=np.empty((height, 2 if kind == 0 else 3, n)),
        row_of=np.empty(n, np.int64),
        seen=np.empty(n, np.int64),
        free=np.empty(height, np.int64),
        log=np.empty((n, 2), np.uint64),
        sizes=np.empty(n, np.int64),
        inverse=np.empty(n),
    )


@inner
def start_rows(rows: Rows) -> None:
    """Reset the state to single points."""
    rows.row_of[:] = -1
    rows.seen[:] = 0
    rows.sizes[:] = 1
    rows.inverse[:] = 1.0
    height = rows.free.size - _SCRATCH
    rows.free[0] = height
    for i in range(height):
        rows.free[i + 1] = rows.free.size - 1 - i


@inner
def fetch(rows: Rows, slot: int, scratch: int, now: int) -> int:
    """Return the index in the pool of a slot's row after log[:now]; that of a point is made in `scratch`."""
    r = rows.row_of[slot]
    if r < 0:
        return _fetch_point(rows.kind, rows.D, rows.pool, rows.log, slot, scratch, now)
    if rows.seen[slot] < now:
        _repeat(rows.kind, rows.pool, r, rows.log, rows.seen[slot], now)
        rows.seen[slot] = now
    return int(r)


@inner
def _fetch_point(
    kind: int, D: FloatArray, pool: FloatArray, log: UnsignedArray, point: int, r: int, now: int
) -> int:
    """Return the row of a point after log[:now], made in row r."""
    for i in range(D.shape[1]):
        pool[r, 0, i] = pool[r, 1, i] = D[point, i]
    if kind > 0:
        pool[r, 2] = 0.0
    _repeat(kind, pool, r, log, 0, now)
    return r


@inner
def _repeat(kind: int, pool: FloatArray, r: int, log: UnsignedArray, start: int, now: int) -> None:
    """Apply the merges log[start:now] to row r. Minima and maxima may include some of them already."""
    if kind == 0:
        p, q = pool[r, 0], pool[r, 1]
        for t in range(start, now):
            x, y = log[t, 0], log[t, 1]
            p[y] = p[x] if p[x] < p[y] else p[y]
            q[y] = q[x] if q[x] > q[y] else q[y]
    else:
        _repeat_sums(kind, pool[r, kind - 1], pool[r, 2 - kind], pool[r, 2], log, start, now)


@inner
def _repeat_sums(
    kind: int, total: FloatArray, end: FloatArray, rest: FloatArray, log: UnsignedArray, start: int, now: int
) -> None:
    for t in range(start, now):
        x, y = log[t, 0], log[t, 1]
        total[y], rest[y] = dd.add(total[x], rest[x], total[y], rest[y])
        end[y] = max(end[x], end[y]) if kind == 1 else min(end[x], end[y])


@inner
def _pop(free: IntArray) -> int:
    """Return an unused row."""
    free[0] -= 1
    return int(free[free[0] + 1])


@inner
def _free_row(rows: Rows, slot: int) -> None:
    """Release the row of a slot, if it has one."""
    if rows.row_of[slot] >= 0:
        rows.free[0] += 1
        rows.free[rows.free[0]] = rows.row_of[slot]
    rows.row_of[slot] = -1


@inner
def join(rows: Rows, x: int, y: int, now: int) -> int:
    """Merge x into y as merge number `now`; return the index of the new row. O(n).

    Minima and maxima are joined first; then the merges that either row missed are applied. The result is a
    third row, because loops that write to their input are not vectorised.
    """
    if rows.kind == 0:
        rx, ry = rows.row_of[x], rows.row_of[y]
        place, D, pool = _pop(rows.free), rows.D, rows.pool
        _minimum(pool[rx, 0] if rx >= 0 else D[x], pool[ry, 0] if ry >= 0 else D[y], pool[place, 0])
        _maximum(pool[rx, 1] if rx >= 0 else D[x], pool[ry, 1] if ry >= 0 else D[y], pool[place, 1])
        start = min(rows.seen[x], rows.seen[y])
        _repeat(rows.kind, pool, place, rows.log, start, now)
        _free_row(rows, x)
        _free_row(rows, y)
    else:
        place = _join_sums(rows, x, y, now)
    rows.row_of[y] = place
    rows.sizes[y] += rows.sizes[x]
    rows.inverse[y] = 1.0 / rows.sizes[y]
    rows.log[now, 0], rows.log[now, 1] = x, y
    rows.seen[y] = now + 1
    return place


@inner
def _minimum(p: FloatArray, q: FloatArray, out: FloatArray) -> None:
    for i in range(out.size):
        out[i] = p[i] if p[i] < q[i] else q[i]


@inner
def _maximum(p: FloatArray, q: FloatArray, out: FloatArray) -> None:
    for i in range(out.size):
        out[i] = p[i] if p[i] > q[i] else q[i]


@inner
def _join_sums(rows: Rows, x: int, y: int, now: int) -> int:
    """Join rows with sums. A merge must be added only once, so both rows are updated first."""
    p, q = rows.pool[fetch(rows, x, FIRST, now)], rows.pool[fetch(rows, y, SECOND, now)]
    _free_row(rows, x)
    _free_row(rows, y)
    place, s = _pop(rows.free), rows.kind - 1
    out = rows.pool[place]
    for i in range(out.shape[1]):
        out[s, i], out[2, i] = dd.add(p[s, i], p[2, i], q[s, i], q[2, i])
        if s == 0:
            out[1, i] = max(p[1, i], q[1, i])
        else:
            out[0, i] = min(p[0, i], q[0, i])
    return place


@inner
def read_line(rows: Rows, r: int, slot: int, other: int, line: FloatArray) -> None:
    """Write the exact line between a slot, whose row is r, and another slot."""
    row = rows.pool[r]
    if rows.kind == 0:
        set_line(line, 0, row[0, other], row[1, other], 0.0, 0.0, 1.0)
    else:
        count = float(rows.sizes[slot] * rows.sizes[other])
        s = rows.kind - 1
        set_line(line, rows.kind, row[0, other], row[1, other], row[s, other], row[2, other], count)


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
def set_averages(kind: int, row: FloatArray, inverse: FloatArray, slot: int, out: FloatArray) -> None:
    """Write the rounded averages of a slot's row, for linkages with averages."""
    if kind > 0:
        for i in range(out.size):
            out[i] = row[kind - 1, i] * inverse[slot] * inverse[i]
