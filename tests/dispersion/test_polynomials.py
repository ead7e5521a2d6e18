"""Theorem 4 against the roots of simulated polynomials."""

import numpy as np
import pytest

from reference.monte_carlo import proportion_limits
from semibandit.dispersion import bounds

N = 40_000

# (sampler of coefficients in [-R, R]^d, bound of their joint density)
COEFFICIENTS = {
    "uniform": lambda rng, d, R: (rng.uniform(-R, R, (N, d)), (2 * R) ** -d),
    "triangular": lambda rng, d, R: (rng.triangular(-R, 0, R, (N, d)), R**-d),
    "narrow": lambda rng, d, R: (-R * (0.7 + 0.3 * rng.random((N, d))), (0.3 * R) ** -d),
    "mixture": lambda rng, d, R: (
        np.where(rng.random((N, 1)) < 0.5, rng.uniform(-R, R, (N, d)), -R * (0.5 + 0.5 * rng.random((N, d)))),
        0.5 * (2 * R) ** -d + 0.5 * (0.5 * R) ** -d,
    ),
}


def real_roots(coefficients):
    """The real roots of each monic polynomial x^d + c[0] x^(d-1) + ..., nan where complex."""
    n, d = coefficients.shape
    companion = np.zeros((n, d, d))
    companion[:, 0, :] = -coefficients
    companion[:, np.arange(1, d), np.arange(d - 1)] = 1.0
    roots = np.linalg.eigvals(companion).astype(complex)
    return np.where(np.abs(roots.imag) < 1e-9, roots.real, np.nan)


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize(("d", "R"), [(1, 2.0), (2, 1.0), (3, 0.7), (2, 3.0)])
def test_theorem_4(name, d, R):
    coefficients, kappa = COEFFICIENTS[name](np.random.default_rng(d), d, R)
    roots = real_roots(coefficients)
    assert np.nanmax(np.abs(roots)) <= 1 + R
    eps = 0.1
    for lo in np.arange(-(1 + R), 1 + R, eps):
        hit = ((roots >= lo) & (roots < lo + eps)).any(axis=1).sum()
        lower, _ = proportion_limits(hit, N)
        assert lower <= bounds.root_probability(eps, d, R, kappa)
        places = np.linspace(lo, lo + eps, 11)
        assert lower <= eps * max(bounds.root_density(d, R, kappa, at=x) for x in places) * 1.02


def test_attained_for_a_uniform_coefficient():
    roots = real_roots(np.random.default_rng(0).uniform(-1, 1, (N, 1)))
    hit = ((roots > 0) & (roots < 0.1)).sum()
    assert proportion_limits(hit, N)[0] > 0.9 * bounds.root_probability(0.1, 1, 1.0, 0.5)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("R", [0.5, 1.0, 4.0])
def test_highest_at_one_and_below_the_bound_of_a_single_coefficient(d, R):
    top = bounds.root_density(d, R, 1.0)
    assert max(bounds.root_density(d, R, 1.0, at=x) for x in np.linspace(0, 1 + R, 500)) <= top
    constant_term_only = d * (1 + R) ** (d - 1) + R * sum(i * (1 + R) ** (i - 1) for i in range(1, d))
    assert top <= (2 * R) ** (d - 1) * constant_term_only


def test_bad_input():
    with pytest.raises(ValueError, match=r"R must be finite and > 0, got 0\.0"):
        bounds.root_density(2, 0.0, 1.0)
    with pytest.raises(TypeError, match=r"degree must be an integer, got 1\.5"):
        bounds.root_probability(0.1, 1.5, 1.0, 1.0)
