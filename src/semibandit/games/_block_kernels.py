"""Kernel for the best sequence of blocks: one round of the recursion."""

from typing import Any

from semibandit._jit import kernel

# Totals are integers below 2^TOTAL_BITS in size. NEVER is larger, and NEVER plus a total does not overflow.
TOTAL_BITS = 60
NEVER = 1 << (TOTAL_BITS + 1)


@kernel
def add_round(total: Any, since: Any, first: Any, losses: Any, t: int, least: Any, began: Any) -> None:
    """Add round t to the least totals, for each number of blocks: `total` and `since` [blocks, place].

    `total` is the least total if the last block plays a place, and `since` where that block begins. The
    losses of the round are losses[i] at the places first[i], ..., first[i + 1] - 1. `least` and `began`
    [blocks, rounds] have the least total of all places, and its `since`.
    """
    for k in range(total.shape[0]):
        fresh = least[k, t]
        lowest = 0
        for i in range(losses.size):
            for place in range(first[i], first[i + 1]):
                if fresh < total[k, place]:  # a new block begins
                    total[k, place] = fresh
                    since[k, place] = t
                total[k, place] += losses[i]
                if total[k, place] < total[k, lowest]:
                    lowest = place
        least[k + 1, t + 1] = total[k, lowest]
        began[k + 1, t + 1] = since[k, lowest]
