"""Kernels for the evidence against a place, which limits how far the fast learner may abandon it."""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner
from semibandit.weights._cell_means import RECENCY
from semibandit.weights._local_state import (
    FAST_RATE,
    LAST,
    LOOKS,
    PLAIN,
    PLAIN_SQUARES,
    RECENT,
    RECENT_VARIANCE,
    TOLD,
    State,
)
from semibandit.weights._pieces import EDGE, FAST, OF_FAST, PRIOR, sum_of

# docs/learner.md describes what each constant does.
FLOOR = 1.0  # the fast learner's density is at least exp(-FLOOR - evidence) times the prior
SURE = 1.5  # factor of the evidence
AGE = 8.0  # evidence is multiplied by (last look / now)^AGE
TURNED = 0.25  # squared standard errors by which recent looks must be better to void the evidence
EFFECTIVE = (2.0 * RECENCY + 1.0) / (RECENCY + 1.0) ** 2  # looks that the recent mean is worth, per look


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
def evidence_against(expected: tuple[float, float], reach: float, state: State) -> Any:
    """Return the evidence against each node, the largest on its path.

    A node with n looks, mean m and variance v has n·g²/(v + range·g), with g the excess of m over the loss
    that the learner expects (Maillard sampling). It fades with the age of the last look, and is void while
    recent looks are better than expected: then the losses have changed, or the first ones were unlucky.
    """
    tree = state.tree
    evidence = np.zeros(tree.shape[1])
    for c in range(1, tree.shape[1]):
        looks = tree[LOOKS, c]
        if looks > 0.0:
            mean = tree[PLAIN, c] / looks
            excess, gain = mean - expected[0], expected[1] - tree[RECENT, c]
            spread = tree[RECENT_VARIANCE, c] + reach * gain
            if excess > 0.0 and not (gain > 0.0 and EFFECTIVE * looks * gain * gain > TURNED * spread):
                variance = max(tree[PLAIN_SQUARES, c] / looks - mean * mean, 0.0)
                fresh = min(tree[LAST, c] / state.sums[TOLD], 1.0) ** AGE
                evidence[c] = SURE * looks * fresh * excess * excess / (variance + reach * excess)
        evidence[c] = max(evidence[c], evidence[c >> 1])
    return evidence


@inner
def limit_by_evidence(a: Any, n: int, evidence: Any, state: State) -> None:
    """Keep the fast learner's density above exp(-FLOOR - evidence) times the prior."""
    rate = state.sums[FAST_RATE]
    total = a[OF_FAST, n] / sum_of(a[PRIOR], n)
    i = 0
    for c in range(state.leaf.size):
        limit = FLOOR + evidence[state.leaf[c]] - math.log(total)
        highest, least = limit / rate, math.exp(-limit)
        while i < n and a[EDGE, i] < state.cell_edges[c + 1]:
            if a[FAST, i] > highest:
                a[FAST, i] = highest
                a[OF_FAST, i] = a[PRIOR, i] * least
            i += 1
    a[OF_FAST, n] = sum_of(a[OF_FAST], n)
