import numpy as np
import pytest

import semibandit as sb


def test_an_interior_parameter_is_clearly_better_on_elongated_clusters():
    stream = sb.streams.clustering("elongated", 40, seed=0)
    mean = sb.PiecewiseConstant.sum([problem.losses() for problem in stream]) * (1 / 40)
    lo, hi = mean.argmin()
    assert 0.1 < lo < hi < 0.6
    assert mean.min() < 0.5 * mean(0.0)
    assert mean.min() < 0.5 * mean(1.0)


@pytest.mark.parametrize("kind", ["digits", "iris", "wine", "breast-cancer"])
def test_instances_have_the_size_asked_for(kind):
    pytest.importorskip("sklearn")
    stream = sb.streams.clustering(kind, 3, n_classes=2, per_class=7, seed=1)
    for problem in stream:
        assert problem.distances.shape == (14, 14)
        losses = problem.losses()
        assert (losses.values >= 0).all()
        assert (losses.values <= 0.5).all()


def test_noise_is_added_to_each_distance():
    plain = sb.streams.clustering("iris", 1, per_class=10, seed=2)[0].distances
    noisy = sb.streams.clustering("iris", 1, per_class=10, smooth=0.1, seed=2)[0].distances
    upper = np.triu_indices(30, 1)
    added = (noisy - plain)[upper] / plain[upper].mean()
    assert (added >= 0).all()
    assert 0.09 < added.max() <= 0.1 + 1e-12
    assert added.std() > 0.02
