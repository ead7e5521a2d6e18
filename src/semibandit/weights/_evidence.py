"""Kernels for the evidence against a place, which limits how far the fast learner may abandon it."""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner
from semibandit.weights._local_state import (
    FAST_RATE,
    LAST,
    LOOKS,
    PLAIN,
    PLAIN_SQUARES,
    RECENT,
    RECENT_VARIANCE,
    TOLD,
    Constants,
    State,
)
from semibandit.weights._pieces import EDGE, FAST, OF_FAST, PRIOR, sum_of


@inner
def expected_recently(shares: Any, starts: Any, state: State) -> float:
    """Return the mean of the recent losses of the cells, weighted by the shares of the pieces."""
    tree, total = state.tree, 0.0
    for c in range(state.leaf.size):
        node = state.leaf[c]
        while tree[LOOKS, node] == 0.0 and node > 1:
            node >>= 1
        share = 0.0
        for i in range(starts[c], starts[c + 1]):
            share += shares[i]
        total += share * tree[RECENT, node]
    return total


@inner
def evidence_against(expected: tuple[float, float], reach: float, state: State, constants: Constants) -> Any:
    """Return the evidence against each node, the largest on its path.

    A node with n looks, mean m and variance v has n·g²/(v + range·g), with g the excess of m over the loss
    that the learner expects (Maillard sampling). It fades with the age of the last look, and is void while
    recent looks are better than expected: then the losses have changed, or the first ones were unlucky.
    """
    tree, recency = state.tree, constants.recency
    effective = (2.0 * recency + 1.0) / (recency + 1.0) ** 2  # looks that the recent mean is worth, per look
    evidence = np.zeros(tree.shape[1])
    for c in range(1, tree.shape[1]):
        looks, evidence[c] = tree[LOOKS, c], evidence[c >> 1]
        if looks == 0.0:
            continue
        mean = tree[PLAIN, c] / looks
        excess, gain = mean - expected[0], expected[1] - tree[RECENT, c]
        spread = tree[RECENT_VARIANCE, c] + reach * gain
        if excess > 0.0 and not (gain > 0.0 and effective * looks * gain * gain > constants.turned * spread):
            variance = max(tree[PLAIN_SQUARES, c] / looks - mean * mean, 0.0)
            found = constants.sure * looks * excess * excess / (variance + reach * excess)
            if found > evidence[c]:  # a power takes longer than all the rest
                fresh = min(tree[LAST, c] / state.sums[TOLD], 1.0) ** constants.age
                evidence[c] = max(fresh * found, evidence[c])
    return evidence


@inner
def limit_by_evidence(a: Any, n: int, evidence: Any, state: State, floor: float) -> None:
    """Keep the fast learner's density above exp(-floor - evidence) times the prior."""
    rate = state.sums[FAST_RATE]
    total = a[OF_FAST, n] / sum_of(a[PRIOR], n)
    i = 0
    for c in range(state.leaf.size):
        limit = floor + evidence[state.leaf[c]] - math.log(total)
        highest, least = limit / rate, math.exp(-limit)
        while i < n and a[EDGE, i] < state.cell_edges[c + 1]:
            if a[FAST, i] > highest:
                a[FAST, i] = highest
                a[OF_FAST, i] = a[PRIOR, i] * least
            i += 1
    a[OF_FAST, n] = sum_of(a[OF_FAST], n)
