"""The cluster tree at one ρ by the nearest-neighbour chain, in O(n²)."""

import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.exact import SLACK, before
from semibandit.families.linkage._kernels.rows import (
    FIRST,
    SECOND,
    Rows,
    ends,
    fetch,
    join,
    read_line,
    start_rows,
)

_INF_BITS = np.int64(0x7FF0000000000000)


@kernel
def pair_index(x: int, y: int, n: int) -> int:
    """Orders pairs of slots: by the smaller slot, then by the larger."""
    return min(x, y) * n + max(x, y)


@kernel
def smallest(values: FloatArray) -> float:
    """The smallest of non-negative values. Their bits are ordered alike, and the minimum of integers is
    vectorised.
    """
    bits = values.view(np.int64)
    least = np.empty(1)
    low = _INF_BITS
    for i in range(bits.size):
        low = min(low, bits[i])
    least.view(np.int64)[0] = low
    return float(least[0])


@kernel
def nearest(rows: Rows, r: int, x: int, rho: float, penalty: FloatArray, work: FloatArray) -> int:
    """The cluster nearest to x, whose row is r. `penalty` is infinite at slots that do not count.

    Rounded values first; those within rounding of the smallest are compared exactly.
    """
    n = penalty.size
    values = work[1]
    a, b = ends(rows, r, x, work[0])
    stay = 1.0 - rho
    for i in range(n):
        values[i] = stay * a[i] + rho * b[i] + penalty[i]
    threshold = smallest(values) * (1.0 + SLACK)
    close = 0
    for i in range(n):
        close += values[i] <= threshold
    best = 0
    while values[best] > threshold:
        best += 1
    if close > 1:
        e = np.empty(64)
        lines = np.empty((2, 5))
        read_line(rows, r, x, best, lines[0])
        for i in range(best + 1, n):
            if values[i] <= threshold:
                read_line(rows, r, x, i, lines[1])
                if before(rho, lines[1], pair_index(x, i, n), lines[0], pair_index(x, best, n), e):
                    best = i
                    lines[0] = lines[1]
    return best


@kernel
def chain_tree(rows: Rows, rho: float) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """The tree at rho as (into, part, size, lines), for a reducible linkage.

    A cluster's nearest neighbour's nearest neighbour and so on ends in a pair that are each other's nearest.
    For a reducible linkage, d(A ∪ B, C) ≥ min(d(A, C), d(B, C)), no merge elsewhere parts such a pair, so
    it can be merged at once. The same must hold for the whole order, ties included, and it does. By value
    just right of ρ: the inequality holds for every ρ. By index where the lines are equal: A ∪ B is named by
    its largest point, at least the names of A and of B, so that its pair with C has no smaller an index.
    """
    n = rows.sizes.size
    into, part, size = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    lines = np.empty((n - 1, 5))
    penalty = np.zeros(n)
    work = np.empty((2, n))
    chain = np.empty(n, np.int64)
    length = 0
    start_rows(rows)
    for now in range(n - 1):
        if length == 0:
            chain[0] = n - 1  # the last slot is never emptied
            length = 1
        while True:
            x = chain[length - 1]
            r = fetch(rows, x, FIRST, now)
            penalty[x] = np.inf
            y = nearest(rows, r, x, rho, penalty, work)
            penalty[x] = 0.0
            if length > 1 and chain[length - 2] == y:
                break
            chain[length] = y
            length += 1
        length -= 2
        s = fetch(rows, y, SECOND, now)
        if x > y:
            x, y, r, s = y, x, s, r
        read_line(rows, r, x, y, lines[x])
        into[x], part[x] = y, rows.sizes[x]
        join(rows, x, y, r, s, now)
        size[x] = rows.sizes[y]
        penalty[x] = np.inf
    return into, part, size, lines
