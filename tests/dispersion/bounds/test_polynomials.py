"""Theorem 4 and its generalisation in appendix B against the roots of simulated polynomials."""

import math

import numpy as np
import pytest

from reference.monte_carlo import mean_limits, proportion_limits
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
def test_theorem_4_holds(name, d, R):
    coefficients, kappa = COEFFICIENTS[name](np.random.default_rng(d), d, R)
    roots = real_roots(coefficients)
    assert np.nanmax(np.abs(roots)) <= 1 + R
    eps = 0.1
    for lo in np.arange(-(1 + R), 1 + R, eps):
        hit = ((roots >= lo) & (roots < lo + eps)).any(axis=1).sum()
        lower, _ = proportion_limits(hit, N)
        assert lower <= bounds.root_probability(eps, d, R, kappa)
        places = np.linspace(lo, lo + eps, 4)
        assert lower <= eps * max(bounds.root_density(d, R, kappa, at=x) for x in places) * 1.02


@pytest.mark.parametrize(("d", "R", "x"), [(1, 1.0, 0.0), (2, 1.0, 0.5), (2, 0.5, -0.4), (3, 0.5, 0.5)])
def test_theorem_4_is_nearly_attained_by_uniform_coefficients(d, R, x):
    """If all of the cube of coefficients has roots near x, only Cauchy and Schwarz loses something."""
    roots = real_roots(np.random.default_rng(0).uniform(-R, R, (5 * N, d)))
    hit = ((roots > x - 0.01) & (roots < x + 0.01)).any(axis=1).sum()
    assert proportion_limits(hit, 5 * N)[0] > 0.6 * 0.02 * bounds.root_density(d, R, (2 * R) ** -d, at=x)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("R", [0.5, 1.0, 4.0])
def test_the_closed_form_bounds_the_density_everywhere(d, R):
    top = bounds.root_density(d, R, 1.0)
    assert top == pytest.approx(
        (2 * R) ** (d - 1) * math.sqrt(d**2 + R**2 / 3 * sum(i * i for i in range(d)))
    )
    assert max(bounds.root_density(d, R, 1.0, at=x) for x in np.linspace(0, 1 + R, 60)) <= top * (1 + 1e-12)
    assert bounds.affine_root_density(np.eye(d + 1, d), np.eye(d + 1)[d], R, 1.0) <= 1.002 * top


# -- affine coefficients ---------------------------------------------------------------------------------

# (A, b): the coefficient of x^j is b[j] + A[j] @ a
AFFINE = {
    "a crossing of two lines": ([[1, 0], [-1, 1]], [0, 0]),
    "one number in all coefficients": ([[1], [2], [-1]], [-0.2, 0, 1]),
    "a square with free leading coefficient": (np.eye(3), np.zeros(3)),
    "two numbers in a cubic": ([[1, 0], [0.5, 1], [-1, 1], [0, 0.3]], [0.2, 0, 0, 1]),
    "monic": (np.eye(3, 2), [0, 0, 1]),
}


def density_of_roots(A, b, a, places, width):
    """Limits of the mean number of real roots per unit length in cells around the places."""
    coefficients = np.asarray(b) + a @ np.asarray(A, dtype=float).T
    roots = real_roots(coefficients[:, -2::-1] / coefficients[:, -1:])
    counts = [(np.abs(roots - x) <= width / 2).sum(axis=1) for x in places]
    return [np.array(mean_limits(count)) / width for count in counts]


@pytest.mark.parametrize("map_name", AFFINE)
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_appendix_b_holds(map_name, name):
    A, b = AFFINE[map_name]
    a, kappa = COEFFICIENTS[name](np.random.default_rng(1), np.shape(A)[1], 1.0)
    places, width = np.concatenate([np.linspace(-3, 3, 25), [-20.0, 8.0]]), 0.05
    top = bounds.affine_root_density(A, b, 1.0, kappa)
    for x, (lower, _) in zip(places, density_of_roots(A, b, a, places, width), strict=True):
        around = [
            bounds.affine_root_density(A, b, 1.0, kappa, at=y) for y in x + np.linspace(-0.5, 0.5, 3) * width
        ]
        assert max(around) <= top
        assert lower <= 1.02 * max(around)


@pytest.mark.parametrize("map_name", AFFINE)
def test_appendix_b_is_nearly_attained_by_uniform_numbers(map_name):
    A, b = AFFINE[map_name]
    k = np.shape(A)[1]
    a = np.random.default_rng(2).uniform(-1, 1, (5 * N, k))
    places = np.linspace(-1, 1, 21)
    bound = np.array([bounds.affine_root_density(A, b, 1.0, 2.0**-k, at=x) for x in places])
    lower = np.array([limits[0] for limits in density_of_roots(A, b, a, places, 0.02)])
    assert (lower[bound > 0] / bound[bound > 0]).max() > 0.5


def test_the_highest_density_is_an_upper_bound_and_nearly_attained():
    rng = np.random.default_rng(3)
    for _ in range(6):
        d, k = rng.integers(1, 5), rng.integers(1, 4)
        A, b = rng.normal(size=(d + 1, k)), rng.normal(size=d + 1)
        top = bounds.affine_root_density(A, b, 1.0, 1.0)
        found = max(
            bounds.affine_root_density(A, b, 1.0, 1.0, at=math.tan(t)) for t in np.linspace(-1.57, 1.57, 201)
        )
        assert 0.8 * top < found <= top


@pytest.mark.parametrize(
    ("A", "b", "message"),
    [
        ([[0, 0], [1, 0], [0, 1]], [0, 0, 0], "A and b must not give an x .* but x = "),
        ([[1], [1]], [0, 0], "but x = -1 is one"),
        ([[0], [0]], [0, 0], "A and b must not both be zero"),
        ([[1], [1]], [0, 0, 1], "A must be a finite matrix with a row for each of the 3 entries of b"),
        ([[math.nan], [1]], [0, 1], "A must be a finite matrix"),
    ],
)
def test_errors_name_the_argument(A, b, message):
    with pytest.raises(ValueError, match=message):
        bounds.affine_root_density(A, b, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"R must be finite and > 0, got 0\.0"):
        bounds.root_density(2, 0.0, 1.0)
