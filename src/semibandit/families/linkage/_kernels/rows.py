"""The linkages of one cluster to all others, kept up to date lazily.

A row holds what a cluster has for min, max or sum with each slot. When x is merged into y, every row would
have to change in one place, which costs a cache miss each. Instead the merge is only noted; a row repeats
the merges that it missed when it is next read, from its own entries: the min to x ∪ y is the min of those to
x and to y, and likewise for max and sum. Points that were never merged need no row at all: theirs is made
from the distances in a scratch row. So rows are needed for n/2 clusters at most.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _double_double as dd
from semibandit._jit import inner
from semibandit._validate import FloatArray, IntArray

# An index that cannot be negative needs no check for that.
UnsignedArray = npt.NDArray[np.uint64]
# A tree: into, part, size and lines.
TreeArrays = tuple[IntArray, IntArray, IntArray, FloatArray]
# Rows 0 and 1 of the pool are scratch, for the two clusters of a merge.
# As numpy integers these are not compiled for each value anew.
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
    row_of: IntArray  # where the row of a slot is; -1 while it holds a single point
    seen: IntArray  # how many merges the row of a slot has taken in
    free: IntArray  # a stack of unused rows: its height, then its entries
    log: UnsignedArray  # the merges so far, as (x, y)
    sizes: IntArray
    inverse: FloatArray  # 1 / sizes


def pool_size(n: int, kind: int) -> int:
    """How many doubles the rows of an agglomeration of n points take."""
    return (n // 2 + 1 + _SCRATCH) * (2 if kind == 0 else 3) * n


def new_rows(D: FloatArray, kind: int, memory: FloatArray) -> Rows:
    """The state of an agglomeration of the points of D, its rows in `memory`."""
    n = D.shape[0]
    height = n // 2 + 1 + _SCRATCH
    return Rows(
        D=D,
        kind=kind,
        pool=memory[: pool_size(n, kind)].reshape(height, 2 if kind == 0 else 3, n),
        row_of=np.empty(n, np.int64),
        seen=np.empty(n, np.int64),
        free=np.empty(height, np.int64),
        log=np.empty((n, 2), np.uint64),
        sizes=np.empty(n, np.int64),
        inverse=np.empty(n),
    )


@inner
def start_rows(rows: Rows) -> None:
    """Back to single points."""
    rows.row_of[:] = -1
    rows.seen[:] = 0
    rows.sizes[:] = 1
    rows.inverse[:] = 1.0
    height = rows.free.size - _SCRATCH
    rows.free[0] = height
    for i in range(height):
        rows.free[i + 1] = rows.free.size - 1 - i


@inner
def _copy_twice(row: FloatArray, p: FloatArray, q: FloatArray) -> None:
    for i in range(row.size):
        p[i] = row[i]
        q[i] = row[i]


@inner
def fetch(rows: Rows, slot: int, scratch: int, now: int) -> int:
    """The row of a slot after log[:now], as an index into the pool; that of a point is made in `scratch`."""
    r, start = rows.row_of[slot], rows.seen[slot]
    if r < 0:
        r, start = scratch, 0
        _copy_twice(rows.D[slot], rows.pool[r, 0], rows.pool[r, 1])
        if rows.kind > 0:
            rows.pool[r, 2] = 0.0
    p, q, log = rows.pool[r, 0], rows.pool[r, 1], rows.log
    if rows.kind == 0:
        for t in range(start, now):
            x, y = log[t, 0], log[t, 1]
            p[y] = p[x] if p[x] < p[y] else p[y]
            q[y] = q[x] if q[x] > q[y] else q[y]
    elif rows.kind == 1:
        rest = rows.pool[r, 2]
        for t in range(start, now):
            x, y = log[t, 0], log[t, 1]
            p[y], rest[y] = dd.add(p[x], rest[x], p[y], rest[y])
            q[y] = max(q[x], q[y])
    else:
        rest = rows.pool[r, 2]
        for t in range(start, now):
            x, y = log[t, 0], log[t, 1]
            p[y] = min(p[x], p[y])
            q[y], rest[y] = dd.add(q[x], rest[x], q[y], rest[y])
    rows.seen[slot] = now
    return int(r)


@inner
def fetch_to_keep(rows: Rows, slot: int, scratch: int, now: int) -> int:
    """The same; a point keeps its row, to be brought up to date next time, once there are rows for all."""
    if rows.row_of[slot] >= 0 or rows.sizes.size - now > rows.free.size - _SCRATCH:
        return fetch(rows, slot, scratch, now)
    rows.row_of[slot] = fetch(rows, slot, _pop(rows.free), now)
    return int(rows.row_of[slot])


@inner
def _pop(free: IntArray) -> int:
    """An unused row."""
    free[0] -= 1
    return int(free[free[0] + 1])


@inner
def _take_row(rows: Rows, x: int, y: int) -> int:
    """A place for the row of x ∪ y: that of y or of x, or a free one. What is left over becomes free."""
    row_of, free = rows.row_of, rows.free
    place = row_of[y] if row_of[y] >= 0 else row_of[x]
    if place < 0:
        place = _pop(free)
    elif row_of[y] >= 0 and row_of[x] >= 0:
        free[0] += 1
        free[free[0]] = row_of[x]
    row_of[x] = -1
    row_of[y] = place
    return int(place)


@inner
def join(rows: Rows, x: int, y: int, rx: int, ry: int, now: int) -> int:
    """Merge x into y, whose rows were fetched, as merge number `now`; the place of the new row. O(n)."""
    p, q = rows.pool[rx], rows.pool[ry]
    place = _take_row(rows, x, y)
    out = rows.pool[place]
    if rows.kind != 1:
        _minimum(p[0], q[0], out[0])
    if rows.kind != 2:
        _maximum(p[1], q[1], out[1])
    if rows.kind > 0:
        s = rows.kind - 1
        for i in range(out.shape[1]):
            out[s, i], out[2, i] = dd.add(p[s, i], p[2, i], q[s, i], q[2, i])
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
def read_line(rows: Rows, r: int, slot: int, other: int, line: FloatArray) -> None:
    """The exact line between a slot, whose row is r, and another."""
    row = rows.pool[r]
    line[0], line[1], line[2], line[3], line[4] = row[0, other], 0.0, row[1, other], 0.0, 1.0
    if rows.kind > 0:
        count = float(rows.sizes[slot] * rows.sizes[other])
        line[4] = count
        if rows.kind == 1:
            line[1] = row[2, other]
            line[2], line[3] = dd.two_product(row[1, other], count)
        else:
            line[0], line[1] = dd.two_product(row[0, other], count)
            line[3] = row[2, other]


@inner
def ends(
    kind: int, row: FloatArray, inverse: FloatArray, slot: int, room: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The rounded a and b of the lines of a slot's row, over slots; `room` holds what must be computed."""
    if kind == 0:
        return row[0], row[1]
    total, scale = row[kind - 1], inverse[slot]
    for i in range(room.size):
        room[i] = total[i] * scale * inverse[i]
    if kind == 1:
        return room, row[1]
    return row[0], room
