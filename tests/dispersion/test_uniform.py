"""Theorems 5, 6, 7 and Lemma B.2 against simulation and against counting."""

import itertools
import math

import numpy as np
import pytest

from reference.monte_carlo import mean_limits, proportion_limits
from semibandit.dispersion import bounds

# Discontinuities of one function, K at a time; the density of each single one is at most the number given.
SAMPLERS = {
    "uniform": (lambda rng, T, K: rng.random((T, K)), 1.0),
    "triangular": (lambda rng, T, K: rng.triangular(0.0, 0.3, 1.0, (T, K)), 2.0),
    "clustered": (lambda rng, T, K: 0.9 * rng.random((T, 1)) + 0.1 * rng.random((T, K)), 1.0 / 0.9),
    "alternating": (lambda rng, T, K: (rng.random((T, K)) + np.arange(T)[:, None] % 2) / 2, 1.0),
}


def worst(x, eps):
    """(functions, discontinuities) in the worst closed interval of length eps; x has a row per function."""
    K = x.shape[1]
    order = np.argsort(x, axis=None)
    points, owner = x.ravel()[order], order // K
    first_out = np.searchsorted(points, points + eps, side="right")
    in_window = first_out - np.arange(points.size)
    best = 0
    for i in np.argsort(-in_window):  # widest windows first, and stop when none can be better
        if in_window[i] <= best:
            break
        best = max(best, np.unique(owner[i : first_out[i]]).size)
    return best, in_window.max()


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("T", "K", "eps"), [(400, 1, 0.01), (400, 1, 0.2), (300, 4, 0.01), (2000, 2, 0.001)])
def test_theorem_5_and_lemma_b2(name, T, K, eps):
    sampler, kappa = SAMPLERS[name]
    rng = np.random.default_rng(5)
    runs = [worst(sampler(rng, T, K), eps) for _ in range(25)]
    functions, points = (mean_limits(column)[1] for column in zip(*runs, strict=True))
    mean = T * min(1.0, K * kappa * eps)  # for a fixed interval
    assert (
        functions <= bounds.worst_interval(mean, T, K) <= bounds.worst_interval(mean, T, K, any_length=True)
    )
    assert functions <= bounds.worst_interval_union(T * K * kappa * eps, T, K)
    assert points <= bounds.worst_interval_union(T * K * kappa * eps, T, K) or functions == T


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_means_used_above_are_means(name):
    sampler, kappa = SAMPLERS[name]
    rng = np.random.default_rng(6)
    x = sampler(rng, 40_000, 3)
    for lo in (0.0, 0.28, 0.55, 0.9):
        hits = ((x >= lo) & (x <= lo + 0.05)).any(axis=1)
        assert proportion_limits(hits.sum(), hits.size)[0] <= 3 * kappa * 0.05


def test_a_fourth_of_the_excess_over_the_mean_would_not_do():
    """With many places and a large mean the worst interval comes within a factor of four of Theorem 5."""
    rng, T, mean = np.random.default_rng(7), 1_000_000, 1000
    counts = []
    for _ in range(12):
        x = np.sort(rng.random(T))
        counts.append((np.searchsorted(x, x + mean / T, side="right") - np.arange(T)).max())
    lower, upper = mean_limits(counts)
    excess = bounds.worst_interval(mean, T, 1) - mean
    assert excess / 4 < lower - mean < upper - mean < excess


@pytest.mark.parametrize("mean", [0.5, 30.0, 2000.0])
def test_the_bounds_solve_their_quadratic(mean):
    """Z = μ + 2·√(2·Z·ln N), the third step of the module, with the patterns of each theorem."""
    T, K = 10**7, 3
    found = {
        bounds.worst_interval(mean, T, K): bounds.interval_patterns(T * K),
        bounds.worst_interval(mean, T, K, any_length=True): math.comb(T * K + 1, 2) + 1,
        bounds.worst_segment(mean, T, K, degree=2): bounds.segment_patterns(T * K, 2),
    }
    for Z, patterns in found.items():
        assert pytest.approx(mean + 2 * math.sqrt(2 * Z * math.log(patterns))) == Z
    union = mean + K * 2 * math.sqrt(2 * T * math.log(2 * T + 1))
    assert bounds.worst_interval_union(mean, T, K) == pytest.approx(union)


