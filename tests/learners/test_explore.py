"""`ask(explore=ε)`: the recommended parameter in all but a share ε of the rounds."""

import itertools

import numpy as np
import pytest

import semibandit as sb
from semibandit import Exp3Grid, Exp3Set, Integer, Interval, Knobs, PiecewiseConstant, Strips
from semibandit.learners import storage

UNIT = Interval(0, 1)
EDGES = [0.0, 0.3, 0.6, 1.0]
LEARNERS = {
    "local": lambda seed: Exp3Set(UNIT, seed=seed),
    "low": lambda seed: Exp3Set(UNIT, baseline="low", seed=seed),
    "none": lambda seed: Exp3Set(UNIT, baseline=None, seed=seed),
    "grid": lambda seed: Exp3Grid(UNIT, 10, seed=seed),
}


def losses(rng):
    return PiecewiseConstant(EDGES, rng.random(3) * [1.0, 0.6, 1.0])


def play(learner, rounds, explore, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        f, trial = losses(rng), learner.ask(explore=explore)
        learner.tell(trial, f(trial.rho) if isinstance(learner, Exp3Grid) else f.piece(trial.rho))
    return learner


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_the_recommended_parameter_is_played_in_all_but_a_share_of_rounds(make):
    learner, rng = make(0), np.random.default_rng(0)
    recommended = 0
    for _ in range(1000):
        best = learner.recommend().rho
        f, trial = losses(rng), learner.ask(explore=0.2)
        recommended += trial.rho == best
        learner.tell(trial, f(trial.rho) if isinstance(learner, Exp3Grid) else f.piece(trial.rho))
    assert 0.76 < recommended / 1000 < (1.0 if isinstance(learner, Exp3Grid) else 0.84)
    assert (learner.n_late, learner.n_mixed) == (0, 1000)


@pytest.mark.parametrize(
    "space",
    [UNIT, Knobs(x=Integer(0, 9)), Knobs(x=Integer(0, 5), y=Integer(0, 3)), Strips(3, UNIT)],
    ids=str,
)
@pytest.mark.parametrize("whole", [False, True])
def test_all_spaces_play_what_they_recommend(space, whole):
    learner = Exp3Set(space, seed=1)
    rng, found = np.random.default_rng(0), 0
    for _ in range(60):
        best = learner.recommend()
        trial = learner.ask(explore=0.3)
        found += trial.parameters == best.parameters
        if whole and not space.names and len(space.alphas) == 1:
            learner.tell(trial, losses(rng))
        else:
            learner.tell(trial, rng.random())
    assert found >= 25


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("late", [False, True])
def test_probabilities_are_those_of_the_mixture(make, late):
    learner = play(make(2), 60, 0.5)
    density, explore = learner.density(), 0.25
    trials = [learner.ask(explore=explore) for _ in range(6)]
    home = learner.recommend().rho
    for trial in trials if late else trials[:1]:
        f = losses(np.random.default_rng(5))
        if isinstance(learner, Exp3Grid):
            lo = np.floor(trial.rho * 10) / 10
            lo, hi = lo, lo + 0.1
            learner.tell(trial, f(trial.rho))
        else:
            lo, hi = f.piece(trial.rho).edges
            learner.tell(trial, f.piece(trial.rho))
        edges = np.unique(np.clip(np.append(density.edges, [lo, hi]), lo, hi))
        share = float(density.spread(edges)[0] @ np.diff(edges))
        expected = explore * share + (1 - explore) * (lo <= home < hi)
        assert learner.last_probability == pytest.approx(expected, rel=1e-6)
    assert learner.n_late == (5 if late else 0)


@pytest.mark.parametrize("make", [LEARNERS["local"], LEARNERS["none"]])
def test_estimates_are_unbiased(make):
    # The sum over all outcomes of the round, by the probabilities of the mixture.
    learner = play(make(2), 40, 0.5)
    saved, explore = storage.dumps(learner), 0.3
    f = PiecewiseConstant(EDGES, [0.5, 0.2, 0.9])
    density, home = learner.density(), learner.recommend().rho
    expected = np.zeros(3)
    for i, (lo, hi) in enumerate(itertools.pairwise(EDGES)):
        copy = storage.loads(saved)
        copy.tell(copy.ask(explore=explore, position=0.5 * (lo + hi)), f.piece(0.5 * (lo + hi)))
        edges = np.unique(np.clip(np.append(density.edges, [lo, hi]), lo, hi))
        share = float(density.spread(edges)[0] @ np.diff(edges))
        probability = explore * share + (1 - explore) * (lo <= home < hi)
        expected[i] = probability * f(0.5 * (lo + hi)) / copy.last_probability
    np.testing.assert_allclose(expected, [0.5, 0.2, 0.9], rtol=1e-9)


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_explore_1_is_a_plain_ask(make):
    a, b = play(make(3), 50, 1.0), make(3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        f, trial = losses(rng), b.ask()
        b.tell(trial, f(trial.rho) if isinstance(b, Exp3Grid) else f.piece(trial.rho))
    assert a.density() == b.density()
    assert a.n_mixed == 0


def test_a_closed_right_end_contains_the_recommended_parameter():
    # Before the first tell 0.5 is recommended; the function told ends there.
    learner = Exp3Set(UNIT, seed=0)
    trial = learner.ask(explore=0.1, position=0.5)
    assert trial.home == 0.5
    learner.tell(trial, PiecewiseConstant([0, 0.5], [0.3]))
    assert learner.last_probability == pytest.approx(0.1 * 0.5 + 0.9)


def test_pending_trials_are_saved_with_their_mixture():
    learner = play(Exp3Set(UNIT, seed=0), 20, 0.5)
    trials = [learner.ask(explore=0.4), learner.ask(), learner.ask(explore=0.6)]
    copy = storage.loads(storage.dumps(learner))
    assert copy.pending == tuple(trials)
    for each in (learner, copy):
        for trial in trials:
            each.tell(trial, PiecewiseConstant([0, 1], [0.5]).piece(trial.rho))
    assert copy.density() == learner.density()


@pytest.mark.parametrize(
    ("bad", "error"), [(0.0, ValueError), (-0.1, ValueError), (1.5, ValueError), ("a", TypeError)]
)
def test_bad_shares_are_refused(bad, error):
    learner = Exp3Set(UNIT, seed=0)
    with pytest.raises(error, match="explore must be"):
        learner.ask(explore=bad)
    with pytest.raises(ValueError, match="explore cannot be combined with probes"):
        learner.ask(explore=0.5, probes=2)
    assert learner.n_asked == 0


def test_the_guarantee_names_rounds_with_explore():
    learner = play(LEARNERS["none"](0), 3, 0.5)
    assert "rounds asked with `explore`" in learner.guarantee


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_certificate_covers_the_mixture(name):
    excess = []
    for seed in range(100):
        learner, rng, paid, total = LEARNERS[name](seed), np.random.default_rng(seed), 0.0, np.zeros(3)
        for _ in range(100):
            f, trial = losses(rng), learner.ask(explore=0.2)
            paid += f(trial.rho)
            total += f.values
            learner.tell(trial, f(trial.rho) if name == "grid" else f.piece(trial.rho))
        excess.append(learner.certificate().value - (paid - total.min()))
    assert np.mean(excess) + 3.0 * np.std(excess) / 10.0 >= 0.0


def test_play_explores_a_share():
    learner = Exp3Set(UNIT, seed=0)
    sb.play(learner, sb.streams.synthetic(20, seed=0), explore=0.5)
    assert learner.n_mixed == 20
