"""Values of the user's own: evidence for recommendations, and densities that learn nothing from them."""

import pickle

import numpy as np
import pytest

import semibandit as sb

KNOBS = sb.Knobs(alpha=sb.Real(0, 1), depth=sb.Integer(1, 500), mode=sb.Choice("a", "b"))
SPACES = {
    "interval": (sb.Interval(0, 1), {"rho": 0.3}),
    "margin": (sb.Interval(0, 1, margin=0.1), {"rho": 1.0}),
    "strips": (sb.Strips(3, sb.Interval(0, 1)), {"rho": 0.3, "alpha": 0.5}),
    "knobs": (KNOBS, {"alpha": 0.3, "depth": 7, "mode": "b"}),
    "choices": (sb.Knobs(x=sb.Choice("a", "b"), y=sb.Choice(1, 2, 3)), {"x": "b", "y": 2}),
}
CONFIGS = [{}, {"baseline": "low"}, {"baseline": None}, {"drift": "auto"}, {"drift": 0.01}]


def loss_of(trial, t):
    return (0.1 + 0.7 * trial.position % 0.9 + 0.05 * (t % 3)) % 1.0


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("name", SPACES)
def test_the_density_is_as_if_own_values_were_never_told(name, config):
    space, values = SPACES[name]
    plain, ours = (sb.Exp3Set(space, seed=5, **config) for _ in range(2))
    late = []
    for t in range(60):
        if t % 4 == 0:
            late.append(ours.ask(values=values))
            assert late[-1].values == values
            assert late[-1].own
        if t % 8 == 7:
            ours.tell(late.pop(), 0.01)
            assert np.isnan(ours.last_probability)
        if t == 30:
            ours = pickle.loads(pickle.dumps(ours))
            late = [trial for trial in ours.pending if trial.own]
        a, b = plain.ask(), ours.ask()
        assert a.positions == b.positions
        assert not b.own
        plain.tell(a, loss_of(a, t))
        ours.tell(b, loss_of(b, t))
        # The origin of the losses differs: densities are equal up to rounding.
        x, y = plain.density(), ours.density()
        assert np.array_equal(x.edges, y.edges)
        assert np.allclose(x.values, y.values, rtol=1e-7)
    assert (ours.n_told, ours.n_own) == (60, 7)


def test_a_grid_counts_own_values_for_the_nearest_arm():
    learner = sb.Exp3Grid(sb.Interval(0, 1), 4, seed=0)
    before = learner.density()
    for _ in range(5):
        trial = learner.ask(values={"rho": 0.6})
        assert (trial.rho, trial.position) == (0.6, 2.4)
        learner.tell(trial, 0.2)
    assert learner.density() == before
    assert learner.recommend().rho == 0.6


def test_estimates_stay_unbiased_over_all_outcomes():
    """Sum over both cells that may be drawn: the mean change of log-weights is -rate times the true loss."""
    losses, rate = {0: 0.2, 1: 0.7}, 0.05
    for n_own in (0, 1, 3):
        changes = np.zeros(2)
        for cell in losses:
            learner = sb.Exp3Set(sb.Interval(0, 1), baseline=None, rate=rate, seed=1)
            for _ in range(n_own):
                trial = learner.ask(values={"rho": 0.9})
                learner.tell(trial, sb.PiecewiseConstant([0.5, 1], [0.7]))
            trial = learner.ask(position=[0.25 + 0.5 * cell])
            learner.tell(trial, sb.PiecewiseConstant([0.5 * cell, 0.5 * cell + 0.5], [losses[cell]]))
            (p,) = learner.last_probabilities
            log = np.log(learner.density()(np.array([0.25, 0.75])))
            other = 1 - cell
            estimate = (log[other] - log[cell]) / rate  # relative to the cell that was not observed
            changes[cell] += p * estimate
        assert changes == pytest.approx([0.2, 0.7])


