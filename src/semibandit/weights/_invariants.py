"""Check of all invariants of an interval tree, safe for damaged data."""

import math

import numpy as np

from semibandit._jit import inner, kernel
from semibandit.weights import _tree_kernels as k
from semibandit.weights._scaled import normal

# `first_fault` returns a position in this list.
FAULTS = (
    "nothing",
    "ends of the line",
    "height",
    "children are nodes",
    "slots in use",
    "keys increase",
    "mantissas",
    "exponents",
    "tails",
    "nodes are filled",
    "a node knows its sum",
    "a slot holds the mass of its child",
    "every node hangs in the tree once",
    "number of pieces",
)
(
    FINE, ENDS, HEIGHT, CHILDREN, SLOTS, KEYS, MANTISSAS, EXPONENTS, TAILS, FILLED, SUM, MASS, ONCE, PIECES,
) = range(len(FAULTS))  # fmt: skip

_LARGEST_TAIL = 2.0**-53  # half a unit in the last place of the largest mantissa
_LARGEST_EXPONENT = 2**61


@kernel
def first_fault(t: k.Nodes, least_used: int) -> int:
    """Return the first violated invariant, level by level from the root; 0 if there is none. O(P)."""
    n_rows = t.whole[k.HEAD, k.N_NODES]
    height = t.whole[k.HEAD, k.HEIGHT]
    lo, hi = t.real[k.HEAD, k.LO], t.real[k.HEAD, k.HI]
    if not 0.0 < hi - lo < math.inf:
        return ENDS
    if not 0 <= height <= 64:
        return HEIGHT
    # Nodes in the order of their levels, with the interval that each must cover and its slot.
    node = np.empty(n_rows, np.int64)
    left, right = np.empty(n_rows), np.empty(n_rows)
    parent, slot = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    seen = np.zeros(n_rows, np.bool_)
    node[0], left[0], right[0] = t.whole[k.HEAD, k.ROOT], lo, hi
    first, last, n_pieces = 0, 1, 0
    for level in range(height, -1, -1):
        end = last
        for at in range(first, end):
            v = node[at]
            if not 0 < v < n_rows or seen[v]:
                return CHILDREN
            seen[v] = True
            fault = node_fault(t, v, level, left[at], right[at])
            if fault == FINE and at > 0:
                fault = link_fault(t, v, parent[at], slot[at], least_used)
            if fault != FINE:
                return fault
            used = t.whole[v, k.USED]
            if level == 0:
                n_pieces += used
                continue
            if last + used > n_rows:
                return CHILDREN
            for i in range(used):
                node[last], parent[last], slot[last] = t.whole[v, k.CHILD + i], v, i
                left[last] = t.real[v, k.KEY + i]
                right[last] = t.real[v, k.KEY + i + 1] if i + 1 < used else right[at]
                last += 1
        first = end
    if last != n_rows - 1:
        return ONCE
    return FINE if n_pieces == t.whole[k.HEAD, k.N_PIECES] else PIECES


@inner
def node_fault(t: k.Nodes, v: int, level: int, left: float, right: float) -> int:
    """Return the violated invariant inside a node that must cover [left, right)."""
    used = t.whole[v, k.USED]
    if not 1 <= used <= k.FANOUT:
        return SLOTS
    if t.real[v, k.KEY] != left:
        return KEYS
    for i in range(used):
        end = t.real[v, k.KEY + i + 1] if i + 1 < used else right
        if not t.real[v, k.KEY + i] < end:
            return KEYS
        fault = number_fault(t.real[v, k.MANT + i], t.whole[v, k.EXPO + i])
        if fault == FINE and level == 0 and not abs(t.real[v, k.TAIL + i]) <= _LARGEST_TAIL:
            fault = TAILS
        if fault != FINE:
            return fault
    if not abs(t.real[v, k.TAG_TAIL]) <= _LARGEST_TAIL:
        return TAILS
    return number_fault(t.real[v, k.TAG_MANT], t.whole[v, k.TAG_EXPO])


@inner
def number_fault(mantissa: float, exponent: int) -> int:
    """Return the violated invariant of a scaled number."""
    if not 0.5 <= mantissa < 1.0:
        return MANTISSAS
    return FINE if -_LARGEST_EXPONENT < exponent < _LARGEST_EXPONENT else EXPONENTS


@inner
def link_fault(t: k.Nodes, v: int, parent: int, slot: int, least_used: int) -> int:
    """Return the violated invariant between a node and its slot in the parent."""
    if t.whole[v, k.USED] < least_used:
        return FILLED
    m, e = k.total(t, v)
    if m != t.real[v, k.SUM_MANT] or e != t.whole[v, k.SUM_EXPO]:
        return SUM
    m, e = normal(m * t.real[v, k.TAG_MANT], e + t.whole[v, k.TAG_EXPO])
    return FINE if m == t.real[parent, k.MANT + slot] and e == t.whole[parent, k.EXPO + slot] else MASS
