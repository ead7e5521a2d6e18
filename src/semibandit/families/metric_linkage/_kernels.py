"""A given tree with other distances: its lines, and where it certainly is not the tree.

A cluster is *born* by a merge (a point: from the start) and *ended* by the next merge that takes it in. A
tree over given distances has a line for each merge. It is the tree at ρ exactly if

1. no cluster is ended before it is born, and
2. no pair of clusters that are there together comes before both merges that end them.

For two clusters A and C all of that is comparisons of lines: those of their births b, of their ends e, and
of the pair, d. They refute the tree where b(A) < e(C), b(C) < e(A), d < e(A) and d < e(C). Lines cross at
most once, so that this is an interval of ρ: from a ρ where the tree is wrong one can go to its end at once.
"""

from typing import Any, NamedTuple

import numpy as np

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.chain import pair_index
from semibandit.families.linkage._kernels.exact import SLACK, before, narrow, value_at
from semibandit.families.linkage._kernels.rows import (
    FIRST,
    NO_MERGES,
    SECOND,
    Rows,
    ends,
    fetch,
    join,
    read_line,
    start_rows,
)

_NONE: Any = np.int64(-1)


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
    """The lines of the merges of a tree over the distances of `rows`. O(n²)."""
    lines = np.empty((tree.into.size, 5))
    start_rows(rows)
    for t in range(tree.into.size):
        x = tree.by_size[t]
        y = tree.into[x]
        r, s = fetch(rows, x, FIRST, t), fetch(rows, y, SECOND, t)
        read_line(rows, r, x, y, lines[x])
        join(rows, x, y, r, s, t)
    return lines


class _State(NamedTuple):
    """The clusters that are there, by slot."""

    birth: IntArray
    ender: IntArray  # -1 where a slot is empty
    limits: FloatArray  # the value of the ender's line, raised by the rounding error; -1 to leave out


@kernel
def _first_is(tree: Tree, lines: FloatArray, rho: float, x: int, y: int, e: FloatArray) -> bool:
    """Whether merge x comes before merge y at rho."""
    n = tree.into.size + 1
    return before(rho, lines[x], pair_index(x, tree.into[x], n), lines[y], pair_index(y, tree.into[y], n), e)


@kernel
def _stays_first(
    tree: Tree, lines: FloatArray, x: int, y: int, rho: float, hi: float, e: FloatArray
) -> float:
    """Up to where in [rho, hi) merge x comes before merge y, as it does at rho."""
    n = tree.into.size + 1
    index_x, index_y = pair_index(x, tree.into[x], n), pair_index(y, tree.into[y], n)
    return float(narrow(lines[x], index_x, lines[y], index_y, rho, rho, hi, e)[2])


@kernel
def _inversion(tree: Tree, lines: FloatArray, rho: float, hi: float, e: FloatArray) -> float:
    """Up to where some cluster is ended before it is born; rho if none is."""
    for x in range(tree.into.size):
        ender = tree.ender_of_merge[x]
        if ender >= 0 and _first_is(tree, lines, rho, ender, x, e):
            return _stays_first(tree, lines, ender, x, rho, hi, e)
    return rho


@kernel
def _n_close(a: FloatArray, b: FloatArray, limits: FloatArray, own: float, rho: float) -> int:
    """How many pairs of a row may come before both merges that end them."""
    stay = 1.0 - rho
    close = 0
    for i in range(a.size):
        limit = limits[i] if limits[i] < own else own
        close += stay * a[i] + rho * b[i] <= limit
    return close


@kernel
def _refuted_by(
    tree: Tree, lines: FloatArray, state: _State, rows: Rows, r: int, slot: int, i: int, rho: float, hi: float
) -> float:
    """Up to where the pair of the clusters in `slot`, whose row is r, and in i refutes the tree; rho if not."""
    n = state.birth.size
    e, line = np.empty(64), np.empty(5)
    read_line(rows, r, slot, i, line)
    until = hi
    for x in (state.ender[slot], state.ender[i]):
        index = pair_index(x, tree.into[x], n)
        right, _, until = narrow(line, pair_index(slot, i, n), lines[x], index, rho, rho, until, e)
        if not right:
            return rho
    for b, x in ((state.birth[slot], state.ender[i]), (state.birth[i], state.ender[slot])):
        if b >= 0:
            until = _stays_first(tree, lines, b, x, rho, until, e)
    return float(until)


@kernel
def wrong_until(rows: Rows, tree: Tree, lines: FloatArray, order: IntArray, rho: float, hi: float) -> float:
    """rho if the tree is right there; else the end, at most hi, of an interval from rho on where it is wrong.

    `order` is that of the merges at rho. Exact on doubles. O(n²), much less as a rule if it is wrong.
    """
    n = tree.into.size + 1
    until = _inversion(tree, lines, rho, hi, np.empty(64))
    if until != rho:
        return until
    state = _State(np.full(n, -1, np.int64), tree.ender_of_point.copy(), np.empty(n))
    for i in range(n):
        x = state.ender[i]
        state.limits[i] = value_at(lines[x], rho) * (1.0 + SLACK) if x >= 0 else -1.0
    room = np.empty(n)
    start_rows(rows)
    for born in range(1 - n, n - 2):  # the points but for the last, then the merges but for the last
        if born < 0:
            slot, start, r = born + n - 1, born + n, _NONE
            a = b = rows.D[slot]  # lines between points are flat
        else:
            x, start = order[born], 0
            slot = tree.into[x]
            r = join(rows, x, slot, fetch(rows, x, FIRST, born), fetch(rows, slot, SECOND, born), born)
            a, b = ends(rows.kind, rows.pool[r], rows.inverse, slot, room)
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
                    until = _refuted_by(tree, lines, state, rows, r, slot, i, rho, hi)
                    if until != rho:
                        return until
        state.limits[mate], state.limits[slot] = mates_limit, limit
    return rho
