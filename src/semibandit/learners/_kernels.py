"""Kernels of a learner's round: look at what was told, then move the weights."""

import math
from typing import Any

import numpy as np

from semibandit._jit import kernel
from semibandit.weights import _kernels as tree

# The draw has 53 bits: a set of less mass is reached by rounding only. The floor keeps estimates finite.
SMALLEST_SHARE = 2.0**-64

FINE, OUT_OF_RANGE, NOT_COVERED = 0, 1, 2


@kernel
def survey(edges: Any, values: Any, x: float, high: float) -> tuple[int, float, bool]:
    """Check the values told; return (status, the value at x or the culprit, whether all is seen)."""
    at = -1
    whole = True
    for i in range(values.size):
        if math.isnan(values[i]):
            whole = False
            continue
        if not 0.0 <= values[i] <= high:
            return OUT_OF_RANGE, values[i], whole
        if edges[i] <= x < edges[i + 1]:
            at = i
    # The right end of a stretch is closed: it belongs to the piece on its left where no other has it.
    if at < 0:
        for i in range(values.size):
            if x == edges[i + 1] and not math.isnan(values[i]):
                at = i
    if at < 0:
        return NOT_COVERED, np.nan, whole
    return FINE, values[at], whole


@kernel
def learn(
    t: tree.Nodes,
    edges: Any,
    losses: Any,
    factors: Any,
    p: float,
    shift: float,
    explore: float,
    floor: float,
    rate: float,
) -> tuple[float, float]:
    """One step of Algorithm 1 on the seen pieces (losses that are not nan).

    p is the probability of the seen set when the parameter was drawn; negative: take today's. Returns
    p and the mixability gap of the step, and leaves in `factors`, zeros before, the log factors by which
    the weights have moved (to return an array takes much longer).
    """
    n = losses.size
    m0, e0 = tree.grand_total(t)
    shares = np.zeros(n)
    for i in range(n):
        if not math.isnan(losses[i]):
            m, e = tree.integrate(t, edges[i], edges[i + 1])
            shares[i] = min(tree.ratio(m, e, m0, e0), 1.0)
    if p < 0.0:
        p = min(shares.sum(), 1.0)
    p = max(p, SMALLEST_SHARE)
    mean = 0.0
    mixed = 0.0
    for i in range(n):
        if not math.isnan(losses[i]):
            estimate = max((losses[i] - shift) / (p + explore), floor)
            factors[i] = max(-rate * estimate, -tree.LARGEST_LOG)
            mean += shares[i] * estimate
            mixed += shares[i] * math.expm1(factors[i])
            tree.update(t, edges[i], edges[i + 1], factors[i])
    if mixed > -0.5:
        log_mixed = math.log1p(mixed)
    else:  # most of the mass is gone: the totals tell how much to full precision
        m1, e1 = tree.grand_total(t)
        log_mixed = tree.log(m1 / m0, e1 - e0)
    return float(p), float(max(mean + log_mixed / rate, 0.0))
