"""The certificate is above the mean regret, or there is none and a reason is given.

SEMIBANDIT_SOAK=n plays n times as many games.
"""

import math
import os

import numpy as np
import pytest

import semibandit as sb
from reference.fooling_streams import play_places, step_functions, two_places

UNIT = sb.Interval(0, 1)

GAMES = 60 * int(os.environ.get("SEMIBANDIT_SOAK", "1"))
BATCHES = [1, 8, 25, 200, 1000]
LEARNERS = {
    "default": {},
    "low": {"baseline": "low"},
    "none": {"baseline": None},
    "exploration": {"baseline": None, "exploration": "auto"},
}


def assert_certified(games):
    """The mean of certificate - regret is not negative, up to three standard errors."""
    excess = np.array([certificate - regret for regret, certificate in games])
    assert np.isfinite(excess).all()
    assert excess.mean() + 3.0 * excess.std() / math.sqrt(excess.size) >= 0.0


def play_functions(learner, functions, batch=1, probes=0):
    """Return the losses paid with intervals that are told in batches."""
    paid = 0.0
    for start in range(0, len(functions), batch):
        part = functions[start : start + batch]
        trials = [learner.ask(probes=probes) for _ in part]
        for trial, f in zip(trials, part, strict=True):
            paid += float(f(trial.rho))
            looks = [f.piece(rho) for rho in (trial.rho, *trial.probes)]
            learner.tell(trial, looks if probes else looks[0])
    return paid


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", ["bernoulli", "both", "uniform", "phases"])
def test_above_the_regret_on_two_places(kind, batch):
    games = []
    for seed in range(GAMES if batch < 1000 else GAMES // 4):
        learner = sb.Exp3Set(UNIT, seed=seed)
        regret = play_places(learner, two_places(kind, 200 if batch < 1000 else 1200, seed), batch)
        games.append((regret, learner.certificate().value))
    assert_certified(games)


@pytest.mark.slow
@pytest.mark.parametrize("options", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("batch", [1, 8, 25, 200])
@pytest.mark.parametrize(
    "stream",
    [
        sb.streams.knapsack("mixed", 220, n=20, seed=3),
        sb.streams.synthetic(220, seed=3),
        sb.streams.independent_set(220, seed=3),
    ],
    ids=["knapsack", "synthetic", "independent set"],
)
def test_above_the_regret_on_streams(stream, batch, options):
    functions = [problem.losses() for problem in stream]
    least = sb.PiecewiseConstant.sum(functions).min()
    dispersion, space = sb.dispersion.measure(stream), next(iter(stream)).space
    games = []
    for seed in range(GAMES // 2):
        learner = sb.Exp3Set(space, seed=seed, **options)
        paid = play_functions(learner, functions, batch)
        games.append((paid - least, learner.certificate(dispersion).value))
    assert_certified(games)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"baseline": "low"}], ids=str)
@pytest.mark.parametrize("probes", [1, 4])
def test_above_the_regret_with_probes(probes, options):
    games = []
    for seed in range(200):
        functions = list(step_functions(150, seed))
        functions = [sb.PiecewiseConstant(f.edges, np.clip(f.values, 0.0, 2.0)) for f in functions]
        total = sb.PiecewiseConstant.sum(functions)
        balls = total.between(np.linspace(0.0, 1.0, 101)) * 100.0  # means over hundredths of the line
        learner = sb.Exp3Set(UNIT, seed=seed, high=2.0, **options)
        paid = play_functions(learner, functions, probes=probes)
        games.append((paid - balls.min(), learner.certificate().value))
    assert_certified(games)


REASONS = {
    "drift": ({"drift": 0.1}, lambda f, rho: f.piece(rho)),
    "single losses": ({}, lambda f, rho: float(f(rho))),
    "single losses, low": ({"baseline": "low"}, lambda f, rho: float(f(rho))),
}


@pytest.mark.parametrize(("options", "seen"), REASONS.values(), ids=REASONS)
def test_none_with_a_reason_where_there_is_no_valid_bound(options, seen):
    learner = sb.Exp3Set(UNIT, seed=0, **options)
    for t, f in enumerate(step_functions(20, 0)):
        trial = learner.ask()
        learner.tell(trial, seen(f * 0.0 + 0.1 * (t % 5), trial.rho))
    certificate = learner.certificate()
    assert certificate.value == math.inf
    assert certificate.reason in str(certificate)
    assert certificate.reason in learner.guarantee


@pytest.mark.parametrize("batch", [1, 10])
def test_scaled_losses_have_scaled_certificates(batch):
    values = []
    for factor, shift in ((1.0, 0.0), (100.0, 1000.0), (0.01, 0.9)):
        learner = sb.Exp3Set(UNIT, seed=3)
        play_functions(learner, [f * factor + shift for f in step_functions(120, 1)], batch)
        values.append(learner.certificate().value / factor)
    np.testing.assert_allclose(values, values[0], rtol=1e-5)
