"""The kernel that looks at what a learner is told, before anything changes."""

import math
from typing import Any

import numpy as np

from semibandit._jit import kernel

FINE, OUT_OF_RANGE, NOT_COVERED = 0, 1, 2


@kernel
def survey(
    edges: Any, left: Any, right: Any, sets: Any, x: float, high: float, lo: float, hi: float
) -> tuple[int, float, bool]:
    """Check the values told; return (status, the value at x or the culprit, whether all of [lo, hi] is seen).

    Marks in `sets`, zeros before, the pieces that were not seen by -1.
    """
    at = -1
    whole = edges[0] == lo and edges[left.size] == hi
    for i in range(left.size):
        if math.isnan(left[i]):
            whole = False
            sets[i] = -1
            continue
        if not 0.0 <= left[i] <= high:
            return OUT_OF_RANGE, left[i], whole
        if not 0.0 <= right[i] <= high:
            return OUT_OF_RANGE, right[i], whole
        if edges[i] <= x < edges[i + 1]:
            at = i
    # The right end of a stretch is closed: it belongs to the piece on its left where no other has it.
    if at < 0:
        for i in range(left.size):
            if x == edges[i + 1] and not math.isnan(left[i]):
                at = i
    if at < 0:
        return NOT_COVERED, np.nan, whole
    if left[at] == right[at]:
        return FINE, left[at], whole
    share = (x - edges[at]) / (edges[at + 1] - edges[at])
    value = left[at] * (1.0 - share) + right[at] * share
    return FINE, min(max(value, min(left[at], right[at])), max(left[at], right[at])), whole
