"""The cluster nearest to a point, from the distances alone.

No cluster is closer to a point than the closest of its members, whatever the linkage. So the nearest point
shows how far to look, and only clusters with a member up to there come into question. As a rule these are a
few small ones, whose lines are made member by member; a row of linkages would have to repeat all merges.
"""

from typing import Any, NamedTuple

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.exact import SLACK, before, copy_line, pair_index, value_at
from semibandit.families.linkage._kernels.matrices import INF_BITS
from semibandit.families.linkage._kernels.rows import Rows, set_line

_BLOCK = 32
_UNSIGNED: Any = np.int64(0x7FFFFFFFFFFFFFFF)  # without the sign that a zero may have


class Members(NamedTuple):
    """Which points the clusters hold."""

    slot: IntArray  # that of the cluster that a point is in
    after: IntArray  # the next point of its cluster, or -1; the first one is the slot itself
    asked: IntArray  # the last search that has looked at a cluster
    minima: IntArray  # room for those of a row, block by block


@inner
def single_points(n: int) -> Members:
    """Each point for itself."""
    nothing = np.full(n, -1, np.int64)
    return Members(np.arange(n), nothing, nothing.copy(), np.empty((n - 1) // _BLOCK + 1, np.int64))


@inner
def unite(members: Members, x: int, y: int) -> None:
    """The points of slot x go to y, behind its first. O(n)."""
    slot, after = members.slot, members.after
    last = x
    slot[x] = y
    while after[last] >= 0:
        last = after[last]
        slot[last] = y
    after[last] = after[y]
    after[y] = x


@inner
def _line_to(kind: int, row: FloatArray, after: IntArray, slot: int, far: float, line: FloatArray) -> bool:
    """The exact line between a point, by its distances, and a cluster; False if a member is beyond `far`."""
    low, high, total, rest, count = np.inf, 0.0, 0.0, 0.0, 0
    i = slot
    while i >= 0:
        d = row[i]
        if d > far:
            return False
        low, high = min(low, d), max(high, d)
        if kind > 0:
            total, rest = dd.add(total, rest, d, 0.0)
        count += 1
        i = after[i]
    set_line(line, kind, low, high, total, rest, float(count))
    return True


@inner
def _block_minima(row: IntArray, point: int, minima: IntArray) -> None:
    """The smallest distance from a point in each block of its row, but for that to itself; all as bits."""
    for b in range(minima.size):
        block = row[_BLOCK * b : _BLOCK * (b + 1)]
        low = INF_BITS
        for i in range(block.size):
            low = min(low, block[i] & _UNSIGNED)
        minima[b] = low
    b = point // _BLOCK
    minima[b] = INF_BITS
    for i in range(_BLOCK * b, min(_BLOCK * (b + 1), row.size)):
        if i != point:
            minima[b] = min(minima[b], row[i] & _UNSIGNED)


@inner
def _first(row: IntArray, point: int, minima: IntArray) -> int:
    """The first of the points that are nearest to a point."""
    b = 0
    for c in range(minima.size):
        b = c if minima[c] < minima[b] else b
    i = _BLOCK * b
    while i == point or row[i] & _UNSIGNED != minima[b]:
        i += 1
    return int(i)


@inner
def _how_far(value: float, low: float, rho: float) -> float:
    """No member of a cluster up to a value is farther than this, where none is closer than `low`."""
    return (value - (1.0 - rho) * low) / rho * (1.0 + SLACK)


@inner
def nearest_to_point(
    rows: Rows, members: Members, point: int, search: int, rho: float, lines: FloatArray, e: FloatArray
) -> int:
    """The cluster nearest to a point, exactly; their line is the first of two `lines`. O(n).

    While the nearest point is on its own it stays the nearest: a merge brings no cluster closer. `search` is
    another number in each call, `e` room for an expansion.
    """
    row = rows.D[point]
    _block_minima(row.view(np.int64), point, members.minima)
    first = _first(row.view(np.int64), point, members.minima)
    best = members.slot[first]
    _line_to(rows.kind, row, members.after, best, np.inf, lines[0])
    if rows.sizes[best] > 1:
        best = _nearest_of(rows.kind, row, members, point, first, search, rho, lines, e)
    return int(best)


@inner
def _nearest_of(
    kind: int, row: FloatArray, members: Members, point: int, first: int, search: int, rho: float,
    lines: FloatArray, e: FloatArray,
) -> int:  # fmt: skip
    """The nearest cluster, where the first line is that of the cluster with the nearest point."""
    slot, after, asked, minima = members
    n = row.size
    best = slot[first]
    asked[best] = asked[point] = search
    value = value_at(lines[0], rho) * (1.0 + SLACK)
    far = _how_far(value, row[first], rho)
    for b in range(minima.size):
        if minima[b] > np.float64(value).view(np.int64):
            continue
        for i in range(_BLOCK * b, min(_BLOCK * (b + 1), n)):
            if row[i] > value or asked[slot[i]] == search:
                continue
            other = slot[i]
            asked[other] = search
            if (
                _line_to(kind, row, after, other, far, lines[1])
                and value_at(lines[1], rho) <= value
                and before(
                    rho, lines[1], pair_index(point, other, n), lines[0], pair_index(point, best, n), e
                )
            ):
                best = other
                copy_line(lines[1], lines[0])
                value = value_at(lines[0], rho) * (1.0 + SLACK)
                far = _how_far(value, row[first], rho)
    return int(best)
