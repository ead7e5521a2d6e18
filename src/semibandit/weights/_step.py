"""One step of Algorithm 1 on an interval tree."""

import math
from typing import Any

import numpy as np

from semibandit._jit import kernel
from semibandit.weights import _scaled as scaled
from semibandit.weights import _tree_kernels as tree

# The draw has 53 bits: a set of less mass is reached by rounding only. The floor keeps estimates finite.
SMALLEST_SHARE = 2.0**-64


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
    """Multiply the weights of the seen pieces (losses that are not nan) by exp(-rate · estimate).

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
            shares[i] = min(scaled.ratio(m, e, m0, e0), 1.0)
    if p < 0.0:
        p = min(shares.sum(), 1.0)
    p = max(p, SMALLEST_SHARE)
    mean = 0.0
    mixed = 0.0
    for i in range(n):
        if not math.isnan(losses[i]):
            estimate = max((losses[i] - shift) / (p + explore), floor)
            factors[i] = max(-rate * estimate, -scaled.LARGEST_LOG)
            mean += shares[i] * estimate
            mixed += shares[i] * math.expm1(factors[i])
            tree.update(t, edges[i], edges[i + 1], factors[i])
    if mixed > -0.5:
        log_mixed = math.log1p(mixed)
    else:  # most of the mass is gone: the totals tell how much to full precision
        m1, e1 = tree.grand_total(t)
        log_mixed = scaled.log(m1 / m0, e1 - e0)
    return float(p), float(max(mean + log_mixed / rate, 0.0))
