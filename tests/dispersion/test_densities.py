"""Each density bound against simulation: never beaten, and attained where the docstring says so."""

import math

import numpy as np
import pytest

from reference.monte_carlo import peak_density_limits
from semibandit.dispersion import densities

N = 400_000


def uniform(rng, n):
    return rng.random(n)  # density 1


def triangular(rng, n):
    return rng.triangular(0.0, 1.0, 1.0, n)  # density <= 2


def arc(rng, n):
    return 1.0 - rng.random(n) ** (1 / 3)  # density 3(1 - x)², <= 3, on [0, 1]


def spike(rng, n):
    return np.where(rng.random(n) < 0.8, 0.9 + 0.1 * rng.random(n), rng.random(n))  # density <= 8.2


# name: (sampler on [0, 1], bound of its density)
DISTRIBUTIONS = {
    "uniform": (uniform, 1.0),
    "triangular": (triangular, 2.0),
    "arc": (arc, 3.0),
    "spike": (spike, 8.2),
}


def check(samples, bound, width):
    lower, upper = peak_density_limits(samples, width)
    assert lower <= bound
    return lower, upper


@pytest.fixture(params=DISTRIBUTIONS)
def smooth(request):
    sampler, kappa = DISTRIBUTIONS[request.param]
    rng = np.random.default_rng(1)
    return lambda: sampler(rng, N), kappa


def test_the_distributions_have_the_densities_they_claim(smooth):
    draw, kappa = smooth
    lower, upper = peak_density_limits(draw(), 0.005)
    assert lower <= kappa <= 1.05 * upper


def test_sum(smooth):
    draw, kappa = smooth
    check(draw() + draw(), densities.sum(kappa, kappa), 0.01)
    check(draw() - draw(), densities.sum(kappa), 0.01)


def test_sum_takes_the_smaller_bound():
    rng = np.random.default_rng(2)
    lower, _ = check(uniform(rng, N) + 0.01 * uniform(rng, N), densities.sum(1.0, 100.0), 0.02)
    assert lower > 0.9  # attained: the narrow variable hardly blurs the wide one


def test_ratio(smooth):
    draw, kappa = smooth
    check(draw() / draw(), densities.ratio(kappa**2, 1.0), 0.01)
    check((2 * draw() - 1) / (4 * draw() - 2), densities.ratio(kappa / 2 * kappa / 4, 2.0), 0.01)


def test_ratio_of_uniform_signs_is_attained():
    rng = np.random.default_rng(3)
    x, y = 2 * uniform(rng, N) - 1, 2 * uniform(rng, N) - 1
    lower, _ = check(x / y, densities.ratio(0.25, 1.0), 0.05)
    assert lower > 0.9 * densities.ratio(0.25, 1.0)


def test_share(smooth):
    draw, kappa = smooth
    check((x := draw()) / (x + draw()), densities.share(kappa, kappa, 2.0), 0.01)
    x, y = draw() - draw(), draw() - draw()  # the linkage case: differences of distances
    check(x / (x + y), densities.share(kappa, kappa, 2.0), 0.02)


def test_share_and_shifted_ratio_of_uniform_signs_are_attained():
    rng = np.random.default_rng(5)
    x, y = 2 * uniform(rng, N) - 1, 2 * uniform(rng, N) - 1
    lower, _ = check(x / (x + y), densities.share(0.5, 0.5, 2.0), 0.02)
    assert lower > 0.9 * densities.share(0.5, 0.5, 2.0)  # at 1/2
    shift = 0.001 * uniform(rng, N)
    lower, _ = check((x + shift) / (y + shift), densities.shifted_ratio(0.5, 0.5, 1.001), 0.05)
    assert lower > 0.9 * densities.shifted_ratio(0.5, 0.5, 1.001)


def test_shifted_ratio(smooth):
    draw, kappa = smooth
    x, y, z = draw(), draw(), draw()
    check((x + y) / (z + y), densities.shifted_ratio(kappa, kappa, 2.0), 0.01)
    check((x - y) / (z - y), densities.shifted_ratio(kappa, kappa, 1.0), 0.01)


def test_log_ratio(smooth):
    draw, kappa = smooth
    check(np.log(draw() / draw()), densities.log_ratio(kappa**2), 0.01)
    check(np.log((3 * draw()) / (3 * draw())), densities.log_ratio((kappa / 3) ** 2, B=3.0), 0.01)


def test_log_ratio_of_uniforms_is_attained():
    rng = np.random.default_rng(4)
    lower, _ = check(np.log(uniform(rng, N) / uniform(rng, N)), densities.log_ratio(1.0), 0.02)
    assert lower > 0.93 * densities.log_ratio(1.0)


@pytest.mark.parametrize("c", [0.5, 3.0, -2.0])
def test_rescale(smooth, c):
    draw, kappa = smooth
    _, upper = check(draw() / c, densities.rescale(kappa, c), 0.005 / abs(c))
    assert upper > 0.95 * densities.rescale(kappa, c)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: densities.sum(0.0, 1.0), "kappa_x must be in .0, 1e.100., got 0.0"),
        (lambda: densities.ratio(1.0, -1.0), "M must be in .0, 1e.100., got -1.0"),
        (lambda: densities.rescale(1.0, 0.0), "c must not be zero"),
        (lambda: densities.log_ratio(math.nan), "kappa must be in .0, 1e.100., got nan"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
