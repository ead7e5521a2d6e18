"""A given tree with other distances: its lines, and where it certainly is not the tree.

A cluster is *born* by a merge (a point: from the start) and *ended* by the next merge that takes it in. A
tree over given distances has a line for each merge. It is the tree at ρ exactly if

1. no cluster is ended before it is born, and
2. no pair of clusters that are there together comes before both merges that end them.

For two clusters A and C all of that is comparisons of lines: those of their births b, of their ends e, and
of the pair, d. They refute the tree where b(A) < e(C), b(C) < e(A), d < e(A) and d < e(C). Lines cross at
most once, so that this is an interval of ρ: from a ρ where the tree is wrong one can leave it at once.
"""

from typing import NamedTuple

import numpy as np

from semibandit import _numerics as dd
from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.certificate import merge_before, merge_span
from semibandit.families.linkage._kernels.exact import END, SLACK, narrow, pair_index, value_at
from semibandit.families.linkage._kernels.rows import (
    FIRST,
    NO_MERGES,
    NONE,
    Rows,
    fetch,
    join,
    read_line,
    set_averages,
    set_line,
    start_rows,
)


class Tree(NamedTuple):
    """A tree without its lines. A merge is named by the slot that it empties; -1 is none."""

    into: IntArray
    size: IntArray
    by_size: IntArray  # the merges in an order in which they can be made
    ender_of_point: IntArray
    ender_of_merge: IntArray


def new_tree(into: IntArray, size: IntArray) -> Tree:
    """What the kernels need of a tree, whatever the distances."""
    by_size = np.argsort(size, kind="stable")
    return Tree(into, size, by_size, *_enders(into, by_size))


@kernel
def _enders(into: IntArray, by_size: IntArray) -> tuple[IntArray, IntArray]:
    n = into.size + 1
    of_point, of_merge = np.full(n, -1, np.int64), np.full(n - 1, -1, np.int64)
    birth = np.full(n, -1, np.int64)
    for t in range(n - 1):
        x = by_size[t]
        for slot in (x, into[x]):
            if birth[slot] < 0:
                of_point[slot] = x
            else:
                of_merge[birth[slot]] = x
        birth[into[x]] = x
    return of_point, of_merge


@kernel
def tree_lines(rows: Rows, tree: Tree) -> FloatArray:
    """The lines of a tree's merges over the distances of `rows`. Each pair of points is in one: O(n²)."""
    n = tree.into.size + 1
    lines = np.empty((n - 1, 5))
    # The points of a slot as a list: the slot itself, then what comes next.
    after, last, sizes = np.full(n, -1, np.int64), np.arange(n), np.ones(n, np.int64)
    for t in range(n - 1):
        x = tree.by_size[t]
        y = tree.into[x]
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


class _State(NamedTuple):
    """The clusters that are there, by slot."""

    birth: IntArray
    ender: IntArray  # -1 where a slot is empty
    limits: FloatArray  # the value of the ender's line, raised by the rounding error; -1 to leave out


@inner
def _inversion(tree: Tree, lines: FloatArray, rho: float) -> tuple[bool, float, float]:
    """Whether some cluster is ended before it is born, and the interval around rho where it is."""
    e = np.empty(64)
    for x in range(tree.into.size):
        ender = tree.ender_of_merge[x]
        if ender >= 0 and merge_before(tree.into, lines, rho, ender, x, e):
            lo, hi = merge_span(tree.into, lines, ender, x, rho, 0.0, END, e)
            return True, lo, hi
    return False, rho, rho


@inner
def _n_close(a: FloatArray, b: FloatArray, limits: FloatArray, own: float, rho: float) -> int:
    """How many pairs of a row may come before both merges that end them."""
    stay = 1.0 - rho
    close = 0
    for i in range(a.size):
        limit = limits[i] if limits[i] < own else own
        close += stay * a[i] + rho * b[i] <= limit
    return close


@inner
def _refuted_by(
    tree: Tree, lines: FloatArray, state: _State, rows: Rows, r: int, slot: int, i: int, rho: float
) -> tuple[bool, float, float]:
    """Whether the clusters in `slot`, whose row is r, and in i refute the tree, and where around rho."""
    n = state.birth.size
    e, line = np.empty(64), np.empty(5)
    read_line(rows, r, slot, i, line)
    lo, hi = 0.0, END
    for x in (state.ender[slot], state.ender[i]):
        index = pair_index(x, tree.into[x], n)
        refuted, lo, hi = narrow(line, pair_index(slot, i, n), lines[x], index, rho, lo, hi, e)
        if not refuted:
            return False, rho, rho
    for b, x in ((state.birth[slot], state.ender[i]), (state.birth[i], state.ender[slot])):
        if b >= 0:
            lo, hi = merge_span(tree.into, lines, b, x, rho, lo, hi, e)
    return True, lo, hi


@kernel
def refuted(
    rows: Rows, tree: Tree, lines: FloatArray, order: IntArray, rho: float
) -> tuple[bool, float, float]:
    """Whether the tree is wrong at rho, and some interval [lo, hi) around rho on which it is.

    `order` is that of the merges at rho. Exact on doubles. O(n²), much less as a rule where it is wrong.
    """
    n = tree.into.size + 1
    wrong, lo, hi = _inversion(tree, lines, rho)
    if wrong:
        return True, lo, hi
    state = _State(np.full(n, -1, np.int64), tree.ender_of_point.copy(), np.empty(n))
    for i in range(n):
        x = state.ender[i]
        state.limits[i] = value_at(lines[x], rho) * (1.0 + SLACK) if x >= 0 else -1.0
    room = np.empty(n)
    start_rows(rows)
    for born in range(1 - n, n - 2):  # the points but for the last, then the merges but for the last
        if born < 0:
            slot, start, r = born + n - 1, born + n, NONE
            a = b = rows.D[slot]  # lines between points are flat
        else:
            x, start = order[born], 0
            slot = tree.into[x]
            r = join(rows, x, slot, born)
            set_averages(rows.kind, rows.pool[r], rows.inverse, slot, room)
            a = room if rows.kind == 1 else rows.pool[r, 0]
            b = room if rows.kind == 2 else rows.pool[r, 1]
            state.birth[slot], state.ender[slot] = x, tree.ender_of_merge[x]
            state.ender[x], state.limits[x] = -1, -1.0
            state.limits[slot] = value_at(lines[state.ender[slot]], rho) * (1.0 + SLACK)
        # Leave out the cluster that it will be merged with, if that is there, and for a moment itself.
        own = state.ender[slot]
        mate = tree.into[own] if slot == own else own
        mates_limit, limit = state.limits[mate], state.limits[slot]
        if state.ender[mate] == own:
            state.limits[mate] = -1.0
        state.limits[slot] = -1.0
        if _n_close(a[start:], b[start:], state.limits[start:], limit, rho):
            if r < 0:
                r = fetch(rows, slot, FIRST, NO_MERGES)
            for i in range(start, n):
                if (1.0 - rho) * a[i] + rho * b[i] <= min(state.limits[i], limit):
                    wrong, lo, hi = _refuted_by(tree, lines, state, rows, r, slot, i, rho)
                    if wrong:
                        return True, lo, hi
        state.limits[mate], state.limits[slot] = mates_limit, limit
    return False, rho, rho
