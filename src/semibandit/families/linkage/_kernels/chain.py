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
    join,
    read_line,
    set_line,
    start_rows,
    update,
)
from semibandit.families.linkage._kernels.matrices import INF_BITS


@inner
def smallest(values: FloatArray) -> float:
    """Return the smallest of non-negative values.

    Their bits have the same order, and the minimum of integers is vectorised.
    """
    low = INF_BITS
    for i in range(values.size):
        low = min(low, np.float64(values[i]).view(np.int64))
    return float(np.int64(low).view(np.float64))


@inner
def _extremes_at(p: FloatArray, q: FloatArray, rho: float, penalty: FloatArray, out: FloatArray) -> int:
    """Set the rounded values of lines from p to q, plus the penalty; return the bits of the smallest one."""
    low, stay = INF_BITS, 1.0 - rho
    for i in range(out.size):
        out[i] = value = stay * p[i] + rho * q[i] + penalty[i]
        low = min(low, np.float64(value).view(np.int64))
    return int(low)


@inner
def _averages_at(
    total: FloatArray, end: FloatArray, factors: tuple[float, float], inverse: FloatArray,
    penalty: FloatArray, out: FloatArray,
) -> int:  # fmt: skip
    """Do the same for lines with an average, from its sums and the other ends, with a factor for each."""
    (f, g), low = factors, INF_BITS
    for i in range(out.size):
        out[i] = value = f * inverse[i] * total[i] + g * end[i] + penalty[i]
        low = min(low, np.float64(value).view(np.int64))
    return int(low)


@inner
def _only_one(values: FloatArray, limit: int) -> int:
    """Return the index of the only value whose bits are up to a limit; or -1."""
    close, best = 0, 0
    for i in range(values.size):
        near = np.float64(values[i]).view(np.int64) <= limit
        close += 1 if near else 0
        best += i if near else 0
    return best if close == 1 else -1


@inner
def nearest(rows: Rows, r: int, x: int, rho: float, penalty: FloatArray, values: FloatArray) -> int:
    """Return the cluster nearest to x, whose row is r.

    `penalty` is infinite at empty slots; `values` is room for the row's.
    """
    best = _clearly_nearest(rows.kind, rows.pool, r, rows.inverse, x, rho, penalty, values)
    return best if best >= 0 else _nearest_by_lines(rows.kind, rows.pool, rows.sizes, r, x, rho, values)


@inner
def _clearly_nearest(
    kind: int,
    pool: FloatArray,
    r: int,
    inverse: FloatArray,
    x: int,
    rho: float,
    penalty: FloatArray,
    values: FloatArray,
) -> int:
    """Set the rounded values of a row, and return the cluster nearest to x; -1 if others are as close."""
    penalty[x] = np.inf
    if kind == 0:
        low = _extremes_at(pool[r, 0], pool[r, 1], rho, penalty, values)
    else:
        share = inverse[x]
        factors = ((1.0 - rho) * share, rho) if kind == 1 else (rho * share, 1.0 - rho)
        low = _averages_at(pool[r, kind - 1], pool[r, 2 - kind], factors, inverse, penalty, values)
    penalty[x] = 0.0
    return _only_one(values, low + CLOSE)


@inner
def _nearest_by_lines(
    kind: int, pool: FloatArray, sizes: IntArray, r: int, x: int, rho: float, values: FloatArray
) -> int:
    """Return the cluster nearest to x among those with nearly the smallest of the values, exactly."""
    n = values.size
    limit = np.float64(smallest(values)).view(np.int64) + CLOSE
    e, lines = np.empty(64), np.empty((2, 5))
    best = -1
    for i in range(n):
        if np.float64(values[i]).view(np.int64) <= limit:
            read_line(kind, pool, sizes, r, x, i, lines[1])
            if best < 0 or before(rho, lines[1], pair_index(x, i, n), lines[0], pair_index(x, best, n), e):
                best = i
                copy_line(lines[1], lines[0])
    return best


@inner
def _nearest_point(D: FloatArray, x: int) -> int:
    """Return the point nearest to x, the first of several. Zeros may have different signs."""
    bits = INF_BITS
    for i in range(D.shape[1]):
        bits = min(bits, np.float64(D[x, i]).view(np.int64) if i != x else INF_BITS)
    low = np.int64(bits).view(np.float64)
    y = 0
    while y == x or D[x, y] != low:
        y += 1
    return y


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


@inner
def _repeat_merges(rows: Rows, tree: TreeArrays, made: IntArray, penalty: FloatArray) -> int:
    """Make the merges `made` of a tree up to the first that cannot be made; return their number."""
    into, part, size, _ = tree
    sizes = rows.sizes
    for now in range(made.size):
        x, y = made[now], into[made[now]]
        if sizes[x] != part[x] or sizes[x] + sizes[y] != size[x]:
            return now
        join(rows, x, y, now)
        penalty[x] = np.inf
    return int(made.size)


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
    D, kind, pool, places, _, log, sizes, inverse = rows
    n = sizes.size
    into, part, size, lines = tree
    penalty, values = np.zeros(n), np.empty(n)
    line, chain = np.empty(5), np.empty(n, np.int64)
    length = 0
    start_rows(rows)
    for now in range(_repeat_merges(rows, tree, made, penalty), n - 1):
        if length == 0:
            chain[0] = n - 1  # the last slot is never emptied
            length = 1
        while True:
            x, r, y = chain[length - 1], -1, -1
            if sizes[x] == 1:
                y = _nearest_point(D, x)
            # A merge brings no cluster closer to x, nor ahead of others in the order of pairs.
            if y < 0 or sizes[y] > 1 or penalty[y] > 0.0:
                r = update(kind, D, pool, places, log, x, FIRST, now)
                y = _clearly_nearest(kind, pool, r, inverse, x, rho, penalty, values)
                if y < 0:
                    y = _nearest_by_lines(kind, pool, sizes, r, x, rho, values)
            if length > 1 and chain[length - 2] == y:
                break
            chain[length] = y
            length += 1
        length -= 2
        if r >= 0:
            read_line(kind, pool, sizes, r, x, y, line)
        else:
            set_line(line, kind, D[x, y], D[x, y], D[x, y], 0.0, 1.0)
        x, y = min(x, y), max(x, y)
        copy_line(line, lines[x])
        into[x], part[x] = y, sizes[x]
        join(rows, x, y, now)
        size[x] = sizes[y]
        penalty[x] = np.inf
    return into, part, size, lines
