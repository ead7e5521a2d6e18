"""One step of Algorithm 1 on an interval tree."""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel
from semibandit.weights import _scaled as scaled
from semibandit.weights import _told
from semibandit.weights import _tree_kernels as tree


@inner
def share_out(t: tree.Nodes, edges: Any, sets: Any, shares: Any) -> None:
    """Write the share of the mass of each piece that was seen."""
    m0, e0 = tree.grand_total(t)
    for i in range(sets.size):
        if sets[i] >= 0:
            m, e = tree.integrate(t, edges[i], edges[i + 1])
            shares[i] = min(scaled.ratio(m, e, m0, e0), 1.0)


@kernel
def learn(
    nodes: Any,
    lo: float,
    hi: float,
    paid: float,
    told: Any,
    shares: Any,
    shift: float,
    explore: float,
    floor: float,
    rate: float,
    whole: bool,
) -> tuple[float, float, float, float]:
    """Multiply the weights of the pieces that were seen by exp(-rate · estimate).

    What was seen is in the table `told`, or a step from lo to hi if that is empty. `shares` are those of the
    pieces at the time of the draw, where that is past; with none given they are today's. Completes the
    chances of the sets, and the log factors by which the weights have moved. (To return arrays takes much
    longer, as it does to hand over named tuples.) Returns the mixability gap of the step, by how much the
    floor has raised an estimate at most, and of the first set and piece the chance and the factor.
    """
    t = tree.opened(nodes)
    told = _told.completed(told, lo, hi, paid, whole)
    edges, losses, factors = told[_told.EDGE], told[_told.LOSS, :-1], told[_told.FACTOR, :-1]
    sets, times, p = _told.sets_in(told)
    prompt = shares.size == 0
    if prompt:
        shares = np.zeros(losses.size)
        share_out(t, edges, sets, shares)
    _told.chances(sets, shares, _told.looks(times), p)
    mean = mixed = clipped = 0.0
    m0, e0 = tree.grand_total(t)
    for i in range(losses.size):
        if sets[i] >= 0:
            exact = (losses[i] - shift) / (p[sets[i]] + explore)
            estimate = max(exact, floor)
            clipped = max(clipped, estimate - exact)
            factors[i] = max(-rate * estimate, -scaled.LARGEST_LOG)
            mean += shares[i] * estimate
            mixed += shares[i] * math.expm1(factors[i])
            tree.update(t, edges[i], edges[i + 1], factors[i])
    if prompt and mixed <= -0.5:  # most of the mass is gone: the totals tell how much to full precision
        m1, e1 = tree.grand_total(t)
        log_mixed = scaled.log(m1 / m0, e1 - e0)
    else:
        log_mixed = math.log1p(max(mixed, 2.0**-53 - 1.0))
    return float(max(mean + log_mixed / rate, 0.0)), float(clipped), float(p[0]), float(factors[0])
