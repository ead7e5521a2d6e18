"""Kernel of one step of Algorithm 1 on an interval tree."""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel
from semibandit.weights import _scaled as scaled
from semibandit.weights import _tree_kernels as tree
from semibandit.weights.feedback import Revealed, Rule

# A draw has 53 bits: a set with less mass is reached by rounding only. The floor keeps estimates finite.
SMALLEST_SHARE = 2.0**-64


@inner
def share_out(t: tree.Nodes, edges: Any, sets: Any, shares: Any) -> None:
    """Write the share of the mass of each observed piece."""
    m0, e0 = tree.grand_total(t)
    for i in range(sets.size):
        if sets[i] >= 0:
            m, e = tree.integrate(t, edges[i], edges[i + 1])
            shares[i] = min(scaled.ratio(m, e, m0, e0), 1.0)


@kernel
def set_probabilities(sets: Any, shares: Any, p: Any) -> None:
    """Write the probability that one draw falls into each set; recorded ones (not negative) stay."""
    for k in range(p.size):
        if p[k] < 0.0:
            share = 0.0
            for i in range(sets.size):
                if sets[i] == k:
                    share += shares[i]
            p[k] = min(share, 1.0)
        p[k] = max(p[k], SMALLEST_SHARE)


@inner
def count(looks: Any) -> int:
    """Return the number of looks in all sets."""
    n = 0
    for i in range(looks.size):
        n += looks[i]
    return n


@inner
def seen_probability(p: float, draws: int) -> float:
    """Return the probability that at least one of several draws falls into a set: 1 - (1 - p)^n."""
    if draws == 1 or p >= 1.0:
        return p
    return -math.expm1(draws * math.log1p(-p))


@kernel
def learn(nodes: Any, seen: Revealed, shares: Any, factors: Any, rule: Rule) -> tuple[float, float, float]:
    """Multiply the weights of the observed pieces by exp(-rate · estimate) (Algorithm 1, steps 2c and 2d).

    `shares` are those of the pieces at the time of the ask, in the distribution that was played and by the
    weights (two rows), or empty for a prompt tell. Writes the probabilities of the sets, and the
    logarithms of the factors to `factors`. Returns the mixability gap of the weights at the ask, the expected
    estimate of the play minus the mix loss of the weights now (see `Update.regret`), and the largest amount
    by which the floor raised an estimate.
    """
    t, losses, sets = tree.opened(nodes), seen.losses, seen.sets
    prompt = shares.size == 0
    now = np.zeros(losses.size)
    share_out(t, seen.edges, sets, now)
    played = now if prompt else shares[0]
    asked = now if prompt else shares[1]
    set_probabilities(sets, played, seen.p)
    draws = count(seen.looks)
    paid = mean = mixed = mixed_now = raised = 0.0
    m0, e0 = tree.grand_total(t)
    for i in range(losses.size):
        if sets[i] >= 0:
            exact = (losses[i] - rule.shift) / (seen_probability(seen.p[sets[i]], draws) + rule.explore)
            estimate = max(exact, rule.floor)
            raised = max(raised, estimate - exact)
            factors[i] = min(max(-rule.rate * estimate, -scaled.LARGEST_LOG), scaled.LARGEST_LOG)
            paid += played[i] * estimate
            mean += asked[i] * estimate
            grown = math.expm1(min(factors[i], 700.0))
            mixed += asked[i] * grown
            mixed_now += now[i] * grown
            tree.update(t, seen.edges[i], seen.edges[i + 1], factors[i])
    log_mixed = math.log1p(max(mixed, 2.0**-53 - 1.0))
    log_now = math.log1p(max(mixed_now, 2.0**-53 - 1.0))
    if mixed_now <= -0.5:  # most of the mass is gone: the totals are more precise than the sum
        m1, e1 = tree.grand_total(t)
        log_now = scaled.log(m1 / m0, e1 - e0)
        if prompt:
            log_mixed = log_now
    return float(max(mean + log_mixed / rule.rate, 0.0)), paid + log_now / rule.rate, float(raised)
