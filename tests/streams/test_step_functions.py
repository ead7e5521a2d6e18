import numpy as np
import pytest

import semibandit as sb


def test_losses_lie_in_the_unit_interval_and_dip():
    stream = sb.streams.synthetic(3000, gap=0.4, seed=1)
    mean = sb.PiecewiseConstant.sum([problem.losses() for problem in stream]) * (1 / 3000)
    assert mean(0.37) < mean(0.95) - 0.25
    assert all(problem.losses().min() >= 0 for problem in stream[:200])
    assert all(problem.losses().values.max() <= 1 for problem in stream[:200])


def test_spread_concentrates_the_discontinuities():
    stream = sb.streams.synthetic(100, spread=0.01, seed=1)
    inner = np.concatenate([problem.losses().edges[1:-1] for problem in stream])
    assert np.ptp(inner) <= 0.01


def test_drift_moves_the_best_parameter():
    stream = sb.streams.synthetic(4000, drift=True, seed=1)
    early = sb.best_in_hindsight(stream[:1000]).rho
    late = sb.best_in_hindsight(stream[3000:]).rho
    assert late - early > 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"rounds": 1.5}, "rounds must be an integer"),
        ({"pieces": 0}, "pieces must be at least 1"),
        ({"gap": np.nan}, "gap must be in"),
        ({"gap": -1}, "gap must be in"),
        ({"spread": 0}, "spread must be above 0"),
        ({"spread": np.inf}, "spread must be"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_errors_name_the_argument(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sb.streams.synthetic(**options)