def test_never_above_the_classical_form_and_far_below_it_for_short_intervals():
    T = 10**6
    classical = 2 * math.sqrt(2 * T * math.log(2 * T + 1))
    assert bounds.worst_interval(10.0, T, 1) < 0.03 * classical
    for mean in np.geomspace(1e-3, T, 50):
        assert bounds.worst_interval(mean, T, 1) <= mean + classical
    assert bounds.worst_interval(T, T, 1) == T
    assert bounds.worst_interval(0.0, T, 1) == 0.0


@pytest.mark.parametrize("n", range(6))
def test_interval_patterns_by_enumeration(n):
    rng = np.random.default_rng(n)
    for length in (0.05, 0.2, 0.7, 1.0):
        points = rng.random(n)
        ends = np.concatenate([points, points - length])
        places = np.unique(np.concatenate([ends, ends + 1e-9, ends - 1e-9, [-1.0]]))
        found = {tuple((points >= lo) & (points <= lo + length)) for lo in places}
        assert len(found) <= bounds.interval_patterns(n)
    assert len(found) >= 2 * n  # points that fit into the window enter one by one, then leave
    points = np.sort(rng.random(n))
    runs = {tuple(range(i, j)) for i in range(n + 1) for j in range(i, n + 1)}
    assert len(runs) == bounds.interval_patterns(n, any_length=True)


# -- two parameters --------------------------------------------------------------------------------------


def horizontal_crossings(conics, y):
    """Where the conics a·x² + b·xy + c·y² + d·x + e·y + f meet a horizontal line, nan where they do not."""
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
    "parabolas": lambda rng, k: np.stack(
        [1 + 0 * (u := rng.random(k)), 0 * u, 0 * u, -2 * u, rng.uniform(-1, -0.5, k), rng.random(k)], axis=1
    ),
}


def circles(x, y, radius):
    return np.stack([1 + 0 * x, 0 * x, 1 + 0 * x, -2 * x, -2 * y, x * x + y * y - radius**2], axis=1)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_order_of_crossings_changes_no_more_often_than_counted(name, k):
    """Going up over horizontal lines, and over vertical ones (the curves mirrored)."""
    heights = math.comb(k, 2) * 4 + k * 2
    assert bounds.segment_patterns(k, 2) == 2 * (2 * heights + 1) * (math.comb(2 * k + 1, 2) + 1)
    conics = CURVES[name](np.random.default_rng(k), k)
    for family in (conics, conics[:, [2, 1, 0, 4, 3, 5]]):
        orders = []
        for y in np.linspace(-1.0, 2.0, 3001):
            x = horizontal_crossings(family, y)
            orders.append(tuple(np.argsort(x, axis=None)[: np.isfinite(x).sum()] // 2))
        assert max(map(len, orders)) <= 2 * k
        assert len(list(itertools.groupby(orders))) <= heights + 1


def test_vc_constants():
    assert [bounds.vc_segments(d) for d in (1, 2, 3)] == [17, 22, 25]
    for d in (1, 2, 3, 4):
        k = bounds.vc_segments(d)
        assert all(bounds.segment_patterns(j, d) < 2**j for j in range(k, k + 50))
        assert bounds.segment_patterns(k - 1, d) >= 2 ** (k - 1)


@pytest.mark.parametrize("name", CURVES)
def test_theorem_7(name):
    """Each of T functions breaks on one random conic; the worst of the segments of 60 lines each way."""
    T, eps, rng = 2000, 0.01, np.random.default_rng(8)
    conics = CURVES[name](rng, T)
    mean, found = 0.0, 0
    for family in (conics, conics[:, [2, 1, 0, 4, 3, 5]]):
        for y in np.linspace(0.0, 1.0, 60):
            x = np.nan_to_num(horizontal_crossings(family, y), nan=np.inf)
            x = np.where((x >= 0) & (x <= 1), x, 1e9 + np.arange(T)[:, None])  # beyond: each on its own
            found = max(found, worst(x, eps)[0])
            fixed = [((x >= lo) & (x <= lo + eps)).any(axis=1).sum() for lo in np.linspace(0, 1 - eps, 100)]
            mean = max(mean, proportion_limits(max(fixed), T)[1] * T)
    assert 20 < found <= bounds.worst_segment(mean, T, K=1, degree=2) < T


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.worst_interval(-1.0, 10, 1), "mean must be finite and >= 0, got -1.0"),
        (lambda: bounds.worst_interval(1.0, 0, 1), "T must be at least 1, got 0"),
        (lambda: bounds.segment_patterns(3, 0), "degree must be at least 1, got 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
