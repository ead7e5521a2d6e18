"""The cluster tree at one ρ by the nearest-neighbour chain, in O(n²)."""

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.crossings import (
    CLOSE,
    SLACK,
    before,
    copy_line,
    pair_index,
    value_at,
)
from semibandit.families.linkage._kernels.linkage_rows import (
    FIRST,
    Rows,
    TreeArrays,
    fetch,
    join,
    read_line,
    set_line,
    start_rows,
)
from semibandit.families.linkage._kernels.matrices import INF_BITS


@inner
def smallest(values: FloatArray) -> float:
    """Return the smallest of non-negative values.

    Their bits have the same order, and the minimum of integers is vectorised.
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
    kind: int, p: FloatArray, q: FloatArray, inverse: FloatArray, share: float, rho: float,
    penalty: FloatArray, out: FloatArray,
) -> int:  # fmt: skip
    """Write the rounded values of the lines of a row, plus the penalty; return the bits of the smallest.

    `share` is the inverse size of the row's cluster. Bits of non-negative values have the same order, and the
    minimum of integers is vectorised.
    """
    low, stay = INF_BITS, 1.0 - rho
    if kind == 0:
        for i in range(out.size):
            out[i] = value = stay * p[i] + rho * q[i] + penalty[i]
            low = min(low, np.float64(value).view(np.int64))
    elif kind == 1:
        stay *= share
        for i in range(out.size):
            out[i] = value = stay * inverse[i] * p[i] + rho * q[i] + penalty[i]
            low = min(low, np.float64(value).view(np.int64))
    else:
        rho *= share
        for i in range(out.size):
            out[i] = value = stay * p[i] + rho * inverse[i] * q[i] + penalty[i]
            low = min(low, np.float64(value).view(np.int64))
    return int(low)


@inner
def _only_one(bits: IntArray, limit: int) -> int:
    """Return the index of the only value up to a limit, both by their bits; or -1."""
    close, best = 0, 0
    for i in range(bits.size):
        near = bits[i] <= limit
        close += near
        best += i if near else 0
    return best if close == 1 else -1


@inner
def _nearest_of(rows: Rows, r: int, x: int, rho: float, bits: IntArray, limit: int) -> int:
    """Return the cluster nearest to x among those with values up to a limit, exactly."""
    n = bits.size
    e, lines = np.empty(64), np.empty((2, 5))
    best = -1
    for i in range(n):
        if bits[i] <= limit:
            read_line(rows, r, x, i, lines[1])
            if best < 0 or before(rho, lines[1], pair_index(x, i, n), lines[0], pair_index(x, best, n), e):
                best = i
                copy_line(lines[1], lines[0])
    return best


@inner
def nearest(
    rows: Rows, r: int, x: int, rho: float, penalty: FloatArray, values: FloatArray, line: FloatArray
) -> int:
    """Return the cluster nearest to x, whose row is r, and write their line.

    `penalty` is infinite at empty slots; `values` is working memory for a row.
    """
    pool, inverse = rows.pool, rows.inverse
    penalty[x] = np.inf
    low = _row_values(rows.kind, pool[r, 0], pool[r, 1], inverse, inverse[x], rho, penalty, values)
    penalty[x] = 0.0
    best = _only_one(values.view(np.int64), low + CLOSE)
    if best < 0:
        best = _nearest_of(rows, r, x, rho, values.view(np.int64), low + CLOSE)
    read_line(rows, r, x, best, line)
    return best


@inner
def _nearest_single(rows: Rows, x: int, penalty: FloatArray) -> int:
    """Return the point nearest to x if both are still clusters of their own, else -1.

    A merge brings no cluster closer to x, nor ahead of others in the order of pairs.
    """
    if rows.sizes[x] > 1:
        return -1
    row = rows.D[x]
    low = min(smallest(row[:x]), smallest(row[x + 1 :]))
    y = 0
    while y == x or row[y] != low:
        y += 1
    return y if rows.sizes[y] == 1 and penalty[y] == 0.0 else -1


@kernel
def below(lines: FloatArray, order: IntArray, rho: float, line: FloatArray) -> IntArray:
    """Return the merges of an order whose lines are clearly below another one at rho."""
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
    """Return the tree at rho as (into, part, size, lines), for a reducible linkage. O(n²)."""
    n = rows.sizes.size
    into, part, size = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    return chain_on(rows, rho, (into, part, size, np.empty((n - 1, 5))), into[:0])


@kernel
def chain_on(rows: Rows, rho: float, tree: TreeArrays, made: IntArray) -> TreeArrays:
    """Build the tree at rho from the merges `made` of another tree, in this order, and overwrite that tree.

    From the first of them that cannot be made, the tree is built anew.

    The chain of nearest neighbours ends in a pair of mutual nearest neighbours. For a reducible linkage,
    d(A ∪ B, C) ≥ min(d(A, C), d(B, C)), no other merge separates such a pair, so it is merged at once. This
    holds for the whole order, ties included: the inequality holds for every ρ, hence just right of ρ, and for
    equal lines the index decides; A ∪ B is named by its largest point, so its pair with C has no smaller
    index.
    """
    n = rows.sizes.size
    into, part, size, lines = tree
    penalty, values = np.zeros(n), np.empty(n)
    line, chain = np.empty(5), np.empty(n, np.int64)
    length = 0
    start_rows(rows)
    n_made = 0
    for x in made:
        y = into[x]
        if rows.sizes[x] != part[x] or rows.sizes[x] + rows.sizes[y] != size[x]:
            break
        join(rows, x, y, n_made)
        penalty[x] = np.inf
        n_made += 1
    for now in range(n_made, n - 1):
        if length == 0:
            chain[0] = n - 1  # the last slot is never emptied
            length = 1
        while True:
            x = chain[length - 1]
            y = _nearest_single(rows, x, penalty)
            if y >= 0:
                set_line(line, rows.kind, rows.D[x, y], rows.D[x, y], rows.D[x, y], 0.0, 1.0)
            else:
                y = nearest(rows, fetch(rows, x, FIRST, now), x, rho, penalty, values, line)
            if length > 1 and chain[length - 2] == y:
                break
            chain[length] = y
            length += 1
        length -= 2
        x, y = min(x, y), max(x, y)
        copy_line(line, lines[x])
        into[x], part[x] = y, rows.sizes[x]
        join(rows, x, y, now)
        size[x] = rows.sizes[y]
        penalty[x] = np.inf
    return into, part, size, lines
