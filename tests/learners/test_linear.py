"""Exp3Set with piecewise linear losses: against exact arithmetic, and against itself on step functions."""

import functools
import math

import numpy as np
import pytest
from msgspec.structs import replace

import semibandit as sb
from reference import linear_hedge as reference
from semibandit.weights.exponential import ExponentialPieces

# A scalar baseline: with a local one, what is seen in part is learned by means over pieces.
Exp3Set = functools.partial(sb.Exp3Set, baseline="low")

SPACE = sb.Interval(0, 1)
X = np.linspace(0, 0.999, 41)


def random_function(rng, n=4, denominator=64):
    edges = np.unique(np.concatenate(([0, 1], rng.integers(1, denominator, n - 1) / denominator)))
    ends = rng.integers(0, 17, (2, edges.size - 1)) / 16
    return sb.PiecewiseLinear(edges, *ends)


def around(function, rho):
    return function.piece(rho)


def intervals(function):
    return [(float(a), float(b)) for a, b in function.domain]


@pytest.mark.parametrize("feedback", ["full", "semi-bandit"])
def test_density_is_that_of_exact_arithmetic(feedback):
    rng = np.random.default_rng(1)
    learner = Exp3Set(SPACE, rate=0.25, baseline=None, seed=0)
    exact = reference.Learner(0.25)
    for _ in range(25):
        trial = learner.ask()
        function = random_function(rng)
        seen = function if feedback == "full" else around(function, trial.rho)
        p = exact.probability(intervals(seen))
        learner.tell(trial, seen)
        assert learner.last_probability == pytest.approx(float(p), rel=1e-12)
        exact.tell(seen, float(p))
    np.testing.assert_allclose(learner.density()(X), [float(exact.density(x)) for x in X], rtol=1e-11)
    assert learner.density().integral() == pytest.approx(1)


def test_clipped_estimates_get_a_kink():
    rng = np.random.default_rng(3)
    learner = Exp3Set(SPACE, rate=8.0, seed=0)
    exact = reference.Learner(8.0)
    kinks = 0
    for _ in range(14):
        trial = learner.ask()
        seen = around(random_function(rng, denominator=4096), trial.rho)
        p = float(exact.probability(intervals(seen)))
        shift = learner._low_baseline()
        edges = np.union1d(learner.density().edges, seen.edges)
        learner.tell(trial, seen)
        kinks += learner.n_pieces > edges.size - 1
        exact.tell(seen, p, shift, floor=-0.125)
    assert kinks > 0
    np.testing.assert_allclose(learner.density()(X), [float(exact.density(x)) for x in X], rtol=1e-11)


@pytest.mark.parametrize("feedback", ["full", "semi-bandit"])
@pytest.mark.parametrize("options", [{}, {"rate": 0.3, "baseline": None}, {"exploration": 0.01}])
def test_steps_told_as_lines_teach_the_same(feedback, options):
    stream = sb.streams.synthetic(150, pieces=5, seed=2)
    steps, lines = (Exp3Set(SPACE, seed=0, **options) for _ in range(2))
    for problem in stream:
        trials = steps.ask(), lines.ask()
        assert trials[1].rho == pytest.approx(trials[0].rho, abs=1e-9)
        seen = problem.losses() if feedback == "full" else problem.reveal(trials[0].rho)
        steps.tell(trials[0], seen)
        lines.tell(trials[1], sb.PiecewiseLinear(seen.edges, seen.values, seen.values))
    assert isinstance(lines._epoch.weights, ExponentialPieces)
    assert lines.current_rate == steps.current_rate
    assert lines.gap_sum == pytest.approx(steps.gap_sum, rel=1e-9)
    np.testing.assert_allclose(lines.density()(X), steps.density()(X), rtol=1e-9)
    assert lines.recommend().interval == pytest.approx(steps.recommend().interval)


def test_steps_may_be_told_before_and_after_lines():
    rng = np.random.default_rng(8)
    learner = Exp3Set(SPACE, rate=0.5, baseline=None, seed=0)
    exact = reference.Learner(0.5)
    for t in range(15):
        trial = learner.ask()
        seen = random_function(rng)
        if t % 3 != 1:
            seen = sb.PiecewiseConstant(seen.edges, seen.left)
        learner.tell(trial, seen)
        exact.tell(sb.PiecewiseLinear.of(seen), 1.0)
    np.testing.assert_allclose(learner.density()(X), [float(exact.density(x)) for x in X], rtol=1e-12)


