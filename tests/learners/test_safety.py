"""The default is not fooled by simple streams, knows no units, and its certificate holds."""

import numpy as np
import pytest

import semibandit as sb
from reference.fooling_streams import play_places, step_functions, two_places

UNIT = sb.Interval(0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("kind", "rounds", "seeds", "mean", "worst"),
    [
        ("bernoulli", 2000, 20, 30, 90),
        ("both", 2000, 20, 60, 105),
        ("uniform", 2000, 20, 15, 45),
        ("phases", 550, 20, 15, 45),
        ("wide", 8000, 6, 35, 100),
    ],
)
def test_a_noisy_better_place_is_found(kind, rounds, seeds, mean, worst, swapped):
    """Uniform play has 100, 100, 100, 225 and 200; benchmarks/fooled.py compares with other learners.

    A game that stays at the worse place has twice that.
    """
    regrets = []
    for seed in range(seeds):
        places = two_places(kind, rounds, seed)
        regrets.append(play_places(sb.Exp3Set(UNIT, seed=seed), places[::-1] if swapped else places))
    assert np.mean(regrets) <= mean
    assert max(regrets) <= worst


def functions_of_a_stream():
    return [problem.losses() for problem in sb.streams.knapsack("mixed", 200, n=20, seed=1)]


def draws(space, functions, value, seed=0, **options):
    """Return the draws of a learner that is told value(t, piece)."""
    learner = sb.Exp3Set(space, seed=seed, **options)
    played = []
    for t, f in enumerate(functions):
        trial = learner.ask()
        played.append(trial.rho)
        learner.tell(trial, value(t, f.piece(trial.rho)))
    return np.array(played)


@pytest.mark.parametrize("factor", [1.0, 0.01, 100.0])
@pytest.mark.parametrize("shift", [0.0, 0.9, 1000.0])
def test_scaled_and_shifted_losses_give_the_same_draws(factor, shift):
    functions, space = functions_of_a_stream(), sb.Interval(0, 10)
    expected = draws(space, functions, lambda t, f: f)
    np.testing.assert_allclose(draws(space, functions, lambda t, f: f * factor + shift), expected, atol=1e-6)
    utilities = draws(space, functions, lambda t, f: f * -factor + shift, maximize=True)
    np.testing.assert_allclose(utilities, expected, atol=1e-6)


@pytest.mark.parametrize("at", [0, 99, 999])
@pytest.mark.parametrize(("outlier", "maximize"), [(1e3, False), (-1e3, False), (1e3, True), (-1e6, True)])
def test_one_outlier_costs_at_most_twenty_rounds(at, outlier, maximize):
    """The outlier is a thousand (or a million) times the range of all other losses, which is about 1."""
    sign = -1.0 if maximize else 1.0

    def paid(seed, at):
        functions = list(step_functions(1200, seed))
        told = draws(
            UNIT,
            functions,
            lambda t, f: f * 0.0 + outlier if t == at else f * sign,
            seed,
            maximize=maximize,
        )
        return sum(float(f(x)) for f, x in zip(functions, told, strict=True))

    undisturbed = np.mean([paid(seed, None) for seed in range(3)])
    assert np.mean([paid(seed, at) for seed in range(3)]) <= undisturbed + 20.0


def test_a_second_outlier_is_no_outlier():
    """Two losses of this size are the range: then the learner's unit is a thousand."""
    learner = sb.Exp3Set(UNIT, seed=0)
    for t in range(60):
        trial = learner.ask()
        learner.tell(trial, 1000.0 if t in (20, 40) else float(t % 2))
        assert learner._losses.inner[1] <= 1.0 or t >= 40
    assert learner._losses.inner == (0.0, 1000.0)


def test_any_finite_loss_is_accepted_from_the_first_round_on():
    learner = sb.Exp3Set(UNIT, seed=0)
    for loss in (1234.5, -3, 1e100, 0.0, -1e100, 2.0, 5.0):
        learner.tell(learner.ask(), loss)
        assert np.isfinite(learner.density().values).all()
    for bad in (float("inf"), float("nan"), 1e200):
        with pytest.raises(ValueError, match="the loss told must be in"):
            learner.tell(learner.ask(), bad)


def test_losses_that_are_all_equal_are_explored():
    learner = sb.Exp3Set(UNIT, seed=0)
    for _ in range(50):
        trial = learner.ask()
        lo = np.floor(trial.rho * 8) / 8
        learner.tell(trial, sb.PiecewiseConstant([lo, lo + 0.125], [7.0]))
    counts = learner._stats.sums[0]
    assert all(sum(counts[i : i + 8]) >= 3 for i in range(0, 64, 8))
    assert learner.certificate().value == 0.0
