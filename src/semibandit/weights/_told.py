"""What a round has shown, as kernels take it: one table, as each array takes long to hand over.

A column for each piece, and one for the end of the last:

    EDGE      where the piece begins
    LOSS      the loss on it
    SET       the set that it belongs to, -1 where nothing was seen
    FACTOR    the logarithm of the factor by which the weight there has moved; written by a step on a tree
    TIMES     of the i-th set, how many looks fell into it
    CHANCE    of the i-th set, the probability that it is seen; negative: still to be computed

Most rounds show one loss between two edges. They are told by these numbers, with an empty table.
"""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel

EDGE, LOSS, SET, FACTOR, TIMES, CHANCE = range(6)
ROWS = 6

# The draw has 53 bits: a set of less mass is reached by rounding only. The floor keeps estimates finite.
SMALLEST_SHARE = 2.0**-64


@inner
def completed(told: Any, lo: float, hi: float, loss: float, whole: bool) -> Any:
    """The table; if it is empty, that of one loss between two edges."""
    if told.size:
        return told
    told = np.zeros((ROWS, 2))
    told[EDGE, 0], told[EDGE, 1], told[LOSS, 0] = lo, hi, loss
    told[TIMES, 0], told[CHANCE, 0] = 1.0, 1.0 if whole else -1.0
    return told


@inner
def sets_in(told: Any) -> Any:
    """The sets that the pieces belong to, as integers; `times` and `chances` of the sets."""
    sets = np.empty(told.shape[1] - 1, np.int64)
    for i in range(sets.size):
        sets[i] = int(told[SET, i])
    n = 0
    while n < sets.size and told[TIMES, n] > 0.0:
        n += 1
    return sets, told[TIMES, :n], told[CHANCE, :n]


@inner
def looks(times: Any) -> int:
    """The number of looks in all. (The sum of an array takes a second to compile.)"""
    n = 0
    for i in range(times.size):
        n += int(times[i])
    return n


@kernel
def chances(sets: Any, shares: Any, draws: int, p: Any) -> None:
    """Write the probability that each set is seen by one of several draws; what is not negative stays."""
    for k in range(p.size):
        if p[k] < 0.0:
            share = 0.0
            for i in range(sets.size):
                if sets[i] == k:
                    share += shares[i]
            share = min(share, 1.0)
            if draws > 1:
                share = -math.expm1(draws * math.log1p(-share)) if share < 1.0 else 1.0
            p[k] = share
        p[k] = max(p[k], SMALLEST_SHARE)