def test_whole_functions_of_own_values_teach_the_density():
    plain, ours = (sb.Exp3Set(sb.Interval(0, 1), seed=2) for _ in range(2))
    for t in range(20):
        function = sb.PiecewiseConstant([0, 0.2 + 0.01 * t, 0.5, 1], [0.9, 0.2, 0.6])
        plain.tell(plain.ask(), function)
        ours.tell(ours.ask(values={"rho": 0.9}), function)
    assert np.array_equal(ours.density().edges, plain.density().edges)
    assert np.allclose(ours.density().values, plain.density().values, rtol=1e-9)
    assert ours.recommend()[:2] == plain.recommend()[:2]
    assert ours.n_own == ours.n_told == 20
    assert ours.certificate().value >= plain.certificate().value


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("high", [None, 10.0])
def test_an_own_value_is_recommended_once_it_is_significantly_better(maximize, high):
    random = np.random.default_rng(3)
    learner = sb.Exp3Set(KNOBS, seed=3, maximize=maximize, high=high)
    own = {"alpha": 0.123, "depth": 77, "mode": "a"}  # no row has this depth

    def tell(trial, mean):
        value = mean + 0.1 * random.standard_normal()
        learner.tell(trial, 10 - value if maximize else value)

    for _ in range(150):
        tell(learner.ask(), 5.0)
    assert learner.recommend().values != own
    for _ in range(4):
        assert learner.recommend().values != own, "fewer than four rounds are no evidence"
        tell(learner.ask(values=own), 4.0)
    best = learner.recommend()
    assert best.values == own
    assert best.evidence.rounds == 4
    assert best.evidence.mean == pytest.approx(6.0 if maximize else 4.0, abs=0.2)
    assert best.interval == (0.123, 0.123)
    for _ in range(40):
        tell(learner.ask(values=own), 9.0)
    assert learner.recommend().values != own


def test_a_bad_own_value_takes_its_cell_out_of_the_recommendation():
    learner = sb.Exp3Set(sb.Interval(0, 1), seed=1)
    for _ in range(300):
        trial = learner.ask()
        learner.tell(trial, 0.2 if trial.rho < 0.1 else 0.5)
    rho = learner.recommend().rho
    for _ in range(400):
        learner.tell(learner.ask(values={"rho": rho}), 0.9)
    assert learner.recommend().rho != rho


def test_failures_and_forgotten_trials_of_own_values_leave_no_evidence():
    learner = sb.Exp3Set(sb.Interval(0, 1), seed=1)
    learner.tell(learner.ask(values={"rho": 0.3}), None)
    learner.forget(learner.ask(values={"rho": 0.3}))
    assert (learner.n_failed, learner.n_own, learner.recommend().rho) == (1, 0, 0.5)


@pytest.mark.parametrize(
    ("name", "values", "error", "message"),
    [
        ("interval", {"rho": 1.5}, ValueError, r"rho must be in \[0, 1\], got 1.5"),
        ("interval", {"x": 0.5}, ValueError, "values must have a value for rho each, got x"),
        ("interval", 0.5, TypeError, "values must be a dict with a value for rho, got 0.5"),
        ("interval", {}, ValueError, "got none"),
        ("strips", {"rho": 0.5}, ValueError, "values must have a value for rho, alpha each, got rho"),
        ("strips", {"rho": 0.5, "alpha": 0.3}, ValueError, "alpha must be that of a row"),
        ("knobs", {"alpha": 0.5, "depth": 2.5, "mode": "a"}, TypeError, "depth must be an integer"),
        (
            "knobs",
            {"alpha": 0.5, "depth": 2, "mode": "c"},
            ValueError,
            "mode must be one of 'a', 'b', got 'c'",
        ),
        ("choices", {"x": "a"}, ValueError, "values must have a value for x, y each, got x"),
    ],
)
def test_bad_values_are_refused_and_change_nothing(name, values, error, message):
    learner = sb.Exp3Set(SPACES[name][0], seed=0)
    with pytest.raises(error, match=message):
        learner.ask(values=values)
    for options in ({"probes": 1}, {"position": 0.5}):
        with pytest.raises(ValueError, match="values go without probes and position"):
            learner.ask(values=SPACES[name][1], **options)
    assert (learner.n_asked, learner.pending) == (0, ())
