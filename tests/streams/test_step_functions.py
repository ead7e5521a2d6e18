"""Random step functions, and two streams without a guarantee."""

import numpy as np
import pytest

import semibandit as sb
from reference.monte_carlo import mean_limits


def test_losses_lie_in_the_unit_interval_and_dip():
    stream = sb.streams.synthetic(3000, gap=0.4, seed=1)
    mean = sb.PiecewiseConstant.sum([problem.losses() for problem in stream]) * (1 / 3000)
    assert mean(0.37) < mean(0.95) - 0.25
    assert all(problem.losses().min() >= 0 for problem in stream[:200])
    assert all(problem.losses().values.max() <= 1 for problem in stream[:200])


def test_exp3_grid_misses_the_needle_and_exp3_set_finds_it():
    learner = sb.Exp3Grid(sb.Interval(0, 1), horizon=300, seed=1)
    assert sb.play(learner, sb.streams.concentrated(300), feedback="bandit").regret()[-1] == 300
    provable = sb.Exp3Set(sb.Interval(0, 1), horizon=300, baseline=None, seed=1)
    assert sb.play(provable, sb.streams.concentrated(300)).regret()[-1] < 100


def test_halving_leaves_a_parameter_without_loss():
    stream = sb.streams.halving(50, seed=5)
    best, loss = sb.best_in_hindsight(stream)[:2]
    assert loss == 0.0
    assert best[0] < best[1]
    middles = np.array([problem.losses().edges[1] for problem in stream])
    assert (np.abs(np.diff(middles)) <= 0.5 ** np.arange(2, 51)).all()


@pytest.mark.parametrize("feedback", ["full", "semi-bandit", "bandit"])
def test_every_learner_has_linear_regret_on_halving(feedback):
    regrets = []
    for seed in range(30):
        stream = sb.streams.halving(48, seed=seed)
        learner = (sb.Exp3Grid if feedback == "bandit" else sb.Exp3Set)(
            sb.Interval(0, 1), horizon=48, seed=seed
        )
        regrets.append(sb.play(learner, stream, feedback=feedback).regret()[-1] / 48)
    lower, upper = mean_limits(regrets)
    assert lower <= 0.5 <= upper
    assert lower > 0.4
