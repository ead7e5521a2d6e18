"""Exp3Set with piecewise linear losses, which it learns by their means over pieces."""

import math

import numpy as np
import pytest

import semibandit as sb
from reference import linear_hedge as reference
from semibandit import Exp3Set
from semibandit.weights import Rule
from semibandit.weights import _pieces as k

SPACE = sb.Interval(0, 1)
X = np.linspace(0, 0.999, 41)


def random_function(rng, n=4, denominator=64):
    edges = np.unique(np.concatenate(([0, 1], rng.integers(1, denominator, n - 1) / denominator)))
    ends = rng.integers(0, 17, (2, edges.size - 1)) / 16
    return sb.PiecewiseLinear(edges, *ends)


def intervals(function):
    return [(float(a), float(b)) for a, b in function.domain]


@pytest.mark.parametrize(("baseline", "feedback"), [("local", "full"), (None, "full"), (None, "semi-bandit")])
def test_density_is_that_of_exact_arithmetic_up_to_the_steps(baseline, feedback):
    """At most 1/256 wide, a step differs from the line by slope / 512 in each round."""
    rng = np.random.default_rng(1)
    learner, exact = Exp3Set(SPACE, rate=0.25, baseline=baseline, seed=0), reference.Learner(0.25)
    for _ in range(25):
        trial = learner.ask()
        function = random_function(rng)
        seen = function if feedback == "full" else function.piece(trial.rho)
        p = exact.probability(intervals(seen))
        learner.tell(trial, seen)
        assert learner.last_probability == pytest.approx(float(p), rel=1e-3)
        exact.tell(seen, learner.last_probability)
    np.testing.assert_allclose(learner.density()(X), [float(exact.density(x)) for x in X], rtol=0.05)
    assert learner.density().integral() == pytest.approx(1)


@pytest.mark.parametrize("feedback", ["full", "semi-bandit"])
@pytest.mark.parametrize("options", [{"baseline": "low"}, {"rate": 0.3, "baseline": None}])
def test_steps_told_as_lines_teach_the_same(feedback, options):
    steps, lines = (Exp3Set(SPACE, seed=0, **options) for _ in range(2))
    for problem in sb.streams.synthetic(100, pieces=5, seed=2):
        trials = steps.ask(), lines.ask()
        assert trials[1].rho == pytest.approx(trials[0].rho, abs=1e-9)
        seen = problem.losses() if feedback == "full" else problem.reveal(trials[0].rho)
        steps.tell(trials[0], seen)
        lines.tell(trials[1], sb.PiecewiseLinear(seen.edges, seen.values, seen.values))
    assert lines.gap_sum == pytest.approx(steps.gap_sum, rel=1e-9)
    np.testing.assert_allclose(lines.density()(X), steps.density()(X), rtol=1e-9)


@pytest.mark.parametrize("baseline", ["local", "low", None])
def test_late_tells_use_the_probability_at_the_ask(baseline):
    rng = np.random.default_rng(4)
    learner = Exp3Set(SPACE, rate=0.5, baseline=baseline, seed=3)
    pending = []
    for t in range(40):
        if t < 30:
            trial = learner.ask()
            pending.append((trial, random_function(rng).piece(trial.rho), learner.density()))
        if t >= 10:
            trial, seen, density = pending.pop(int(rng.integers(len(pending))))
            learner.tell(trial, seen)
            assert learner.last_probability == pytest.approx(density.between(seen.edges).sum(), rel=1e-6)


@pytest.mark.parametrize("baseline", ["local", None])
def test_margin_extends_the_end_values(baseline):
    space = sb.Interval(0, 1, margin=0.25)
    learner = Exp3Set(space, rate=1.0, baseline=baseline, seed=0)
    learner.tell(learner.ask(), sb.PiecewiseLinear([0, 1], [0.5], [1.0]))
    density = learner.density()
    ratio = density(np.array([-0.25, -0.01, 0.0, 0.5, 1.0, 1.249])) / density(-0.25)
    np.testing.assert_allclose(ratio, np.exp([0, 0, 0, -0.25, -0.5, -0.5]), rtol=5e-3)


@pytest.mark.parametrize("baseline", ["local", "low"])
def test_recommendation_is_near_the_peak(baseline):
    learner = Exp3Set(SPACE, baseline=baseline, seed=0)
    for _ in range(20):
        learner.tell(learner.ask(), sb.PiecewiseLinear([0, 0.3, 1], [0.6, 0.0], [0.0, 0.7]))
    assert learner.recommend().rho == pytest.approx(0.3, abs=0.005)


def test_utilities_teach_the_same_as_losses():
    rng = np.random.default_rng(7)
    losses, utilities = Exp3Set(SPACE, seed=0), Exp3Set(SPACE, seed=0, maximize=True, high=2.0)
    for _ in range(40):
        function = random_function(rng)
        losses.tell(losses.ask(), function)
        utilities.tell(utilities.ask(), function * -2.0 + 2.0)
    np.testing.assert_allclose(utilities.density()(X), losses.density()(X), rtol=1e-9)


