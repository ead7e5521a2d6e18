"""The cluster tree at one ρ by the nearest-neighbour chain, in O(n²)."""

from typing import Any

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.exact import SLACK, before, value_at
from semibandit.families.linkage._kernels.matrices import INF_BITS
from semibandit.families.linkage._kernels.rows import (
    FIRST,
    NONE,
    SECOND,
    Rows,
    TreeArrays,
    fetch,
    fetch_to_keep,
    join,
    read_line,
    start_rows,
)

# So many doubles above another one lies what differs from it relatively by SLACK, and a little more.
_CLOSE: Any = np.int64(64)


@inner
def pair_index(x: int, y: int, n: int) -> int:
    """Orders pairs of slots: by the smaller slot, then by the larger."""
    return min(x, y) * n + max(x, y)


@inner
def smallest(values: FloatArray) -> float:
    """The smallest of non-negative values. Their bits are ordered as they are, and the minimum of integers
    is vectorised.
    """
    bits = values.view(np.int64)
    low = INF_BITS
    for i in range(bits.size):
        low = min(low, bits[i])
    box = np.empty(1)
    box.view(np.int64)[0] = low
    return float(box[0])


@inner
def _row_values(
    kind: int,
    row: FloatArray,
    inverse: FloatArray,
    slot: int,
    rho: float,
    penalty: FloatArray,
    out: FloatArray,
) -> None:
    """The rounded values of the lines of a slot's row, plus the penalty."""
    p, q, stay = row[0], row[1], 1.0 - rho
    if kind == 0:
        for i in range(out.size):
            out[i] = stay * p[i] + rho * q[i] + penalty[i]
    elif kind == 1:
        stay *= inverse[slot]
        for i in range(out.size):
            out[i] = stay * inverse[i] * p[i] + rho * q[i] + penalty[i]
    else:
        go = rho * inverse[slot]
        for i in range(out.size):
            out[i] = stay * p[i] + go * inverse[i] * q[i] + penalty[i]


@inner
def _only_smallest(bits: IntArray) -> tuple[int, int]:
    """Up to where values count as close to the smallest one, and the index of the only one that is, or -1.

    All by the bits of values that are not negative, which are ordered as these.
    """
    low = INF_BITS
    for i in range(bits.size):
        low = min(low, bits[i])
    limit = low + _CLOSE
    close, best = 0, 0
    for i in range(bits.size):
        near = bits[i] <= limit
        close += near
        best += i if near else 0
    return limit, best if close == 1 else -1


@inner
def _nearest_of(rows: Rows, r: int, x: int, rho: float, bits: IntArray, limit: int) -> int:
    """The cluster nearest to x among those with values up to a limit, exactly."""
    n = bits.size
    e, lines = np.empty(64), np.empty((2, 5))
    best = -1
    for i in range(n):
        if bits[i] <= limit:
            read_line(rows, r, x, i, lines[1])
            if best < 0 or before(rho, lines[1], pair_index(x, i, n), lines[0], pair_index(x, best, n), e):
                best = i
                lines[0] = lines[1]
    return best


@inner
def nearest(
    rows: Rows, x: int, scratch: int, rho: float, penalty: FloatArray, values: FloatArray, now: int
) -> tuple[int, int]:
    """The row of x after `now` merges, and the cluster nearest to x.

    `penalty` is infinite at empty slots; `values` is room for the row's.
    """
    r = fetch_to_keep(rows, x, scratch, now)
    penalty[x] = np.inf
    _row_values(rows.kind, rows.pool[r], rows.inverse, x, rho, penalty, values)
    penalty[x] = 0.0
    bits = values.view(np.int64)
    limit, best = _only_smallest(bits)
    if best < 0:
        best = _nearest_of(rows, r, x, rho, bits, limit)
    return r, best


@kernel
def below(lines: FloatArray, order: IntArray, rho: float, line: FloatArray) -> IntArray:
    """The merges of an order whose lines are clearly below another one at rho."""
    limit = value_at(line, rho) * (1.0 - 4.0 * SLACK)
    found = np.empty(order.size, np.int64)
    count = 0
    for x in order:
        if value_at(lines[x], rho) < limit:
            found[count] = x
            count += 1
    return found[:count]


@kernel
def chain_tree(rows: Rows, rho: float) -> TreeArrays:
    """The tree at rho as (into, part, size, lines), for a reducible linkage. O(n²)."""
    n = rows.sizes.size
    into, part, size = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    return chain_on(rows, rho, (into, part, size, np.empty((n - 1, 5))), into[:0])


@kernel
def chain_on(rows: Rows, rho: float, tree: TreeArrays, made: IntArray) -> TreeArrays:
    """The tree at rho that begins with merges of another tree, `made` in this order, and overwrites it.

    From the first of them that cannot be made there, the tree is built anew.

    A cluster's nearest neighbour's nearest neighbour and so on ends in a pair that are each other's nearest.
    For a reducible linkage, d(A ∪ B, C) ≥ min(d(A, C), d(B, C)), no merge elsewhere parts such a pair, so
    it can be merged at once. The same must hold for the whole order, ties included, and it does. By value
    just right of ρ: the inequality holds for every ρ. By index where the lines are equal: A ∪ B is named by
    its largest point, at least the names of A and of B, so that its pair with C has no smaller an index.
    """
    n = rows.sizes.size
    into, part, size, lines = tree
    penalty = np.zeros(n)
    values = np.empty(n)
    chain = np.empty(n, np.int64)
    length = 0
    start_rows(rows)
    n_made = 0
    for x in made:
        y = into[x]
        if rows.sizes[x] != part[x] or rows.sizes[x] + rows.sizes[y] != size[x]:
            break
        join(rows, x, y, fetch(rows, x, FIRST, n_made), fetch(rows, y, SECOND, n_made), n_made)
        penalty[x] = np.inf
        n_made += 1
    for now in range(n_made, n - 1):
        if length == 0:
            chain[0] = n - 1  # the last slot is never emptied
            length = 1
        s = NONE  # the row of the cluster before x in the chain; the two take turns in the scratch rows
        while True:
            x = chain[length - 1]
            r, y = nearest(rows, x, length & 1, rho, penalty, values, now)
            if length > 1 and chain[length - 2] == y:
                break
            chain[length] = y
            length += 1
            s = r
        if s < 0:
            s = fetch(rows, y, 1 - (length & 1), now)
        length -= 2
        if x > y:
            x, y, r, s = y, x, s, r
        read_line(rows, r, x, y, lines[x])
        into[x], part[x] = y, rows.sizes[x]
        join(rows, x, y, r, s, now)
        size[x] = rows.sizes[y]
        penalty[x] = np.inf
    return into, part, size, lines
