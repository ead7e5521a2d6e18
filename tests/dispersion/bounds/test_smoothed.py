"""Lemmas 8 and 11, Theorem 14 and their corollaries against simulated critical values."""

import itertools
import math

import numpy as np
import pytest

from reference.monte_carlo import (
    SMOOTH,
    mean_limits,
    most_in_a_window,
    peak_density_limits,
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


@pytest.mark.parametrize("kappa", [1.0, 3.0, 20.0])
def test_lemma_8_is_sharp_for_large_values_and_the_most_different_sizes(kappa):
    """Two items with values uniform in [1 - 1/κ, 1] and sizes 1 and C swap near 0 as often as allowed."""
    rng, T, C, eps = np.random.default_rng(11), 100_000, 20.0, 0.02 / kappa
    counts = []
    for _ in range(12):
        values = 1 - rng.random((T, 2)) / kappa
        counts.append(most_in_a_window(knapsack_critical(values, np.array([[1.0, C]])), eps))
    bound = bounds.knapsack_dispersion(T, eps, n=2, C=C, kappa=kappa)
    lower, upper = mean_limits(counts)
    assert 0.85 * bound < lower < upper < bound


def test_the_means_on_a_fixed_interval_are_count_times_length_times_density():
    T, eps = 10**6, 1e-9
    mean = T * 10 * eps * 2.5 * math.log(20.0)
    found = bounds.knapsack_dispersion(T, eps, n=5, C=20.0, kappa=3.0)
    assert found == pytest.approx(bounds.worst_interval(mean, T, 10))
    N = bounds.linkage_critical_values(5)
    expected = bounds.worst_interval(T * N * eps * 4 * 2.0 * 3.0, T, N)
    assert bounds.linkage_dispersion(T, eps, n=5, B=2.0, kappa=3.0) == pytest.approx(expected)
    N = bounds.metric_linkage_critical_values(5)
    expected = 2 * bounds.worst_segment(T * N * eps / math.sqrt(2) * 8 * 2.0 * 3.0, T, N, degree=2)
    assert bounds.metric_linkage_dispersion(T, eps, n=5, B=2.0, kappa=3.0) == pytest.approx(expected)
    assert bounds.knapsack_dispersion(1000, 0.1, n=10, C=1.0, kappa=1.0) == 0.0  # equal sizes never swap


def test_corollary_9_is_sublinear_and_of_the_form_of_the_paper():
    values = {
        T: bounds.knapsack_regret(T, n=10, C=50.0, kappa=2.0, R=10.0).value for T in (10**5, 10**7, 10**9)
    }
    assert values[10**9] / values[10**7] < 11.5
    for T, value in values.items():
        paper = 50.0 * 10 * math.sqrt(T * math.log(10.0 * T * 10 * 2.0 * math.log(50.0)))
        assert 0.3 < value / paper < 3


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


MERGES = {
    "two pairs each": ((0, 1, 2, 3), 4.0),
    "one pair first": ((0, 0, 2, 3), 1.0),
    "one pair second": ((0, 1, 2, 2), 1.0),
}


@pytest.mark.parametrize("merge", MERGES)
def test_lemma_11_bounds_the_density_of_a_critical_value(smooth, merge):
    draw, kappa = smooth
    indices, factor = MERGES[merge]
    critical = linkage_critical(draw(np.random.default_rng(13), (400_000, 4)), np.array([indices]))[:, 0]
    assert peak_density_limits(critical, 0.01)[0] <= factor * kappa


def opposite(rng, kappa, n=400_000):
    """Return distances of two merges that differ as much as possible: 0 and 1 the one, 1 and 0 the other."""
    small, large = rng.random((n, 4)) / kappa, 1 - rng.random((n, 4)) / kappa
    return np.where([True, False, False, True], small, large)


def test_the_density_of_lemma_11_is_sharp_for_opposite_merges():
    kappa = 50.0
    critical = linkage_critical(opposite(np.random.default_rng(16), kappa), np.array([(0, 1, 2, 3)]))[:, 0]
    lower, _ = peak_density_limits(critical, 0.1 / kappa)
    assert 0.6 * 4 * kappa < lower <= 4 * kappa


def test_corollary_12_is_sublinear_and_of_the_form_of_the_paper():
    values = {T: bounds.linkage_regret(T, n=5, B=1.0, kappa=3.0).value for T in (10**8, 10**10)}
    assert values[10**10] / values[10**8] < 11.5
    for T, value in values.items():
        assert 0.1 < value / (5**4 * math.sqrt(T * math.log(T * 5 * 3.0))) < 3


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


@pytest.mark.parametrize(
    "line", [{"alpha": 0.0}, {"alpha": 0.5}, {"alpha": 0.8}, {"rho": 0.0}, {"rho": 0.5}, {"rho": 0.9}]
)
def test_theorem_14_bounds_the_density_along_each_axis(smooth, line):
    draw, kappa = smooth
    rng = np.random.default_rng(14)
    d0, d1 = draw(rng, (200_000, 4)), draw(rng, (200_000, 4))
    for merge in ((0, 1, 2, 3), (0, 0, 2, 3), (0, 1, 2, 2), *(((0, 0, 2, 2),) if "rho" in line else ())):
        roots = metric_roots(d0, d1, np.array([merge]), **line)[:, 0]
        assert peak_density_limits(roots, 0.01)[0] <= 8 * kappa


@pytest.mark.parametrize("line", [{"alpha": 0.5}, {"rho": 0.5}])
def test_the_density_of_theorem_14_is_sharp_for_opposite_merges(line):
    """The two factors of 8·κB: mixing doubles the density of a distance, and a tie has four times that."""
    rng, kappa, merge = np.random.default_rng(17), 50.0, (0, 1, 2, 3)
    d0, d1 = opposite(rng, kappa), opposite(rng, kappa)
    if "rho" in line:  # at α = 0 one merge is the closer one, at α = 1 the other
        d1, merge = 1 - d1, (0, 3, 2, 1)
    lower, _ = peak_density_limits((d0[:, 1] + d0[:, 2]) / 2, 0.04 / kappa)
    assert 0.9 * 2 * kappa < lower <= 2 * kappa
    lower, _ = peak_density_limits(metric_roots(d0, d1, np.array([merge]), **line)[:, 0], 0.05 / kappa)
    assert 0.42 * 8 * kappa < lower <= 8 * kappa


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.knapsack_dispersion(10, 0.1, n=5, C=0.5, kappa=1.0), "C must be finite and >= 1"),
        (
            lambda: bounds.knapsack_dispersion(10, 0.1, n=5, C=2.0, kappa=0.5),
            "kappa must be at least 1, .* got 0.5",
        ),
        (lambda: bounds.linkage_dispersion(10, 0.1, n=5, B=4.0, kappa=0.2), "kappa must be at least 0.25"),
        (
            lambda: bounds.metric_linkage_dispersion(10, -0.1, n=5, B=1.0, kappa=1.0),
            "eps must be finite and >= 0",
        ),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
