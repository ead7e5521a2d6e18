"""Kernels for the best sequence of blocks: one pass over the rounds for each further block.

The least total D(t, x) of rounds 0 to t - 1, when the last block plays x, obeys

    D(t + 1, x) = min(D(t, x), fresh(t)) + loss_t(x),

where fresh(t) is the least total of t rounds with one block fewer: a new block begins where that is lower.
The line is cut into cells, on which all losses are constant, and cells are grouped in buckets. Updates of a
whole bucket are deferred as a map v -> min(v + add, cap); such maps compose:

    min(min(v + a, c) + a', c') = min(v + (a + a'), min(c + a', c')).

Only buckets in which the loss of the round breaks are updated cell by cell.
"""

from typing import Any

import numpy as np

from semibandit._jit import kernel

# Totals are integers below 2^TOTAL_BITS in size. NEVER is larger, and NEVER plus a total does not overflow.
TOTAL_BITS = 60
NEVER = 1 << (TOTAL_BITS + 1)


@kernel
def add_block(until: Any, losses: Any, width: int, fresh: Any, least: Any, began: Any) -> None:
    """Write `least`, the least total after t rounds, and `began`, the first round of its last block.

    `until` has the cell before which each piece ends, round after round; the last piece of a round ends with
    the last bucket. A bucket has `width` cells.
    """
    n_cells = until[-1]
    n_buckets = n_cells // width
    total = np.zeros(n_cells, np.int64)
    since = np.zeros(n_cells, np.int32)
    add = np.zeros(n_buckets, np.int64)
    cap = np.full(n_buckets, NEVER)
    cap_since = np.zeros(n_buckets, np.int32)
    low = np.zeros(n_buckets, np.int64)  # least total of the bucket, after its deferred update
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
                deferred = add[b], cap[b], cap_since[b]
                piece, lowest = update_cells(b * width, width, total, since, deferred, until, losses, piece)
                add[b], cap[b] = 0, NEVER
                low[b], low_since[b] = total[lowest], since[lowest]
        piece += 1
        best = np.argmin(low)
        least[t + 1], began[t + 1] = low[best], low_since[best]


@kernel
def update_cells(
    first: int, width: int, total: Any, since: Any, deferred: Any, until: Any, losses: Any, piece: int
) -> tuple[int, int]:
    """Apply the deferred update and the loss to a bucket; return its last piece and its lowest cell."""
    add, cap, cap_since = deferred
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