def test_late_tells_use_the_probability_at_the_ask():
    rng = np.random.default_rng(4)
    learner = Exp3Set(SPACE, rate=0.5, baseline=None, seed=3)
    exact = reference.Learner(0.5)
    pending = []
    for t in range(40):
        if t < 30:
            trial = learner.ask()
            seen = around(random_function(rng), trial.rho)
            if t < 6:  # the first ones while the weights are still a tree
                seen = sb.PiecewiseConstant(seen.edges, seen.left)
            pending.append((trial, seen, float(exact.probability(intervals(seen)))))
        if t >= 10:
            trial, seen, p = pending.pop(int(rng.integers(len(pending))))
            learner.tell(trial, seen)
            assert learner.last_probability == pytest.approx(p, rel=1e-9)
            exact.tell(sb.PiecewiseLinear.of(seen), p)
    assert learner.pending == ()
    np.testing.assert_allclose(learner.density()(X), [float(exact.density(x)) for x in X], rtol=1e-8)


def test_saved_learners_continue_alike(tmp_path):
    rng = np.random.default_rng(5)
    learner = Exp3Set(SPACE, seed=1)
    functions = [random_function(rng) for _ in range(60)]
    waiting = []
    for function in functions[:40]:
        trial = learner.ask()
        if trial.id % 5 == 0:
            waiting.append(trial)
        else:
            learner.tell(trial, around(function, trial.rho))
    learner.save(tmp_path / "knob.sb")
    again = sb.load(tmp_path / "knob.sb")
    assert again.pending == learner.pending == tuple(waiting)
    for one in (learner, again):
        for trial in waiting:
            one.tell(trial, around(functions[trial.id], trial.rho))
    for function in functions[40:]:
        trials = learner.ask(), again.ask()
        assert trials[0].rho == trials[1].rho
        for one, trial in zip((learner, again), trials, strict=True):
            one.tell(trial, around(function, trial.rho))
    assert again.density().log == learner.density().log


def test_margin_extends_the_end_values():
    space = sb.Interval(0, 1, margin=0.25)
    learner = Exp3Set(space, rate=1.0, baseline=None, seed=0)
    learner.tell(learner.ask(), sb.PiecewiseLinear([0, 1], [0.5], [1.0]))
    density = learner.density()
    assert density.edges.tolist() == [-0.25, 0.0, 1.0, 1.25]
    ratio = density(np.array([-0.25, -0.01, 0.0, 0.5, 1.0, 1.25])) / density(0.0)
    np.testing.assert_allclose(ratio, np.exp([0, 0, 0, -0.25, -0.5, -0.5]))


def test_limits_on_pieces():
    rng = np.random.default_rng(6)
    free, limited = (Exp3Set(SPACE, seed=0, max_pieces=limit) for limit in (None, 60))
    for _ in range(150):
        function = random_function(rng, denominator=4096)
        for learner in (free, limited):
            learner.tell(learner.ask(), function)
            assert learner is free or learner.n_pieces <= 60
    assert free.n_pieces > 300
    assert limited.join_error > 0
    x = rng.random(300)
    difference = np.abs(free.density().log(x) - limited.density().log(x)).max()
    assert difference <= 2 * limited.join_error + 1e-9


def test_recommendation_is_the_peak():
    learner = Exp3Set(SPACE, seed=0)
    for _ in range(20):
        learner.tell(learner.ask(), sb.PiecewiseLinear([0, 0.3, 1], [0.6, 0.0], [0.0, 0.7]))
    assert learner.recommend() == sb.Recommendation(0.3, (0.3, 0.3))
    flat = Exp3Set(SPACE, seed=0)
    flat.tell(flat.ask(), sb.PiecewiseLinear([0, 0.3, 0.5, 1], [0.6, 0.1, 0.1], [0.1, 0.1, 0.7]))
    assert flat.recommend().interval == (0.3, 0.5)


def test_utilities():
    rng = np.random.default_rng(7)
    losses, utilities = Exp3Set(SPACE, seed=0), Exp3Set(SPACE, seed=0, maximize=True, high=2.0)
    for _ in range(40):
        function = random_function(rng)
        losses.tell(losses.ask(), function)
        utilities.tell(utilities.ask(), function * -2.0 + 2.0)
    np.testing.assert_allclose(utilities.density()(X), losses.density()(X), rtol=1e-9)


def test_grid_reads_the_value():
    learner, other = sb.Exp3Grid(SPACE, n_arms=4, seed=0), sb.Exp3Grid(SPACE, n_arms=4, seed=0)
    trial, twin = learner.ask(), other.ask()
    learner.tell(trial, sb.PiecewiseLinear([0, 1], [0], [1]))
    other.tell(twin, trial.rho)
    assert learner.density() == other.density()


