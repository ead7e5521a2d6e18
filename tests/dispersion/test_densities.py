"""Each bound on a density against simulation: it holds, and some distribution nearly attains it."""

import numpy as np
import pytest

from reference.monte_carlo import SMOOTH, peak_density_limits
from semibandit.dispersion import densities

N = 400_000


def check(samples, bound, width):
    lower, upper = peak_density_limits(samples, width)
    assert lower <= bound
    return lower, upper


@pytest.fixture(params=SMOOTH)
def smooth(request):
    sampler, kappa = SMOOTH[request.param]
    rng = np.random.default_rng(1)
    return lambda: sampler(rng, N), kappa


def test_density_bounds_hold(smooth):
    draw, kappa = smooth
    lower, upper = peak_density_limits(draw(), 0.005)
    assert lower <= kappa <= 1.05 * upper  # as the table of distributions says
    check(draw() + draw(), densities.sum(kappa, kappa), 0.01)
    check(draw() - draw(), densities.sum(kappa), 0.01)
    check(draw() / draw(), densities.ratio(kappa**2, 1.0), 0.01)
    check((2 * draw() - 1) / (4 * draw() - 2), densities.ratio(kappa / 2 * kappa / 4, 2.0), 0.01)
    check((x := draw()) / (x + draw()), densities.share(kappa, kappa, 2.0), 0.01)
    x, y = draw() - draw(), draw() - draw()  # as for linkage: differences of distances
    check(x / (x + y), densities.share(kappa, kappa, 2.0), 0.02)
    x, y, z = draw(), draw(), draw()
    check((x + y) / (z + y), densities.shifted_ratio(kappa, kappa, 2.0), 0.01)
    check((x - y) / (z - y), densities.shifted_ratio(kappa, kappa, 1.0), 0.01)
    check(np.log(draw() / draw()), densities.log_ratio(kappa**2), 0.01)
    check(np.log(draw() / draw()), densities.independent_log_ratio(kappa), 0.01)
    check(np.log((3 * draw()) / (3 * draw())), densities.log_ratio((kappa / 3) ** 2, B=3.0), 0.01)
    for c in (0.5, 3.0, -2.0):
        _, upper = check(draw() / c, densities.rescale(kappa, c), 0.005 / abs(c))
        assert upper > 0.95 * densities.rescale(kappa, c)


def interval(kappa, end, rng):
    """Uniform variables of density kappa below `end`."""
    return end - rng.random(N) / kappa


# name: (sample of the variable, its bound, width of the cells)
ATTAINED = {
    "sum": (lambda rng: rng.random(N) + 0.01 * rng.random(N), densities.sum(1.0, 100.0), 0.02),
    "ratio": (lambda rng: interval(0.5, 1, rng) / interval(0.5, 1, rng), densities.ratio(0.25, 1.0), 0.05),
    "share": (
        lambda rng: (x := interval(0.5, 1, rng)) / (x + interval(0.5, 1, rng)),
        densities.share(0.5, 0.5, 2.0),
        0.02,
    ),
    "share of narrow variables": (
        lambda rng: (x := interval(50.0, 1, rng)) / (x + interval(50.0, 1, rng)),
        densities.share(50.0, 50.0, 2.0),
        0.0005,
    ),
    "shifted ratio": (
        lambda rng: (interval(0.5, 1, rng) + (y := 0.001 * rng.random(N))) / (interval(0.5, 1, rng) + y),
        densities.shifted_ratio(0.5, 0.5, 1.001),
        0.05,
    ),
    "shifted ratio of narrow variables": (
        lambda rng: interval(50.0, 0.01, rng) / interval(50.0, 1, rng),
        densities.shifted_ratio(50.0, 50.0, 1.0),
        0.001,
    ),
    "log ratio": (lambda rng: np.log(rng.random(N) / rng.random(N)), densities.log_ratio(1.0), 0.02),
    "independent log ratio": (
        lambda rng: np.log(interval(20.0, 1, rng) / interval(20.0, 1, rng)),
        densities.independent_log_ratio(20.0),
        0.001,
    ),
}


@pytest.mark.parametrize("name", ATTAINED)
def test_density_bounds_are_nearly_attained(name):
    draw, bound, width = ATTAINED[name]
    lower, _ = check(draw(np.random.default_rng(3)), bound, width)
    assert lower > 0.9 * bound
