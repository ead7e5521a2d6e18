"""Random knapsacks: their ranges, classes, noise and best parameters."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.streams.knapsack_instances import KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kappa", [None, 50.0])
def test_instances_are_in_range(kind, kappa):
    for problem in sb.streams.knapsack(kind, rounds=6, n=17, seed=3, kappa=kappa):
        assert problem.values.size == 17
        assert problem.sizes.min() >= 1.0
        assert problem.sizes.max() <= problem.capacity
        assert problem.values.min() >= 0.0
        if kappa is not None:
            assert problem.values.max() <= 1.0
        assert 0.0 <= problem.losses().min() <= problem.losses().values.max() <= 1.0


def test_values_and_sizes_of_the_classical_classes():
    def items(kind):
        problem = sb.streams.knapsack(kind, rounds=1, n=200, kappa=None)[0]
        return problem.values, problem.sizes

    values, sizes = items("weakly-correlated")
    assert (np.abs(values - sizes) <= 100).all()
    assert np.unique(values - sizes).size > 50
    values, sizes = items("strongly-correlated")
    assert (values == sizes + 100).all()
    values, sizes = items("inverse-strongly-correlated")
    assert (sizes == values + 100).all()
    values, sizes = items("almost-strongly-correlated")
    assert set(values - sizes - 100) == {-2, -1, 0, 1, 2}
    values, sizes = items("subset-sum")
    assert (values == sizes).all()
    values, sizes = items("similar-weights")
    assert sizes.min() >= 100_000
    assert sizes.max() <= 100_100
    values, sizes = items("spanner")
    assert np.unique(values / sizes).size <= 2
    values, sizes = items("multiple-strongly-correlated")
    assert (values - sizes == np.where(sizes % 6 == 0, 300, 200)).all()
    values, sizes = items("profit-ceiling")
    assert ((values >= sizes) & (values < sizes + 3) & (values % 3 == 0)).all()
    values, sizes = items("circle")
    assert values**2 * 9 / 4 + (sizes - 2000) ** 2 == pytest.approx(np.full(200, 4e6))


def test_mixed_has_a_best_parameter_inside():
    stream = sb.streams.knapsack("mixed", 300)
    best = sb.best_in_hindsight(stream)
    assert 2.0 < best.rho < 2.7
    for bad in (0.0, 1.0, 4.0, 10.0):
        assert np.mean([problem.loss(bad) for problem in stream]) > best.mean_loss + 0.05


def test_noise_has_density_kappa():
    """Without noise and with it, values differ by a uniform number in [0, 1/kappa] (after scaling)."""
    kappa = 20.0
    noise = []
    for plain, smooth in zip(
        sb.streams.knapsack("uncorrelated", 40, n=50, kappa=None),
        sb.streams.knapsack("uncorrelated", 40, n=50, kappa=kappa),
        strict=True,
    ):
        assert np.array_equal(plain.sizes, smooth.sizes)
        noise.append(smooth.values - plain.values / plain.values.max() * (1 - 1 / kappa))
    noise = kappa * np.concatenate(noise)
    assert noise.min() >= -1e-12
    assert noise.max() <= 1 + 1e-12
    counts = np.histogram(noise, 10, (0, 1))[0]
    assert counts.min() > 140
    assert counts.max() < 260
