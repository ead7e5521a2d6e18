"""Kernels for the evidence against a place, which limits how far the fast learner may abandon it."""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner
from semibandit.weights._cell_means import looks_at
from semibandit.weights._local_state import (
    FAST_RATE,
    LAST,
    TOLD,
    WEIGHT,
    Config,
    State,
)
from semibandit.weights._pieces import EDGE, FAST, OF_FAST, PRIOR, sum_of

QUARTERS = 4  # number of the first of the four nodes that are quarters of the space


@inner
def evidence_against(paid: float, state: State, config: Config) -> Any:
    """Return the evidence against each node, the largest on its path.

    A node with n looks, mean m and variance v has n·g²/(2v + ⅔·range·g), where g is the excess of m over the
    loss that the learner expects to pay. That is the exponent of Bernstein's inequality: if v were exact and
    looks independent, a place as good as the play would have such a mean with a probability of at most
    exp(-evidence).

    Evidence fades when the quarter of the space around the node has not been looked at for long: then g is
    the excess that the node would have if it had cost the least since, plus patience·range/√t. The least is
    the lower end of the range, and at least half of the range below the expected loss.
    """
    tree, now, reach = state.tree, state.sums[TOLD], config.high - config.low
    low = min(config.low, paid - 0.5 * reach)
    slack = config.constants.patience * reach / math.sqrt(now) - paid
    evidence, kept = np.zeros(tree.shape[1]), np.zeros(tree.shape[1])
    for c in range(min(QUARTERS, tree.shape[1] >> 1), tree.shape[1]):
        if c < 2 * QUARTERS:
            kept[c] = tree[LAST, c] / now
        else:
            kept[c], evidence[c] = kept[c >> 1], evidence[c >> 1]
        node = c
        while node == c or (c < 2 * QUARTERS and node >= 1):
            if tree[WEIGHT, node] > 0.0:
                looks, mean, variance = looks_at(tree, node)
                excess = min(mean - paid, low + (mean - low) * kept[c] + slack)
                if excess > 0.0:
                    found = looks * excess * excess / (2.0 * variance + reach * excess / 1.5)
                    evidence[c] = max(found, evidence[c])
            node >>= 1
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
