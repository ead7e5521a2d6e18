"""Kernels of the interval tree: a B+-tree of scaled weights, in plain arrays.

Every slot of a node covers [key, next key) and holds the mass of it, a scaled number. A slot of an inner
node leads to a child; the child has a `tag`, a factor that applies to all that is below it, so

    mass of the slot = tag of the child × sum of the masses in the child.

Tags are never pushed down: reading writes nothing, and an update touches two paths only. The sum is kept
beside the tag, so that the mass of a slot is always this product to the bit: multiplying tag and mass side
by side would let them drift apart, a rounding error at a time.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import inner, kernel
from semibandit.weights._scaled import (
    DEEPEST,
    POWERS,
    log,
    normal,
    part_of,
    plus,
    scaled_exp,
    times,
)

FANOUT = 32
# A node is one row of 64-bit words, read as floats or as integers: these are the columns.
KEY, MANT, EXPO = 0, FANOUT, 2 * FANOUT  # for each slot: left end, mass
CHILD = TAIL = 3 * FANOUT  # for each slot: the child, or in a leaf the tail of the mass
USED, TAG_MANT, TAG_TAIL, TAG_EXPO, SUM_MANT, SUM_EXPO = range(4 * FANOUT, 4 * FANOUT + 6)
WORDS = 4 * FANOUT + 8  # full cache lines
# Row 0 is no node: it describes the whole tree.
HEAD, ROOT, HEIGHT, N_NODES, N_PIECES, LO, HI = 0, 0, 1, 2, 3, 4, 5


class Nodes(NamedTuple):
    """Rows of a tree, as floats and as integers: two views of one memory."""

    real: npt.NDArray[np.float64]
    whole: npt.NDArray[np.int64]


@inner
def opened(whole: Any) -> Nodes:
    """Return both views of the rows: an array is quicker to pass to a kernel than a named tuple."""
    return Nodes(whole.view(np.float64), whole)


# -- one node -------------------------------------------------------------------------------------


@inner
def find(t: Nodes, node: int, x: float) -> int:
    """Return the slot of the node that holds x."""
    slot = 0
    for i in range(1, t.whole[node, USED]):
        slot += t.real[node, KEY + i] <= x
    return slot


@kernel
def total(t: Nodes, node: int) -> tuple[float, int]:
    """Return the sum of the masses in the node, without its tag."""
    n = t.whole[node, USED]
    top = t.whole[node, EXPO]
    for i in range(1, n):
        top = max(top, t.whole[node, EXPO + i])
    s = 0.0
    for i in range(n):
        depth = top - t.whole[node, EXPO + i]
        if depth < DEEPEST:
            s += t.real[node, MANT + i] * POWERS[depth]
    return s, top


@inner
def refresh(t: Nodes, node: int, slot: int) -> None:
    """Compute the mass of an inner slot from its child."""
    c = t.whole[node, CHILD + slot]
    m, e = total(t, c)
    t.real[c, SUM_MANT], t.whole[c, SUM_EXPO] = m, e
    t.real[node, MANT + slot], t.whole[node, EXPO + slot] = normal(
        m * t.real[c, TAG_MANT], e + t.whole[c, TAG_EXPO]
    )


@inner
def multiply_slot(t: Nodes, node: int, slot: int, level: int, m: float, tail: float, e: int) -> None:
    """Multiply all that is in the slot by (m + tail)·2^e."""
    if level == 0:
        t.real[node, MANT + slot], t.real[node, TAIL + slot], t.whole[node, EXPO + slot] = times(
            t.real[node, MANT + slot], t.real[node, TAIL + slot], t.whole[node, EXPO + slot], m, tail, e
        )
    else:
        c = t.whole[node, CHILD + slot]
        m, tail, e = times(t.real[c, TAG_MANT], t.real[c, TAG_TAIL], t.whole[c, TAG_EXPO], m, tail, e)
        t.real[c, TAG_MANT], t.real[c, TAG_TAIL], t.whole[c, TAG_EXPO] = m, tail, e
        t.real[node, MANT + slot], t.whole[node, EXPO + slot] = normal(
            t.real[c, SUM_MANT] * m, t.whole[c, SUM_EXPO] + e
        )


@inner
def open_slot(t: Nodes, node: int, slot: int) -> None:
    """Move the slots from `slot` on by one place; the freed slot keeps its old content."""
    for column in (KEY, MANT, EXPO, CHILD):  # words are words: read as integers, floats move as well
        for i in range(t.whole[node, USED], slot, -1):
            t.whole[node, column + i] = t.whole[node, column + i - 1]
    t.whole[node, USED] += 1


@inner
def new_node(t: Nodes) -> int:
    node = t.whole[HEAD, N_NODES]
    t.whole[HEAD, N_NODES] += 1
    t.whole[node, USED] = 0
    t.real[node, TAG_MANT] = 0.5
    t.real[node, TAG_TAIL] = 0.0
    t.whole[node, TAG_EXPO] = 1
    return int(node)


# -- cutting a piece in two -------------------------------------------------------------------------


@inner
def split_child(t: Nodes, node: int, slot: int) -> None:
    """Share the content of the full child at `slot` between it and a new right neighbour."""
    c = t.whole[node, CHILD + slot]
    d = new_node(t)
    half = FANOUT // 2
    for column in (KEY, MANT, EXPO, CHILD):
        for i in range(FANOUT - half):
            t.whole[d, column + i] = t.whole[c, column + half + i]
    t.whole[d, USED] = FANOUT - half
    t.whole[c, USED] = half
    for word in (TAG_MANT, TAG_TAIL, TAG_EXPO):
        t.whole[d, word] = t.whole[c, word]
    open_slot(t, node, slot + 1)
    t.real[node, KEY + slot + 1] = t.real[d, KEY]
    t.whole[node, CHILD + slot + 1] = d
    refresh(t, node, slot)
    refresh(t, node, slot + 1)


@inner
def cut(t: Nodes, x: float) -> None:
    """Make x an end of a piece. Full nodes are split on the way down, so that one pass is enough."""
    if not t.real[HEAD, LO] < x < t.real[HEAD, HI]:
        return
    node = t.whole[HEAD, ROOT]
    if t.whole[node, USED] == FANOUT:
        root = new_node(t)
        t.real[root, KEY] = t.real[node, KEY]
        t.whole[root, CHILD + 0] = node
        t.whole[root, USED] = 1
        t.whole[HEAD, ROOT] = root
        t.whole[HEAD, HEIGHT] += 1
        split_child(t, root, 0)
        node = root
    right = t.real[HEAD, HI]
    for _ in range(t.whole[HEAD, HEIGHT]):
        i = find(t, node, x)
        if t.whole[t.whole[node, CHILD + i], USED] == FANOUT:
            split_child(t, node, i)
            i += t.real[node, KEY + i + 1] <= x
        if i + 1 < t.whole[node, USED]:
            right = t.real[node, KEY + i + 1]
        node = t.whole[node, CHILD + i]
    i = find(t, node, x)
    left = t.real[node, KEY + i]
    if left == x:
        return
    if i + 1 < t.whole[node, USED]:
        right = t.real[node, KEY + i + 1]
    m, e = t.real[node, MANT + i], t.whole[node, EXPO + i]
    open_slot(t, node, i + 1)
    t.real[node, KEY + i + 1] = x
    t.real[node, MANT + i], t.whole[node, EXPO + i] = part_of(m, e, x - left, right - left)
    t.real[node, MANT + i + 1], t.whole[node, EXPO + i + 1] = part_of(m, e, right - x, right - left)
    t.real[node, TAIL + i] = t.real[node, TAIL + i + 1] = 0.0
    t.whole[HEAD, N_PIECES] += 1


# -- the three operations of the paper --------------------------------------------------------------


@kernel
def draw(whole: Any, u: float) -> float:
    """Return the point below which a share u of the mass lies (Draw). O(log P)."""
    t = opened(whole)
    node = t.whole[HEAD, ROOT]
    right = t.real[HEAD, HI]
    share = u
    for level in range(t.whole[HEAD, HEIGHT], -1, -1):
        m, e = total(t, node)
        rest = share * m
        n = t.whole[node, USED]
        slot = 0
        part = 0.0
        for i in range(n):
            depth = e - t.whole[node, EXPO + i]
            mass = t.real[node, MANT + i] * POWERS[depth] if depth < DEEPEST else 0.0
            if mass > 0.0:
                slot, part = i, mass
                if rest < mass:
                    break
                rest -= mass
        # Rounding may leave a rest behind the last slot: that is its right end.
        share = rest / part if rest < part else 1.0 - 2.0**-53
        if slot + 1 < n:
            right = t.real[node, KEY + slot + 1]
        if level == 0:
            left = t.real[node, KEY + slot]
            return float(min(left + share * (right - left), np.nextafter(right, left)))
        node = t.whole[node, CHILD + slot]
    return np.nan


@kernel
def integrate(t: Nodes, lo: float, hi: float) -> tuple[float, int]:
    """Return the mass in [lo, hi), not normalised (Integrate). O(log P).

    Goes down level by level through the at most two nodes that an end of the interval cuts, because numba
    cannot cache recursive functions.
    """
    node = np.empty((2, 2), np.int64)  # [parity of the level, which]
    right = np.empty((2, 2))
    tag_m = np.empty((2, 2))
    tag_e = np.empty((2, 2), np.int64)
    height = t.whole[HEAD, HEIGHT]
    root = t.whole[HEAD, ROOT]
    here = height & 1
    node[here, 0], right[here, 0] = root, t.real[HEAD, HI]
    tag_m[here, 0], tag_e[here, 0] = t.real[root, TAG_MANT], t.whole[root, TAG_EXPO]
    n_here = 1
    m, e = 0.0, 0
    for level in range(height, -1, -1):
        here, there = level & 1, 1 - (level & 1)
        n_there = 0
        for which in range(n_here):
            v = node[here, which]
            for i in range(find(t, v, lo), t.whole[v, USED]):
                left = t.real[v, KEY + i]
                if left >= hi:
                    break
                end = t.real[v, KEY + i + 1] if i + 1 < t.whole[v, USED] else right[here, which]
                if level > 0 and (left < lo or hi < end):
                    c = t.whole[v, CHILD + i]
                    node[there, n_there], right[there, n_there] = c, end
                    tag_m[there, n_there], tag_e[there, n_there] = normal(
                        tag_m[here, which] * t.real[c, TAG_MANT], tag_e[here, which] + t.whole[c, TAG_EXPO]
                    )
                    n_there += 1
                    continue
                m2, e2 = t.real[v, MANT + i] * tag_m[here, which], t.whole[v, EXPO + i] + tag_e[here, which]
                if left < lo or hi < end:
                    m2, e2 = part_of(m2, e2, min(hi, end) - max(lo, left), end - left)
                m, e = plus(m, e, m2, e2)
        n_here = n_there
    return m, e


@inner
def multiply(t: Nodes, lo: float, hi: float, m: float, tail: float, e: int) -> None:
    """Multiply the weights in [lo, hi), which must be ends of pieces, by (m + tail)·2^e. O(log P)."""
    height = t.whole[HEAD, HEIGHT]
    node = np.empty((height + 1, 2), np.int64)
    right = np.empty((height + 1, 2))
    slot = np.empty((height + 1, 2), np.int64)  # of a node at `level`, cut by an end of the interval
    n_cut = np.zeros(height + 1, np.int64)
    cut_in = np.empty(2, np.int64)
    node[height, 0], right[height, 0] = t.whole[HEAD, ROOT], t.real[HEAD, HI]
    n_here = 1
    for level in range(height, -1, -1):
        for which in range(n_here):
            v = node[level, which]
            for i in range(find(t, v, lo), t.whole[v, USED]):
                left = t.real[v, KEY + i]
                if left >= hi:
                    break
                end = t.real[v, KEY + i + 1] if i + 1 < t.whole[v, USED] else right[level, which]
                if lo <= left and end <= hi:
                    multiply_slot(t, v, i, level, m, tail, e)
                else:
                    at = n_cut[level]
                    cut_in[at] = v
                    slot[level, at] = i
                    node[level - 1, at], right[level - 1, at] = t.whole[v, CHILD + i], end
                    n_cut[level] += 1
        n_here = n_cut[level]
        for at in range(n_here):
            node[level, at] = cut_in[at]
    for level in range(1, height + 1):
        for at in range(n_cut[level]):
            refresh(t, node[level, at], slot[level, at])


@kernel
def grand_total(t: Nodes) -> tuple[float, int]:
    """Return the mass of the whole line."""
    root = t.whole[HEAD, ROOT]
    m, e = total(t, root)
    return normal(m * t.real[root, TAG_MANT], e + t.whole[root, TAG_EXPO])


@inner
def update(t: Nodes, lo: float, hi: float, log_factor: float) -> None:
    """Multiply the weights in [lo, hi) by exp(log_factor) (Update)."""
    cut(t, lo)
    cut(t, hi)
    m, tail, e = scaled_exp(log_factor)
    multiply(t, lo, hi, m, tail, e)


@kernel
def log_shares(t: Nodes, lo: Any, hi: Any) -> npt.NDArray[np.float64]:
    """Return the logarithm of the mass in each interval over the mass of the line."""
    m2, e2 = grand_total(t)
    out = np.empty(lo.size)
    for i in range(lo.size):
        m, e = integrate(t, lo[i], hi[i])
        out[i] = log(m / m2, e - e2)
    return out


@kernel
def integrate_all(t: Nodes, lo: npt.NDArray[np.float64], hi: npt.NDArray[np.float64]) -> tuple[float, int]:
    """Return the mass in a union of disjoint intervals."""
    m, e = 0.0, 0
    for i in range(lo.size):
        m2, e2 = integrate(t, lo[i], hi[i])
        m, e = plus(m, e, m2, e2)
    return m, e


@kernel
def update_all(t: Nodes, lo: Any, hi: Any, log_factor: Any) -> None:
    """`update` for a union of intervals, each with a factor of its own."""
    for i in range(lo.size):
        update(t, lo[i], hi[i], log_factor[i])


# -- all pieces at once -----------------------------------------------------------------------------


@kernel
def collect(t: Nodes, key: Any, mant: Any, expo: Any) -> None:
    """Write the left ends and masses of all pieces, from left to right. O(P)."""
    height = t.whole[HEAD, HEIGHT]
    node = np.empty(height + 1, np.int64)  # the path from the root to where we are
    slot = np.zeros(height + 1, np.int64)
    tag_m = np.empty(height + 2)  # products of the tags above, [height + 1] is none
    tag_e = np.empty(height + 2, np.int64)
    tag_m[height + 1], tag_e[height + 1] = 0.5, 1
    level = height
    node[level] = t.whole[HEAD, ROOT]
    at = 0
    while level <= height:
        v = node[level]
        if slot[level] == 0:
            tag_m[level], tag_e[level] = normal(
                tag_m[level + 1] * t.real[v, TAG_MANT], tag_e[level + 1] + t.whole[v, TAG_EXPO]
            )
        if level == 0:
            for i in range(t.whole[v, USED]):
                key[at] = t.real[v, KEY + i]
                mant[at], expo[at] = normal(t.real[v, MANT + i] * tag_m[0], t.whole[v, EXPO + i] + tag_e[0])
                at += 1
        if level > 0 and slot[level] < t.whole[v, USED]:
            node[level - 1] = t.whole[v, CHILD + slot[level]]
            slot[level - 1] = 0
            slot[level] += 1
            level -= 1
        else:
            level += 1


@kernel
def build(t: Nodes, key: Any, mant: Any, expo: Any, fill: int) -> None:
    """Fill an empty tree with pieces, `fill` slots to a node, from the leaves up. O(P)."""
    t.whole[HEAD, N_NODES] = 1
    t.whole[HEAD, HEIGHT] = 0
    t.whole[HEAD, N_PIECES] = key.size
    below = -1  # the first node of the level below, once there is one
    n = key.size
    while True:
        first = t.whole[HEAD, N_NODES]
        n_nodes = (n + fill - 1) // fill
        at = 0
        for k in range(n_nodes):
            node = new_node(t)
            stop = n * (k + 1) // n_nodes
            for i in range(stop - at):
                if below < 0:
                    t.real[node, KEY + i] = key[at + i]
                    t.real[node, MANT + i] = mant[at + i]
                    t.whole[node, EXPO + i] = expo[at + i]
                    t.real[node, TAIL + i] = 0.0
                else:
                    t.whole[node, CHILD + i] = below + at + i
                    t.real[node, KEY + i] = t.real[below + at + i, KEY]
                    refresh(t, node, i)
            t.whole[node, USED] = stop - at
            at = stop
        if n_nodes == 1:
            t.whole[HEAD, ROOT] = first
            return
        below = first
        n = n_nodes
        t.whole[HEAD, HEIGHT] += 1


@kernel
def multiply_each(mant: Any, expo: Any, logs: Any) -> None:
    """Multiply scaled numbers by exp(logs), in place."""
    for i in range(logs.size):
        m, _, e = scaled_exp(logs[i])
        mant[i], expo[i] = normal(mant[i] * m, expo[i] + e)


@kernel
def raise_to(key: Any, mant: Any, expo: Any, end: float, power: float) -> None:
    """Raise each piece's density to a power, in place; exact in the exponent for powers of two."""
    for i in range(key.size):
        width = (key[i + 1] if i + 1 < key.size else end) - key[i]
        width_m, width_e = math.frexp(width)
        m, e = normal(mant[i] / width_m, expo[i] - width_e)
        whole = math.floor(e * power)
        m2 = 2.0 ** ((e * power - whole) + power * math.log2(m))
        mant[i], expo[i] = normal(m2 * width_m, int(whole) + width_e)


@kernel
def group(logs: Any, reach: float) -> npt.NDArray[np.bool_]:
    """Mark the first piece of each group, filled from the left while its logarithms span at most `reach`."""
    first = np.zeros(logs.size, np.bool_)
    low = high = logs[0]
    first[0] = True
    for i in range(1, logs.size):
        low, high = min(low, logs[i]), max(high, logs[i])
        if high - low > reach:
            first[i] = True
            low = high = logs[i]
    return first


@kernel
def add_up(mant: Any, expo: Any, first: Any) -> Any:
    """Return the sums of the scaled numbers from first[i] to first[i + 1]."""
    n = first.size - 1
    sums, exponents = np.empty(n), np.empty(n, np.int64)
    for g in range(n):
        m, e = 0.0, 0
        for i in range(first[g], first[g + 1]):
            m, e = plus(m, e, mant[i], expo[i])
        sums[g], exponents[g] = normal(m, e)
    return sums, exponents
