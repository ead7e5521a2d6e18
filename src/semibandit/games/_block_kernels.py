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
                waiting = add[b], cap[b], cap_since[b]
                piece, lowest = work_through(b * width, width, total, since, waiting, until, losses, piece)
                add[b], cap[b] = 0, NEVER
                low[b], low_since[b] = total[lowest], since[lowest]
        piece += 1
        best = np.argmin(low)
        least[t + 1], began[t + 1] = low[best], low_since[best]


@kernel
def work_through(
    first: int, width: int, total: Any, since: Any, waiting: Any, until: Any, losses: Any, piece: int
) -> tuple[int, int]:
    """Apply to the cells of a bucket what waits for them and the loss; the last piece, the lowest cell."""
    add, cap, cap_since = waiting
    lowest = first
    for i in range(first, first + width):
        if until[piece] == i:
            piece += 1
        so_far = total[i] + add
        if cap < so_far:
            so_far = cap
            since[i] = cap_since
        total[i] = so_far + losses[piece]
        if total[i] < total[lowest]:
            lowest = i
    return piece, lowest
