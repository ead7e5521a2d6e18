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
