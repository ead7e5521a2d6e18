"""ρ-linkage where the linkage is not reducible (single-average): a merge may bring clusters closer.

Then the order of merges matters and heights may fall. The tree is built by always merging the closest pair,
with each cluster's nearest neighbour cached; the certificate is that of the merge sequence.
"""

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.certificate import following
from semibandit.families.linkage._kernels.chain import nearest, smallest
from semibandit.families.linkage._kernels.crossings import SLACK, before, narrow, pair_index, top, value_at
from semibandit.families.linkage._kernels.linkage_rows import (
    FIRST,
    NO_MERGES,
    Rows,
    TreeArrays,
    fetch,
    join,
    read_line,
    start_rows,
)


@inner
def _closest(near: IntArray, values: FloatArray, lines: FloatArray, rho: float) -> int:
    """Return the slot whose pair with its nearest neighbour comes first."""
    n = near.size
    e = np.empty(64)
    threshold = smallest(values) * (1.0 + 2.0 * SLACK)
    best = -1
    for i in range(n):
        if values[i] <= threshold and (
            best < 0
            or before(
                rho, lines[i], pair_index(i, near[i], n), lines[best], pair_index(best, near[best], n), e
            )
        ):
            best = i
    return best


@kernel
def greedy_tree(rows: Rows, rho: float) -> tuple[TreeArrays, IntArray]:
    """Return the tree at rho as (into, part, size, lines), and the order of its merges.

    O(n²) as a rule, O(n³) at worst.
    """
    kind, pool, sizes = rows.kind, rows.pool, rows.sizes
    n = sizes.size
    into, part, size = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    lines, order = np.empty((n - 1, 5)), np.empty(n - 1, np.int64)
    near, near_lines, near_values = np.empty(n, np.int64), np.empty((n, 5)), np.empty(n)
    penalty = np.zeros(n)
    values = np.empty(n)
    e, line = np.empty(64), np.empty(5)
    stale = np.ones(n, np.bool_)
    start_rows(rows)
    for now in range(n - 1):
        for i in range(n):
            if stale[i]:
                r = fetch(rows, i, FIRST, now)
                near[i] = nearest(rows, r, i, rho, penalty, values)
                read_line(kind, pool, sizes, r, i, near[i], near_lines[i])
                near_values[i] = value_at(near_lines[i], rho)
                stale[i] = False
        best = _closest(near, near_values, near_lines, rho)
        x, y = min(best, near[best]), max(best, near[best])
        order[now], into[x], part[x], lines[x] = x, y, sizes[x], near_lines[best]
        r = join(rows, x, y, now)
        size[x] = sizes[y]
        penalty[x] = near_values[x] = np.inf
        for i in range(n):
            if penalty[i] == 0.0 and i != y:
                read_line(kind, pool, sizes, r, y, i, line)
                if before(
                    rho, line, pair_index(i, y, n), near_lines[i], pair_index(i, near[i], n), e
                ):  # fmt: skip
                    near[i] = y
                    near_lines[i] = line
                    near_values[i] = value_at(line, rho)
                elif near[i] == x or near[i] == y:
                    stale[i] = True
        stale[y] = True
    return (into, part, size, lines), order


@inner
def _highest(lines: FloatArray, order: IntArray, start: int, at: float, out: FloatArray) -> None:
    """Write to out[t] the largest value of the merges from rank `start` to t, raised by rounding."""
    highest = 0.0
    for t in range(start, order.size):
        highest = max(highest, value_at(lines[order[t]], at) * (1.0 + SLACK))
        out[t] = highest


@kernel
def sequence_interval(
    rows: Rows, tree: TreeArrays, order: IntArray, rho: float, lo: float, hi: float
) -> tuple[float, float]:
    """Return the interval around rho in [lo, hi) with the same merge sequence (Algorithm 3).

    A pair must come after every merge that is made while both its clusters exist. At an end of the interval,
    one comparison with the highest of these merges is enough. O(n²), plus O(n) for each pair that narrows it.
    """
    into, part, size, lines = tree
    n = into.size + 1
    _, ending, of_merge = following(into, part, size, order)
    highest = np.empty((2, n))
    e, line = np.empty(64), np.empty(5)
    start_rows(rows)
    for born in range(-n, n - 2):  # first the points, then the merges
        if born < 0:
            slot, own, now = born + n, ending[born + n], NO_MERGES
            r = fetch(rows, slot, FIRST, now)
        else:
            x, own, now = order[born], of_merge[born], born + 1
            slot = into[x]
            ending[x] = -1
            r = join(rows, x, slot, born)
        ending[slot] = own
        _highest(lines, order, now, lo, highest[0])
        _highest(lines, order, now, top(hi), highest[1])
        for i in range(slot + 1 if born < 0 else 0, n):
            if ending[i] < 0 or i == slot:
                continue
            # Leave out the merge of the pair itself.
            last = min(own, ending[i]) - (1 if ending[i] == own else 0)
            if last < now:
                continue
            read_line(rows.kind, rows.pool, rows.sizes, r, slot, i, line)
            if value_at(line, lo) > highest[0, last] and value_at(line, top(hi)) > highest[1, last]:
                continue
            for t in range(now, last + 1):
                z = order[t]
                merge, this = pair_index(z, into[z], n), pair_index(slot, i, n)
                _, lo, hi = narrow(lines[z], merge, line, this, rho, lo, hi, e)
            _highest(lines, order, now, lo, highest[0])
            _highest(lines, order, now, top(hi), highest[1])
    return lo, hi
