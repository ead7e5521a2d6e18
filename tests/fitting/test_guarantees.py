"""Generalisation bounds, against their formulas and by simulation."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.fitting.guarantees import uniform_radius


def test_the_uniform_bound_with_its_constants():
    n, breaks = 1000, 12_345
    x = np.log(3 / 0.1)
    chance = np.sqrt(x / (2 * n))

    def learned(vectors):
        z = np.sqrt(2 * n * np.log(vectors))
        return (z + x + np.sqrt(x**2 + 2 * x * z)) / n

    steps, lines = learned(breaks + 1), learned(2)
    assert uniform_radius(n, breaks, level=0.9) == pytest.approx(steps + chance)
    assert uniform_radius(n, breaks, level=0.9, gap=True, width=3) == pytest.approx(3 * (steps + 2 * chance))
    assert uniform_radius(n, 0, level=0.9, degree=1) == pytest.approx(lines + chance)
    assert uniform_radius(10**6, 10**7) < 0.008


@pytest.mark.slow
def test_rademacher_averages_are_bounded_and_self_bounding():
    """What the uniform bound rests on, by simulation: Massart's lemma, and Z - E Z against its own mean."""
    random = np.random.default_rng(0)
    n, averages, bounds = 60, [], []
    for seed in range(60):
        draws = np.random.default_rng([seed, 5]).random((3, n)).T
        log = [sb.PiecewiseConstant([0, x, 1], [float(a < 0.3), float(b < 0.5)]) for x, a, b in draws]
        edges = sorted({edge for f in log for edge in f.edges.tolist()})[:-1]
        vectors = np.array([2 * f(edges) - 1 for f in log]).T
        signs = random.choice([-1.0, 1.0], (300, n))
        averages.append((signs @ vectors.T).max(axis=1).mean())
        bounds.append(np.sqrt(2 * n * np.log(len(edges))))
    assert (np.array(averages) <= bounds).all()
    assert np.var(averages) <= np.mean(averages)
