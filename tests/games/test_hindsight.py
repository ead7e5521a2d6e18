import math

import numpy as np
import pytest

import semibandit as sb
from reference.feedback import random_loss
from semibandit.games.hindsight import Hindsight


def random_functions(seed):
    rng = np.random.default_rng(seed)
    return [random_loss(rng) for _ in range(40)]


def test_lines_may_be_best_at_a_point():
    functions = [sb.PiecewiseLinear([0, x, 1], [1 - x, x], [0, 1]) for x in (0.3, 0.4, 0.9)]
    best = sb.best_in_hindsight(functions)
    assert best.interval == (best.rho, best.rho)
    grid = np.linspace(0, 1, 20_001)
    total = sum(f(grid) for f in functions) / 3
    assert best.mean_loss <= total.min() + 1e-12
    assert best.mean_loss == pytest.approx(total.min(), abs=1e-3)
    # With step functions among them.
    mixed = [*functions, sb.PiecewiseConstant([0, 0.35, 1], [0.9, 0.1])]
    best = sb.best_in_hindsight(mixed)
    assert best.mean_loss <= (sum(f(grid) for f in mixed) / 4).min() + 1e-12
    assert sum(f(best.rho) for f in mixed) / 4 == pytest.approx(best.mean_loss)


def test_the_answer_unpacks_into_two_and_knows_the_parameters():
    best = sb.best_in_hindsight(random_functions(0))
    interval, mean_loss = best
    assert (interval, mean_loss) == (best.interval, best.mean_loss) == best[:2]
    assert best.alpha is None
    assert best.parameters == (best.rho,)
    space = sb.Strips(2, sb.Interval(0, 1))
    rows = [sb.PiecewiseConstant([0, x, 1], [0.8, 0.2]) for x in (0.3, 0.4)]

    class Problem:
        def __init__(self):
            self.space = space

        def losses(self):
            return space.lay_rows(dict(enumerate(rows)))

    (lo, hi), mean_loss = best = sb.best_in_hindsight([Problem()])
    assert (lo, hi, mean_loss, best.alpha) == (0.3, 1.0, 0.2, 0.0)
    assert best.parameters == (0.65, 0.0)


def test_the_middle_of_two_neighbouring_doubles_is_in_the_interval():
    for lo in (1.0, math.nextafter(1.0, 2), 5e-324, 1e308, 1.7e308):
        hi = math.nextafter(lo, math.inf)
        assert lo <= Hindsight((lo, hi), 0.0).rho < hi


def test_losses_must_return_a_function():
    for use in (sb.best_in_hindsight, sb.dispersion.measure):
        with pytest.raises(TypeError, match="`losses` must return the loss as a PiecewiseConstant"):
            use([Lazy()])
    with pytest.raises(TypeError, match="maximize must be True or False, got 'no'"):
        sb.best_in_hindsight(random_functions(0), maximize="no")


class Lazy:
    space = sb.Interval(0, 1)

    def losses(self):
        return None

    def reveal(self, rho):
        return 0.5

    def loss(self, rho):
        return None


@pytest.mark.parametrize(
    ("feedback", "method"), [("full", "losses"), ("semi-bandit", "reveal"), ("bandit", "loss")]
)
def test_what_a_problem_must_return(feedback, method):
    learner = sb.Exp3Grid(Lazy.space, 3) if feedback == "bandit" else sb.Exp3Set(Lazy.space, horizon=3)
    with pytest.raises(TypeError, match=f"`{method}`"):
        sb.play(learner, [Lazy()], feedback)
    assert learner.pending == ()


def test_no_trial_is_left_when_the_learner_refuses():
    learner = sb.Exp3Set(sb.Interval(0, 1), horizon=3, high=1.0)
    with pytest.raises(ValueError, match="must be in"):
        sb.play(learner, [sb.Explicit(sb.PiecewiseConstant([0, 1], [7.0]))])
    assert learner.pending == ()
