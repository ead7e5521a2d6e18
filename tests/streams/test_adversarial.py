"""Streams without a guarantee: their properties, and the losses of learners on them."""

import numpy as np
import pytest

import semibandit as sb
from reference.monte_carlo import mean_limits


def test_needle_contains_all_discontinuities_and_a_point_without_loss():
    stream = sb.streams.concentrated(50, width=1e-3, seed=3)
    total = sb.PiecewiseConstant.sum(problem.losses() for problem in stream)
    assert total.min() == 0.0
    assert total(0.37) == 0.0
    assert total(0.36) == total(0.38) == 50.0
    edges = np.concatenate([problem.losses().edges[1:-1] for problem in stream])
    assert np.abs(edges - 0.37).max() <= 5e-4
    assert np.unique(edges).size == 100
    problem = sb.streams.concentrated(5, space=sb.Interval(-3, 7), center=2.0, width=0.1)[0]
    assert problem.space == sb.Interval(-3, 7)
    assert (problem.loss(2.0), problem.loss(2.2)) == (0.0, 1.0)


def test_exp3_grid_misses_the_needle_and_exp3_set_finds_it():
    learner = sb.Exp3Grid(sb.Interval(0, 1), horizon=300, seed=1)
    assert sb.play(learner, sb.streams.concentrated(300), feedback="bandit").regret()[-1] == 300
    provable = sb.Exp3Set(sb.Interval(0, 1), horizon=300, baseline=None, seed=1)
    assert sb.play(provable, sb.streams.concentrated(300)).regret()[-1] < 100


@pytest.mark.parametrize("space", [sb.Interval(0, 1), sb.Interval(-3, 7), sb.Interval(100, 101)])
def test_halving_leaves_a_parameter_without_loss(space):
    stream = sb.streams.halving(40, space=space, seed=5)
    best, loss = sb.best_in_hindsight(stream)[:2]
    assert loss == 0.0
    assert best[0] < best[1]
    middles = np.array([problem.losses().edges[1] for problem in stream])
    assert (np.abs(np.diff(middles)) <= space.width / 2.0 ** np.arange(2, 41)).all()


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


def test_regret_on_halving_is_at_least_the_root_of_the_rounds():
    values = []
    for seed in range(40):
        stream = sb.streams.halving(400, seed=seed)
        loss = sb.PiecewiseConstant.sum(problem.losses() for problem in stream).min()
        values.append(200 - loss)  # against a learner that loses 1/2 a round
    assert np.sqrt(400) < mean_limits(values)[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sb.streams.concentrated(10, width=0.0), "width must be finite and > 0"),
        (lambda: sb.streams.concentrated(10, center=2.0), r"center must be in \[0, 1\], got 2\.0"),
        (lambda: sb.streams.concentrated(10, width=1e-30), "must be distinct points inside"),
        (lambda: sb.streams.halving(0), "rounds must be at least 1, got 0"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
