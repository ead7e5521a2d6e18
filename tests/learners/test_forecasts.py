"""Predictions of an instance's loss: a control variate that stays unbiased."""

import itertools
import math

import numpy as np
import pytest

import semibandit as sb
from semibandit import Exp3Grid, Exp3Set, Interval, PiecewiseConstant, PiecewiseLinear
from semibandit.learners import storage
from semibandit.learners.forecasts import Forecast

UNIT = Interval(0, 1)
EDGES = [0.0, 0.3, 0.6, 1.0]


def game(seed, rounds, predict, **options):
    """Play instances of random hardness; return the learner and the regret."""
    rng = np.random.default_rng([seed, 3])
    learner = Exp3Set(UNIT, seed=seed, **options)
    regret = 0.0
    for _ in range(rounds):
        hardness = 2.0 * rng.random()
        losses = PiecewiseConstant(EDGES, hardness + rng.random(3) * [0.5, 0.3, 0.5])
        trial = learner.ask()
        learner.tell(trial, losses.piece(trial.rho), predicted=predict(hardness, losses, rng))
        regret += losses(trial.rho) - hardness - 0.15
    return learner, regret


def slope(predictions, paid):
    """Regression by the textbook, with the weight of one round for a slope of 0."""
    b, y = np.array(predictions), np.array(paid)
    products = ((b - b.mean()) * (y - y.mean())).sum()
    if len(y) < 2 or products <= 0.0:
        return 0.0
    return min(products / (((b - b.mean()) ** 2).sum() + y.var()), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_that_of_a_regression_on_clipped_predictions(seed):
    rng = np.random.default_rng(seed)
    forecast, clipped, paid = Forecast(), [], []
    for _ in range(30):
        loss, prediction = rng.normal(5.0, 2.0, 2) + rng.normal() * rng.choice([0.0, 3.0])
        expected = 0.0
        if paid:
            expected = forecast.slope * (np.clip(prediction, min(paid), max(paid)) - np.mean(clipped))
            assert forecast.slope == pytest.approx(slope(clipped, paid), abs=1e-9)
        assert forecast.amount(prediction, loss) == pytest.approx(expected, abs=1e-9)
        paid.append(loss)
        clipped.append(float(np.clip(prediction, min(paid), max(paid))))


def test_amounts_have_at_most_the_range_of_the_losses():
    rng = np.random.default_rng(0)
    forecast, remaining, paid = Forecast(), [], []
    for _ in range(500):
        loss = rng.random()
        wild = loss * rng.choice([1.0, 1e9, -1e9])
        paid.append(loss)
        remaining.append(loss - forecast.amount(wild, loss))
    assert np.ptp(remaining) <= 2.0 * np.ptp(paid)


def told(saved, position, f, predicted):
    """Return a copy of a learner after a round played at `position`."""
    learner = storage.loads(saved)
    learner.tell(learner.ask(position=position), f.piece(position), predicted=predicted)
    return learner


def sums_of(learner):
    """Return the safe learner's sums of estimates in the middles of the pieces."""
    from semibandit.weights import _pieces as k

    weights = learner._epoch.weights
    at = np.searchsorted(weights._pieces[k.EDGE], [0.15, 0.45, 0.8], side="right") - 1
    return weights._pieces[k.SAFE, at]


@pytest.mark.parametrize("predicted", [None, 0.4, 1.7, -1e6, PiecewiseLinear([0, 1], [0.0], [3.0])], ids=str)
def test_estimates_are_unbiased_for_every_prediction(predicted):
    # A sum over all outcomes of a round: differences of expected estimates are differences of losses.
    learner, _ = game(1, 40, lambda hardness, losses, rng: hardness)
    assert learner._forecast.slope > 0.5
    saved, f = storage.dumps(learner), PiecewiseConstant(EDGES, [1.2, 0.9, 0.7])
    density = learner.density()
    expected = np.zeros(3)
    for lo, hi in itertools.pairwise(EDGES):
        edges = np.union1d(density.edges, [lo, hi])
        edges = edges[(lo <= edges) & (edges <= hi)]
        probability = float(density.spread(edges)[0] @ np.diff(edges))
        after = told(saved, 0.5 * (lo + hi), f, predicted)
        expected += probability * (sums_of(after) - sums_of(learner))
    np.testing.assert_allclose(np.diff(expected), [-0.3, -0.2], rtol=1e-9)


@pytest.mark.slow
def test_good_predictions_lower_the_regret_and_bad_ones_cost_little():
    def mean(predict):
        return np.mean([game(seed, 500, predict)[1] for seed in range(20)])

    without = mean(lambda hardness, losses, rng: None)
    assert mean(lambda hardness, losses, rng: hardness) < 0.6 * without
    assert mean(lambda hardness, losses, rng: losses) < 0.6 * without
    for bad in (
        lambda h, f, rng: -h,
        lambda h, f, rng: 0.5,
        lambda h, f, rng: np.random.default_rng(int(1e9 * h)).random(),
    ):
        assert mean(bad) < 1.25 * without


def test_statistics_of_the_play_are_those_of_true_losses():
    learner = Exp3Set(UNIT, seed=0)
    for t in range(50):
        learner.tell(learner.ask(), PiecewiseConstant([0, 1], [7.0 + t % 2]), predicted=7.0 + t % 2)
    assert learner._forecast.slope > 0.9
    assert learner.recommend().evidence.mean == pytest.approx(7.5)
    assert learner._loss_mean + learner._scale.origin == pytest.approx(7.5)


def test_utilities_and_units_change_nothing():
    draws = []
    for factor, maximize in ((1.0, False), (-100.0, True)):
        rng = np.random.default_rng(0)
        learner = Exp3Set(UNIT, seed=3, maximize=maximize)
        draws.append([])
        for _ in range(100):
            hardness = rng.random()
            f = PiecewiseConstant(EDGES, hardness + rng.random(3)) * factor
            trial = learner.ask()
            draws[-1].append(trial.rho)
            learner.tell(trial, f.piece(trial.rho), predicted=factor * hardness)
    np.testing.assert_allclose(draws[0], draws[1], atol=1e-6)


def test_a_saved_learner_continues_with_its_predictions():
    learner, _ = game(0, 30, lambda hardness, losses, rng: hardness)
    copy = storage.loads(storage.dumps(learner))
    assert copy._forecast.state == learner._forecast.state
    for each in (learner, copy):
        each.tell(each.ask(), PiecewiseConstant([0, 1], [0.7]), predicted=1.9)
    assert copy.density() == learner.density()


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (math.nan, ValueError),
        (math.inf, ValueError),
        ("0.5", TypeError),
        ([0.5], TypeError),
        (PiecewiseConstant([0, 0.5], [1.0]), ValueError),
        (PiecewiseConstant([0, 2], [1.0]), ValueError),
    ],
    ids=str,
)
def test_bad_predictions_change_nothing(bad, error):
    learner = Exp3Set(UNIT, seed=0)
    trial = learner.ask()
    before = storage.dumps(learner)
    with pytest.raises(error, match=r"predicted|the function told"):
        learner.tell(trial, 0.5, predicted=bad)
    assert storage.dumps(learner) == before


@pytest.mark.parametrize(
    "learner", [Exp3Grid(UNIT, 4), Exp3Set(UNIT, baseline=None), Exp3Set(UNIT, baseline="low")]
)
def test_other_baselines_refuse_predictions(learner):
    trial = learner.ask()
    with pytest.raises(ValueError, match="predicted needs baseline='local'"):
        learner.tell(trial, 0.5, predicted=0.5)
    assert learner.pending == (trial,)


class Predicted(sb.Explicit):
    """An instance with a prediction of its loss."""

    predicted = 0.25


def test_play_passes_the_predictions_of_problems():
    problems = [Predicted(PiecewiseConstant([0, 0.5, 1], [0.2, 0.3]))] * 10
    learner = Exp3Set(UNIT, seed=0)
    sb.play(learner, problems)
    assert learner._forecast.rounds == 10
    grid = Exp3Grid(UNIT, 4, seed=0)
    sb.play(grid, problems, "bandit")
    assert grid._forecast.rounds == 0
