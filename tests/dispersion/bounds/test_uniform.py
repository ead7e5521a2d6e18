"""Theorems 5, 6, 7 and Lemma B.2 against simulation and against counting."""

import math

import numpy as np
import pytest

from reference.monte_carlo import mean_limits, proportion_limits
from semibandit.dispersion import bounds, measure

# Discontinuities of one function, K at a time; the density of each single one is at most the number given.
SAMPLERS = {
    "uniform": (lambda rng, T, K: rng.random((T, K)), 1.0),
    "triangular": (lambda rng, T, K: rng.triangular(0.0, 0.3, 1.0, (T, K)), 2.0),
    "clustered": (lambda rng, T, K: 0.9 * rng.random((T, 1)) + 0.1 * rng.random((T, K)), 1.0 / 0.9),
    "alternating": (lambda rng, T, K: (rng.random((T, K)) + np.arange(T)[:, None] % 2) / 2, 1.0),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("T", "K", "eps"), [(400, 1, 0.01), (400, 1, 0.2), (300, 4, 0.01), (600, 2, 0.001)])
def test_theorem_5_and_lemma_b2_hold(name, T, K, eps):
    sampler, kappa = SAMPLERS[name]
    rng = np.random.default_rng(5)
    counts, hits = [], 0
    for _ in range(25):
        x = sampler(rng, T, K)
        counts.append(measure(x, eps=[eps]).counts[0])
        hits += ((x >= 0.28) & (x <= 0.28 + eps)).any(axis=1).sum()
    mean = T * min(1.0, K * kappa * eps)  # on a fixed interval
    assert proportion_limits(hits, 25 * T)[0] <= mean / T
    assert mean_limits(counts)[1] <= bounds.worst_interval(mean, T, K)
    assert mean_limits(counts)[1] <= bounds.worst_interval_union(T * K * kappa * eps, T, K)


@pytest.mark.parametrize("mean", [1e-9, 0.5, 30.0, 2000.0, 1e6])
def test_the_bounds_are_those_of_the_lemma_at_the_best_rate(mean):
    T, K = 10**9, 3
    k = T * K
    heights = 4 * (math.comb(k, 2) + k * k) + 2 * k + 1
    rates = np.geomspace(1e-3, 50.0, 4000)
    for m, N, found in (
        (1, k, bounds.worst_interval(mean, T, K)),
        (3, 4 * heights * (2 * k + 1), bounds.worst_segment(mean, T, K, degree=2)),
    ):
        best = (m + (math.log(N) + mean * np.expm1(rates)) / rates).min()
        assert best * (1 - 1e-5) < found <= best * (1 + 1e-12)
    union = mean + K * 2 * math.sqrt(2 * T * math.log(2 * T + 1))
    assert bounds.worst_interval_union(mean, T, K) == pytest.approx(union)


# -- two parameters --------------------------------------------------------------------------------------


def horizontal_crossings(conics, y):
    """Return the crossings of conics a·x² + b·xy + c·y² + d·x + e·y + f with a horizontal line, or nan."""
    a, b, c, d, e, f = conics.T
    p, q, r = a, b * y + d, c * y * y + e * y + f
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(q * q - 4 * p * r)
        both = np.stack([(-q - root) / (2 * p), (-q + root) / (2 * p)], axis=1)
        linear = np.stack([-r / q, np.full_like(q, np.nan)], axis=1)
    return np.where((np.abs(p) > 1e-12)[:, None], both, linear)


CURVES = {
    "circles": lambda rng, k: circles(rng.random(k), rng.random(k), 0.1 + 0.2 * rng.random(k)),
    "hyperbolas": lambda rng, k: np.stack(
        [
            0 * (u := rng.random(k)),
            1 + 0 * u,
            0 * u,
            rng.uniform(-1, 0, k),
            rng.uniform(-1, 0, k),
            rng.uniform(-0.3, 0.3, k),
        ],
        axis=1,
    ),
}


def circles(x, y, radius):
    return np.stack([1 + 0 * x, 0 * x, 1 + 0 * x, -2 * x, -2 * y, x * x + y * y - radius**2], axis=1)


def test_vc_segments_is_the_smallest_sufficient_number():
    assert [bounds.vc_segments(d) for d in (1, 2, 3)] == [17, 22, 25]
    for d in (1, 2, 3, 4):
        k = bounds.vc_segments(d)
        assert all(bounds.segment_patterns(j, d) < 2**j for j in range(k, k + 50))
        assert bounds.segment_patterns(k - 1, d) >= 2 ** (k - 1)


@pytest.mark.parametrize("name", CURVES)
def test_theorem_7_holds(name):
    """Each of T functions breaks on one random conic; the worst of the segments of 20 lines each way."""
    T, eps, rng = 2000, 0.01, np.random.default_rng(8)
    conics = CURVES[name](rng, T)
    mean, found = 0.0, 0
    for family in (conics, conics[:, [2, 1, 0, 4, 3, 5]]):
        for y in np.linspace(0.0, 1.0, 20):
            x = horizontal_crossings(family, y)
            inside = [row[(row >= 0) & (row <= 1)] for row in x]
            found = max(found, measure(inside, eps=[eps]).counts[0])
            fixed = [((x >= lo) & (x <= lo + eps)).any(axis=1).sum() for lo in np.linspace(0, 1 - eps, 100)]
            mean = max(mean, proportion_limits(max(fixed), T)[1] * T)
    assert 20 < found <= bounds.worst_segment(mean, T, K=1, degree=2) < T