def test_a_grid_uses_the_value_at_the_arm():
    learner, other = sb.Exp3Grid(SPACE, n_arms=4, seed=0), sb.Exp3Grid(SPACE, n_arms=4, seed=0)
    trial, twin = learner.ask(), other.ask()
    learner.tell(trial, sb.PiecewiseLinear([0, 1], [0], [1]))
    other.tell(twin, trial.rho)
    assert learner.density() == other.density()


def test_bad_input_changes_nothing():
    learner = Exp3Set(SPACE, high=1.0, seed=0)
    trial = learner.ask()
    line = sb.PiecewiseLinear.line
    missed = line(0, 0.1, 0, 1) if trial.rho > 0.5 else line(0.9, 1, 0, 1)
    hole = sb.PiecewiseLinear([0, trial.rho / 2, trial.rho * 1.1, 1], [0, math.nan, 0], [0, math.nan, 0])
    for seen, message in (
        (line(0, 1, 0.5, 1.5), r"values told must be in \[0, 1\], got 1.5"),
        (line(0, 2, 0, 1), r"must lie inside \[0, 1\]"),
        (missed, "must cover rho"),
        (hole, "must cover rho"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.tell(trial, seen)
    assert (learner.n_told, learner.pending) == (0, (trial,))
    # The right end of an observed stretch is closed.
    learner.tell(trial, sb.PiecewiseLinear([0, trial.rho, 1], [0, math.nan], [0.5, math.nan]))
    assert learner.recommend().evidence.mean == 0.5


@pytest.mark.parametrize("rate", [1e-300, 1e6, 1e300])
def test_extreme_rates(rate):
    learner = Exp3Set(SPACE, rate=rate, baseline=None, seed=0)
    for _ in range(5):
        trial = learner.ask()
        learner.tell(trial, sb.PiecewiseLinear([0, 0.5, 1], [0.9, 0.1], [0.2, 0.7]))
        assert trial.rho in SPACE
        assert learner.density().integral() == pytest.approx(1)


def test_pieces_are_halved_where_the_mass_is():
    """No edge of feedback falls into the first half: only halving makes pieces fine."""
    halves = sb.PiecewiseLinear([0, 0.5], [0.0], [0.5]), sb.PiecewiseLinear([0.5, 1], [0.5], [1.0])
    learner = Exp3Set(SPACE, seed=0)
    paid = 0.0
    for _ in range(3000):
        trial = learner.ask()
        paid += trial.rho
        learner.tell(trial, halves[trial.rho >= 0.5])
    assert paid < 12.0  # with pieces of a 64th it would be 23 at least
    assert learner.recommend().rho < 1e-3


def test_the_mean_certificate_of_lines_is_above_the_mean_regret():
    halves = sb.PiecewiseLinear([0, 0.5], [0.0], [0.5]), sb.PiecewiseLinear([0.5, 1], [0.5], [1.0])
    differences = []
    for seed in range(30):
        learner, paid = Exp3Set(SPACE, seed=seed), 0.0
        for _ in range(300):
            trial = learner.ask()
            paid += trial.rho
            learner.tell(trial, halves[trial.rho >= 0.5])
        differences.append(learner.certificate().value - paid)
    assert np.mean(differences) > 2.0 * np.std(differences) / math.sqrt(len(differences))


def test_estimates_of_lines_are_unbiased_up_to_the_raised_amount():
    """In expectation over the sets, sums minus raised amounts move by at most the loss everywhere."""
    rng = np.random.default_rng(3)
    learner = Exp3Set(SPACE, seed=0)
    for _ in range(30):
        trial = learner.ask()
        learner.tell(trial, random_function(rng).piece(trial.rho))
    weights, rule = learner._epoch.weights, Rule(0.0, 0.0, -math.inf, 0.0, 10.0)
    function = random_function(rng)
    grid = np.linspace(0, 0.9999, 501)

    def sums(weights):
        edges, total, raised = weights._pieces[[k.EDGE, k.SAFE, k.RAISED]]
        at = np.searchsorted(edges, grid, side="right") - 1
        return (total - raised)[at], total[at]

    moved = np.zeros((2, grid.size))
    for lo, hi in zip(function.edges[:-1], function.edges[1:], strict=True):
        rho = 0.5 * (lo + hi)
        seen = learner._read(learner._trial(0, (rho,)), 0, function.piece(rho))
        p = float(np.exp(weights.log_shares(np.array([lo, hi])))[0])
        update = weights.detached().learn(seen, rule)
        moved += p * (np.array(sums(update.weights)) - np.array(sums(weights)))
    losses = np.array([function(x) for x in grid])
    beyond = moved[0] - losses
    level = beyond.max()  # estimates are up to a constant
    exact = moved[0] - losses - level
    assert exact.max() <= 1e-9
    width = np.diff(weights._pieces[0]).max()
    steepest = max(
        abs(r - l) / (b - a)
        for l, r, a, b in zip(
            function.left, function.right, function.edges[:-1], function.edges[1:], strict=True
        )
    )
    assert exact.min() >= -2.0 * steepest * width
