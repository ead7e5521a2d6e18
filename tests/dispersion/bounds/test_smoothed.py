"""Lemmas 8 and 11, Theorem 14 and their corollaries against simulated critical values."""

import itertools
import math

import numpy as np
import pytest

from reference.monte_carlo import (
    SMOOTH,
    mean_limits,
    most_in_a_window,
    proportion_limits,
)
from semibandit.dispersion import bounds


@pytest.fixture(params=SMOOTH)
def smooth(request):
    return SMOOTH[request.param]


# -- knapsack --------------------------------------------------------------------------------------------


def knapsack_critical(values, sizes):
    i, j = np.triu_indices(values.shape[1], 1)
    return np.log(values[:, i] / values[:, j]) / np.log(sizes[:, i] / sizes[:, j])


def test_lemma_8_holds(smooth):
    draw, kappa = smooth
    T, n, C, eps, rng = 3000, 5, 20.0, 2e-3, np.random.default_rng(10)
    worst, fixed = [], []
    for _ in range(8):
        critical = knapsack_critical(draw(rng, (T, n)), rng.uniform(1.0, C, (T, n)))
        assert critical.shape[1] == bounds.knapsack_critical_values(n)
        worst.append(most_in_a_window(critical[(critical >= 0) & (critical <= 10)], eps))
        fixed.append([((critical >= lo) & (critical <= lo + eps)).any(axis=1).sum() for lo in (0, 0.5, 2)])
    assert mean_limits(worst)[1] <= bounds.knapsack_dispersion(T, eps, n=n, C=C, kappa=kappa) < T
    per_interval = bounds.knapsack_critical_values(n) * (kappa - 0.5) * math.log(C) * eps
    assert (proportion_limits(np.sum(fixed, axis=0), 8 * T)[0] <= per_interval).all()


# -- linkage ---------------------------------------------------------------------------------------------


def competing_merges(n, both_constant=False):
    """All (closest, farthest; closest', farthest') as indices of pairs of points."""
    P = math.comb(n, 2)
    merges = list(itertools.product(range(P), repeat=2))
    return np.array(
        [
            (*a, *b)
            for a, b in itertools.combinations(merges, 2)
            if not set(a) & set(b) and (both_constant or a[0] != a[1] or b[0] != b[1])
        ]
    )


@pytest.mark.parametrize("n", [3, 4])
def test_the_number_of_critical_values_is_that_of_enumeration(n):
    assert len(competing_merges(n)) == bounds.linkage_critical_values(n)
    assert len(competing_merges(n, both_constant=True)) == bounds.metric_linkage_critical_values(n)
    assert bounds.linkage_critical_values(n) <= n**8 / 32


def linkage_critical(distances, merges):
    i, j, r, s = (distances[:, column] for column in merges.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (r - i) / (r - i + j - s)


def test_lemma_11_holds(smooth):
    draw, kappa = smooth
    T, n, B, eps, rng = 1000, 4, 3.0, 1e-6, np.random.default_rng(12)
    merges = competing_merges(n)
    worst, fixed = [], []
    for _ in range(6):
        critical = linkage_critical(B * draw(rng, (T, 6)), merges)
        worst.append(most_in_a_window(critical[(critical >= 0) & (critical <= 1)], eps))
        fixed.append(
            [((critical >= lo) & (critical <= lo + 1e-4)).any(axis=1).sum() for lo in (0.0, 0.31, 0.5)]
        )
    assert mean_limits(worst)[1] <= bounds.linkage_dispersion(T, eps, n=n, B=B, kappa=kappa / B) < T
    per_interval = min(1.0, len(merges) * 4 * kappa * 1e-4)
    assert (proportion_limits(np.sum(fixed, axis=0), 6 * T)[0] <= per_interval).all()


# -- two metrics -----------------------------------------------------------------------------------------


def metric_roots(d0, d1, merges, rho=None, alpha=None):
    """Return the root in alpha at a given rho, or in rho at a given alpha."""
    if alpha is not None:
        return linkage_critical((1 - alpha) * d0 + alpha * d1, merges)
    values = []
    for d in (d0, d1):
        i, j, r, s = (d[:, column] for column in merges.T)
        values.append((1 - rho) * (r - i) + rho * (s - j))
    with np.errstate(divide="ignore", invalid="ignore"):
        return values[0] / (values[0] - values[1])


def test_theorem_14_holds(smooth):
    """The worst segments of several rows and columns add up to less than the bound."""
    draw, kappa = smooth
    T, n, eps, rng = 3000, 3, 1e-5, np.random.default_rng(15)
    merges = competing_merges(n, both_constant=True)
    d0, d1 = draw(rng, (T, 3)), draw(rng, (T, 3))
    worst = []
    for axis in ("alpha", "rho"):
        roots = [metric_roots(d0, d1, merges, **{axis: at}) for at in np.linspace(0.05, 0.95, 7)]
        worst.append(max(most_in_a_window(x[(x >= 0) & (x <= 1)], eps) for x in roots))
    assert 0 < sum(worst) <= bounds.metric_linkage_dispersion(T, eps, n=n, B=1.0, kappa=kappa) < T
