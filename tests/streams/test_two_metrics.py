import numpy as np
import pytest

import semibandit as sb


def test_metrics_have_the_same_scale_and_smooth_noise():
    plain = sb.streams.digits_two_metrics(2, kappa=None, n_rows=3)[0]
    smooth = sb.streams.digits_two_metrics(2, kappa=20.0, n_rows=3)[0]
    off_diagonal = ~np.eye(26, dtype=bool)
    for alpha in (0.0, 1.0):
        assert plain.distances(alpha)[off_diagonal].mean() == pytest.approx(1)
        noise = (smooth.distances(alpha) - plain.distances(alpha))[off_diagonal]
        assert 0 <= noise.min() < 0.01
        assert 0.04 < noise.max() < 0.05


def test_a_mix_of_metrics_and_linkages_is_better_than_either():
    problems = list(sb.streams.digits_two_metrics(60, n_rows=3, seed=5))

    def mean(rho, alpha):
        return np.mean([problem.loss(rho, alpha) for problem in problems])

    ends = [mean(0.5, 0.0), mean(0.5, 1.0), mean(0.0, 0.25), mean(1.0, 0.25)]
    assert mean(0.5, 0.25) < 0.9 * min(ends)