def test_bad_input_changes_nothing():
    learner = Exp3Set(SPACE, seed=0)
    trial = learner.ask()
    line = sb.PiecewiseLinear.line
    with pytest.raises(ValueError, match=r"values told must be in \[0, 1\], got 1.5"):
        learner.tell(trial, line(0, 1, 0.5, 1.5))
    with pytest.raises(ValueError, match=r"must lie inside \[0, 1\]"):
        learner.tell(trial, line(0, 2, 0, 1))
    missed = line(0, 0.1, 0, 1) if trial.rho > 0.5 else line(0.9, 1, 0, 1)
    with pytest.raises(ValueError, match="must cover rho"):
        learner.tell(trial, missed)
    hole = sb.PiecewiseLinear([0, trial.rho / 2, trial.rho * 1.1, 1], [0, math.nan, 0], [0, math.nan, 0])
    with pytest.raises(ValueError, match="must cover rho"):
        learner.tell(trial, hole)
    assert learner.n_told == 0
    assert isinstance(learner.density(), sb.PiecewiseConstant)
    assert learner.pending == (trial,)
    # The right end of a stretch is closed.
    learner.tell(trial, sb.PiecewiseLinear([0, trial.rho, 1], [0, math.nan], [0.5, math.nan]))
    assert learner._loss_mean == 0.5


@pytest.mark.parametrize("rate", [1e-300, 1e6, 1e300])
def test_extreme_rates(rate):
    learner = Exp3Set(SPACE, rate=rate, baseline=None, seed=0)
    for _ in range(5):
        trial = learner.ask()
        learner.tell(trial, sb.PiecewiseLinear([0, 0.5, 1], [0.9, 0.1], [0.2, 0.7]))
        assert trial.rho in SPACE
        assert learner.density().integral() == pytest.approx(1)
    if rate == 1e6:  # above that, all logarithms end up at the lowest there is
        assert learner.recommend().rho == 0.5
        assert abs(learner.ask().rho - 0.5) < 1e-3
    steep = learner._epoch.weights.raised_to(1e300)
    assert steep.log().edges.tolist() == [0.0, 0.5, 1.0]
    assert 0 <= steep.draw(0.5) < 1


def test_a_slope_is_learned_to_its_end_with_a_local_baseline():
    """No edge ever falls into the first half: pieces become fine by halving alone."""
    halves = sb.PiecewiseLinear([0, 0.5], [0.0], [0.5]), sb.PiecewiseLinear([0.5, 1], [0.5], [1.0])
    learner = sb.Exp3Set(SPACE, seed=0)
    paid = 0.0
    for _ in range(3000):
        trial = learner.ask()
        paid += trial.rho
        learner.tell(trial, halves[trial.rho >= 0.5])
    assert paid < 6.0  # with pieces of a 64th it would be 23 at least
    assert learner.certificate().value >= paid * (1 - 1e-9)
    assert learner.recommend().rho < 1e-3


def test_slopes_are_unbiased_but_for_what_counts_as_raised():
    """Over all sets that may be seen, sums minus what was raised move by no more than the loss anywhere."""
    rng = np.random.default_rng(3)
    learner = sb.Exp3Set(SPACE, seed=0)
    for _ in range(30):
        trial = learner.ask()
        learner.tell(trial, random_function(rng).piece(trial.rho))
    weights, rule = learner._epoch.weights, learner._rule(False)
    function = random_function(rng)
    grid = np.linspace(0, 0.9999, 501)

    def sums(weights):
        edges, _, total, raised = weights._pieces[:4]
        at = np.searchsorted(edges, grid, side="right") - 1
        return (total - raised)[at], total[at]

    moved = np.zeros((2, grid.size))
    for lo, hi in zip(function.edges[:-1], function.edges[1:], strict=True):
        rho = 0.5 * (lo + hi)
        seen = learner._read(learner._trial(0, (rho,)), 0, rho, function.piece(rho))
        p = float(np.exp(weights.log_shares(np.array([lo, hi])))[0])
        learned = weights.apart().learn(seen, replace(rule, floor=-math.inf))
        moved += p * (np.array(sums(learned.weights)) - np.array(sums(weights)))
    losses = np.array([function(x) for x in grid])
    beyond = moved[0] - losses
    level = beyond.max()  # estimates are relative to the mean of what was expected
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
