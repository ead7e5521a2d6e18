"""Kernels for the best sequence of blocks: one pass over the rounds for each further block.

The least total D(t, x) of rounds 0 to t - 1, when the last block plays x, obeys

    D(t + 1, x) = min(D(t, x), fresh(t)) + loss_t(x),

where fresh(t) is the least total of t rounds with one block fewer: a new block begins where that is lower.
The line is cut into cells, on which all losses are constant, and cells are taken together in buckets. What
happens to a whole bucket waits there as the map v -> min(v + add, cap), and such maps compose:

    min(min(v + a, c) + a', c') = min(v + (a + a'), min(c + a', c')).

So only those buckets are worked through, cell by cell, in which the loss of the round breaks.
"""

from typing import Any

import numpy as np

from semibandit._jit import kernel

# Totals are integers below 2^TOTAL_BITS in size. NEVER stays above all of them, and an integer, when a total
# is added to it.
TOTAL_BITS = 60
NEVER = 1 << (TOTAL_BITS + 1)


@kernel
def add_block(until: Any, losses: Any, width: int, fresh: Any, least: Any, began: Any) -> None:
    """One pass: the least total after t rounds, and the round in which the last block of it began.

    `until` has the cell before which each piece ends, round after round; the last piece of a round ends with
    the last of the buckets, which are `width` cells wide. `least` and `began` are written.
    """
    n_cells = until[-1]
    n_buckets = n_cells // width
    total = np.zeros(n_cells, np.int64)
    since = np.zeros(n_cells, np.int32)
    add = np.zeros(n_buckets, np.int64)
    cap = np.full(n_buckets, NEVER)
    cap_since = np.zeros(n_buckets, np.int32)
    low = np.zeros(n_buckets, np.int64)  # the least of the bucket, what waits included
    low_since = np.zeros(n_buckets, np.int32)
    piece = 0
    for t in range(fresh.size - 1):
        for b in range(n_buckets):
            if until[piece] == b * width:
                piece += 1
            if fresh[t] < cap[b]:
                cap[b], cap_since[b] = fresh[t], t
            if fresh[t] < low[b]:
                low[b], low_since[b] = fresh[t], t
            if until[piece] >= (b + 1) * width:
                add[b] += losses[piece]
                cap[b] += losses[piece]
                low[b] += losses[piece]
            else:
                cells = slice(b * width, (b + 1) * width)
                settle(total[cells], since[cells], add[b], cap[b], cap_since[b])
                piece = pay(total[cells], b * width, until, losses, piece)
                add[b], cap[b] = 0, NEVER
                lowest = np.argmin(total[cells])
                low[b], low_since[b] = total[cells][lowest], since[cells][lowest]
        piece += 1
        lowest = np.argmin(low)
        least[t + 1], began[t + 1] = low[lowest], low_since[lowest]


@kernel
def settle(total: Any, since: Any, add: int, cap: int, cap_since: int) -> None:
    """Apply to the cells of a bucket what waits for them."""
    for i in range(total.size):
        total[i] += add
        if cap < total[i]:
            total[i], since[i] = cap, cap_since


@kernel
def pay(total: Any, first: int, until: Any, losses: Any, piece: int) -> int:
    """Add the loss of a round to the cells from `first` on, which lie in this piece and later ones."""
    for i in range(total.size):
        if until[piece] == first + i:
            piece += 1
        total[i] += losses[piece]
    return piece
