"""A given tree with other distances: its lines, and an interval on which it is certainly wrong.

A cluster is *born* by a merge (a point: from the start) and *ended* by the merge that takes it in. Two
clusters A and C with the line d refute a tree where both exist and d comes before both merges that end them:
b(A) < e(C), b(C) < e(A), d < e(A) and d < e(C), for the births b and the ends e. A merge that comes before
the birth of one of its parts refutes it as well. Lines cross at most once, so each refutation holds on an
interval of ρ, and a search can leave that interval at once.
"""

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.certificate import merge_before, merge_span
from semibandit.families.linkage._kernels.crossings import END, narrow, pair_index
from semibandit.families.linkage._kernels.interchange import ender
from semibandit.families.linkage._kernels.linkage_rows import Rows, TreeArrays, set_line


@kernel
def tree_lines(rows: Rows, into: IntArray, by_size: IntArray) -> FloatArray:
    """Return the lines of a tree's merges over the distances of `rows`. Each pair is in one merge: O(n²).

    `by_size` are the merges by the size of their clusters, an order in which they can be made.
    """
    n = into.size + 1
    lines = np.empty((n - 1, 5))
    # The points of a slot are a linked list that starts at the slot itself.
    after, last, sizes = np.full(n, -1, np.int64), np.arange(n), np.ones(n, np.int64)
    for x in by_size:
        y = into[x]
        low, high, total, rest = np.inf, 0.0, 0.0, 0.0
        i = x
        while i >= 0:
            j = y
            while j >= 0:
                d = rows.D[i, j]
                low, high = min(low, d), max(high, d)
                if rows.kind == 1:
                    total, rest = dd.add(total, rest, d, 0.0)
                j = after[j]
            i = after[i]
        set_line(lines[x], rows.kind, low, high, total, rest, float(sizes[x] * sizes[y]))
        after[last[y]], last[y] = x, last[x]
        sizes[y] += sizes[x]
    return lines


@inner
def _birth(tree: TreeArrays, slot: int, count: int) -> int:
    """Return the merge that makes the cluster of `count` points in a slot; -1 for a point."""
    for x in range(tree[0].size):
        if tree[0][x] == slot and tree[2][x] == count:
            return x
    return -1


@kernel
def refuted_interval(tree: TreeArrays, doubt: FloatArray, rho: float) -> tuple[float, float]:
    """Return an interval [lo, hi) around rho on which the tree is wrong, as it is at rho. O(n).

    `doubt` is the pair of clusters for which `tree_interval` failed at rho; its sizes are zero if the merges
    do not build the tree in their order at rho. That case takes O(n²) at worst.
    """
    into, _, size, lines = tree
    n = into.size + 1
    e = np.empty(64)
    if doubt[1] == 0.0:
        for x in range(n - 1):
            end = ender(tree, into[x], size[x])
            if end >= 0 and merge_before(into, lines, rho, end, x, e):
                return merge_span(into, lines, end, x, rho, 0.0, END, e)
    p, n_p, q, n_q = int(doubt[0]), int(doubt[1]), int(doubt[2]), int(doubt[3])
    end_p, end_q = ender(tree, p, n_p), ender(tree, q, n_q)
    lo, hi = 0.0, END
    for x in (end_p, end_q):
        index = pair_index(x, into[x], n)
        _, lo, hi = narrow(doubt[4:], pair_index(p, q, n), lines[x], index, rho, lo, hi, e)
    for birth, x in ((_birth(tree, p, n_p), end_q), (_birth(tree, q, n_q), end_p)):
        if birth >= 0:
            lo, hi = merge_span(into, lines, birth, x, rho, lo, hi, e)
    return lo, hi
