"""Kernels for rounds with several looks at an instance: the other looks tell how hard it is."""

from typing import Any

import numpy as np

from semibandit._jit import inner
from semibandit.weights._local_state import OTHERS, PAIRED, PRODUCTS, SURPRISE
from semibandit.weights._tree_rule import SMALLEST_SHARE, count

FIRST_SLOPE = 0.8  # prior of the regression slope
FIRST_LOOKS = 60.0  # its weight, in looks


@inner
def surprises(first: Any, losses: Any, sets: Any, n_sets: int, base: Any, asked: Any) -> Any:
    """Return the mean of loss - b on each set."""
    total, share = np.zeros(n_sets), np.zeros(n_sets)
    for j in range(sets.size):
        if sets[j] >= 0:
            for i in range(first[j], first[j + 1]):
                total[sets[j]] += asked[i] * (losses[j] - base[i])
                share[sets[j]] += asked[i]
    for k in range(n_sets):
        total[k] = total[k] / share[k] if share[k] > 0.0 else 0.0
    return total


@inner
def look_factors(surprise: Any, looks: Any, p: Any, explore: float, deviation: float, sums: Any) -> Any:
    """Return for each set the factor of loss - b, and the offset to subtract; add the round to `sums`.

    With one look the factor is 1/p and the offset 0. With n looks, each makes an estimate of its own and the
    mean counts. The surprise (loss - b) of the other looks tells whether the instance is a hard one:
    θ · (their mean surprise) is subtracted from each. Looks are drawn independently, so that the expectation
    of that is the same everywhere. θ is the slope of the regression of the surprise in one set on that in
    others, over past rounds; `sums` holds the sums of products, squares and surprises, and the rounds.
    """
    factors = np.zeros((2, p.size))
    draws = count(looks)
    if draws == 1:
        for k in range(p.size):
            factors[0, k] = 1.0 / (p[k] + explore)
        return factors
    usual = sums[SURPRISE] / (sums[PAIRED] + 1.0)
    prior = FIRST_LOOKS * deviation * deviation
    theta = FIRST_SLOPE
    if sums[OTHERS] + prior > 0.0:
        theta = min(max((sums[PRODUCTS] + FIRST_SLOPE * prior) / (sums[OTHERS] + prior), 0.0), 1.0)
    total = 0.0
    for k in range(p.size):
        total += looks[k] * surprise[k]
    for k in range(p.size):
        factors[0, k] = looks[k] / draws / (max(p[k], SMALLEST_SHARE) + explore)
        factors[1, k] = factors[0, k] * theta * (total - surprise[k]) / (draws - 1)
        elsewhere = draws - looks[k]
        if elsewhere > 0:  # looks at the same set agree whatever the instance
            others = (total - looks[k] * surprise[k]) / elsewhere - usual
            sums[PRODUCTS] += looks[k] * (surprise[k] - usual) * others
            sums[OTHERS] += looks[k] * others * others
    sums[SURPRISE] += total / draws
    sums[PAIRED] += 1.0
    return factors
