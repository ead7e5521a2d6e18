"""A guess of the tree beyond a critical value: usually three clusters are merged in another order.

Where a certificate ends, a pair of clusters P and Q comes before the merge of P and R. If P ∪ R was merged
with Q next, the guess merges P and Q first, then R; all other merges stay. A certificate must confirm it.
"""

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.linkage_rows import TreeArrays


@inner
def ender(tree: TreeArrays, slot: int, count: int) -> int:
    """Return the merge, as the slot it empties, that ends the cluster of `count` points in a slot; or -1."""
    into, part, size, _ = tree
    if slot < into.size and part[slot] == count:
        return slot
    for x in range(into.size):
        if into[x] == slot and size[x] - part[x] == count:
            return x
    return -1


@inner
def _extremes_between(
    D: FloatArray, into: IntArray, order: IntArray, last: int, q: int, n_q: int, r: int, n_r: int
) -> tuple[float, float]:
    """Return the smallest and largest distance between two clusters that exist before the merge `last`."""
    n = into.size + 1
    after, tail = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        after[i], tail[i] = -1, i
    for x in order:
        if x == last:
            break
        y = into[x]
        after[tail[y]], tail[y] = x, tail[x]
    low, high = np.inf, 0.0
    i = q
    for _ in range(n_q):
        row, j = D[i], r
        for _ in range(n_r):
            low, high = min(low, row[j]), max(high, row[j])
            j = after[j]
        i = after[i]
    return low, high


@kernel
def interchange(D: FloatArray, tree: TreeArrays, order: IntArray, doubt: FloatArray) -> bool:
    """Change a single-complete tree as the pair in doubt suggests; return False if it does not apply.

    `order` is that of the merges. O(n), and the pairs of Q and R.
    """
    into, part, size, lines = tree
    p, n_p, q, n_q = int(doubt[0]), int(doubt[1]), int(doubt[2]), int(doubt[3])
    first, second = ender(tree, p, n_p), ender(tree, q, n_q)
    if first < 0 or second < 0 or first == second:
        return False
    if ender(tree, into[first], size[first]) != second:
        p, n_p, q, n_q, first, second = q, n_q, p, n_p, second, first
        if ender(tree, into[first], size[first]) != second:
            return False
    r = into[first] if first == p else first
    n_r = size[first] - n_p
    low, high = _extremes_between(D, into, order, second, q, n_q, r, n_r)
    low, high = min(low, lines[first, 0]), max(high, lines[first, 2])
    x, y = min(p, q), max(p, q)
    into[x], part[x], size[x] = y, n_p if x == p else n_q, n_p + n_q
    for k in range(5):
        lines[x, k] = doubt[4 + k]
    x, z = min(y, r), max(y, r)
    into[x], part[x], size[x] = z, n_p + n_q if x == y else n_r, n_p + n_q + n_r
    lines[x, 0], lines[x, 1], lines[x, 2], lines[x, 3], lines[x, 4] = low, 0.0, high, 0.0, 1.0
    return True
