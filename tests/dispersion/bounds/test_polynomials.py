"""Theorem 4 against the roots of simulated polynomials."""

import math

import numpy as np
import pytest

from reference.monte_carlo import proportion_limits
from semibandit.dispersion import bounds

N = 20_000

# (sampler of coefficients in [-R, R]^d, bound of their joint density)
COEFFICIENTS = {
    "uniform": lambda rng, d, R: (rng.uniform(-R, R, (N, d)), (2 * R) ** -d),
    "triangular": lambda rng, d, R: (rng.triangular(-R, 0, R, (N, d)), R**-d),
    "narrow": lambda rng, d, R: (-R * (0.7 + 0.3 * rng.random((N, d))), (0.3 * R) ** -d),
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
def test_theorem_4_holds(name, d, R):
    coefficients, kappa = COEFFICIENTS[name](np.random.default_rng(d), d, R)
    roots = real_roots(coefficients)
    assert np.nanmax(np.abs(roots)) <= 1 + R
    eps = 0.1
    for lo in np.arange(-(1 + R), 1 + R, eps):
        hit = ((roots >= lo) & (roots < lo + eps)).any(axis=1).sum()
        assert proportion_limits(hit, N)[0] <= bounds.root_probability(eps, d, R, kappa)


@pytest.mark.parametrize(("d", "R"), [(1, 1.0), (2, 2.0)])
def test_theorem_4_is_nearly_attained_at_one(d, R):
    """Only Cauchy and Schwarz loses something there, and the share of the cube without a root."""
    roots = real_roots(np.random.default_rng(0).uniform(-R, R, (10 * N, d)))
    hit = (np.abs(roots - 1) < 0.01).any(axis=1).sum()
    assert proportion_limits(hit, 10 * N)[0] > 0.4 * bounds.root_probability(0.02, d, R, (2 * R) ** -d)


def test_the_constant_is_that_of_the_theorem():
    for d, R in ((1, 0.5), (3, 1.0), (5, 4.0)):
        formula = (2 * R) ** (d - 1) * math.sqrt(d**2 + R**2 / 3 * sum(i * i for i in range(d)))
        assert bounds.root_density(d, R, 1.0) == pytest.approx(formula)
    with pytest.raises(ValueError, match=r"R must be finite and > 0, got 0\.0"):
        bounds.root_density(2, 0.0, 1.0)
