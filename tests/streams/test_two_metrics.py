import numpy as np
import pytest

import semibandit as sb


def test_instances_depend_on_the_seed_and_the_round_alone():
    one, two = (sb.streams.digits_two_metrics(5, (2, 3, 4), seed=3, n_rows=4) for _ in range(2))
    for t in (4, 0):
        np.testing.assert_array_equal(one[t].distances(0.3), two[t].distances(0.3))
    assert not np.array_equal(one[0].distances(0.0), one[1].distances(0.0))
    other = sb.streams.digits_two_metrics(5, (2, 3, 4), seed=4, n_rows=4)
    assert not np.array_equal(one[0].distances(0.0), other[0].distances(0.0))


def test_metrics_have_the_same_scale_and_smooth_noise():
    plain = sb.streams.digits_two_metrics(2, kappa=None, n_rows=3)[0]
    smooth = sb.streams.digits_two_metrics(2, kappa=20.0, n_rows=3)[0]
    off_diagonal = ~np.eye(26, dtype=bool)
    for alpha in (0.0, 1.0):
        assert plain.distances(alpha)[off_diagonal].mean() == pytest.approx(1)
        # The noise of the first metric moves the generator on, not the points.
        noise = (smooth.distances(alpha) - plain.distances(alpha))[off_diagonal]
        assert 0 <= noise.min() < 0.01
        assert 0.04 < noise.max() < 0.05


def test_rows_follow_from_the_rounds():
    assert len(sb.streams.digits_two_metrics(1000)[0].space) == 17
    assert len(sb.streams.digits_two_metrics(1000, n_rows=5)[0].space) == 5


def test_mixing_helps():
    problems = list(sb.streams.digits_two_metrics(60, n_rows=3, seed=5))

    def mean(rho, alpha):
        return np.mean([problem.loss(rho, alpha) for problem in problems])

    ends = [mean(0.5, 0.0), mean(0.5, 1.0), mean(0.0, 0.25), mean(1.0, 0.25)]
    assert mean(0.5, 0.25) < 0.9 * min(ends)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="sizes must have 1 to 10 entries"):
        sb.streams.digits_two_metrics(5, ())
    with pytest.raises(ValueError, match="sizes must be at most"):
        sb.streams.digits_two_metrics(5, (1000,))
    with pytest.raises(ValueError, match="kappa"):
        sb.streams.digits_two_metrics(5, kappa=0.5)
