"""Smoothed streams of the families: measured dispersion lies below the lemmas, and β near 1/2 or better."""

from functools import partial

import numpy as np
import pytest

import semibandit as sb
from semibandit.dispersion import bounds, measure


@pytest.mark.parametrize("kind", ["uncorrelated", "weakly-correlated", "mixed", "drifting", "subset-sum"])
@pytest.mark.parametrize("kappa", [2.0, 20.0])
def test_knapsack_below_lemma_8(kind, kappa):
    T, n = 400, 10
    stream = sb.streams.knapsack(kind, T, n, seed=1, kappa=kappa)
    C = max(problem.sizes.max() / problem.sizes.min() for problem in stream)
    bound = partial(bounds.knapsack_dispersion, n=n, C=C, kappa=kappa)
    result = measure(stream)
    # One stream is one draw of D, whose expectation the lemma bounds; it has never come near it.
    assert all(result.D(eps) <= bound(T, eps) for eps in np.geomspace(1e-8, 10.0, 40))
    assert bound(T, 1e-8) < T / 2
    assert result.beta > 0.45
    assert result.dispersed


def test_the_partition_by_order_has_more_feedback_sets_and_the_same_discontinuities():
    output, order = (
        measure(sb.streams.knapsack("uncorrelated", 60, 12, partition=p)) for p in ("output", "order")
    )
    assert np.array_equal(output.breaks.start, order.breaks.start)
    assert 3 * output.pieces < order.pieces
    assert output.regret().value < order.regret().value


def test_unsmoothed_subset_sum_is_not_dispersed():
    result = measure(sb.streams.knapsack("subset-sum", 100, 20, kappa=None))
    assert result.beta < 0.1
    assert "around rho = 1 " in result.verdict()


@pytest.mark.parametrize("kind", ["elongated", "gaussian", "iris"])
def test_linkage_below_lemma_11(kind):
    T, smooth = 500, 1.0
    stream = sb.streams.clustering(kind, T, n_classes=2, per_class=4, smooth=smooth, seed=1)
    # Noise is at most `smooth` times a mean that the noise has then raised to at most 1 + smooth times.
    product = max(p.distances.max() / p.distances.mean() for p in stream) * (1 + smooth) / smooth
    n = max(len(p.distances) for p in stream)
    bound = partial(bounds.linkage_dispersion, n=n, B=1.0, kappa=product)
    result = measure(stream)
    assert all(result.D(eps) <= bound(T, eps) for eps in np.geomspace(1e-14, 1.0, 40))
    assert bound(T, 1e-14) < T / 2
    assert result.beta > 0.45
    assert result.dispersed
