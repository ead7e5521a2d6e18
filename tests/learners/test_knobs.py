"""Learners on knobs: they play, learn, save, and replay to the bit."""

import copy

import numpy as np
import pytest

import semibandit as sb

P = sb.PiecewiseConstant
DEPTHS = range(1, 13)


class Solver:
    """An algorithm with three knobs: steps along alpha, a valley in depth, and a mode that matters."""

    high = 1.0
    maximize = False
    space = sb.Knobs(
        alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good")
    )

    def __init__(self, shift):
        self.shift = shift

    def row(self, depth, mode):
        edges = [1e-4, 1e-3 * self.shift, 1e-2 * self.shift, 0.3, 1.0]
        base = 0.05 * abs(depth - 7) + (0.2 if mode == "fast" else 0.0)
        return P(edges, np.minimum(np.array([0.6, 0.1, 0.3, 0.5]) + base, 1.0))

    def loss(self, alpha, depth, mode):
        return self.row(depth, mode)(alpha)

    def reveal(self, alpha, depth, mode):
        return self.row(depth, mode).piece(alpha)

    def losses(self):
        return sb.Boxes([(self.row(d, m), {"depth": d, "mode": m}) for d in DEPTHS for m in ("fast", "good")])


def solvers(n, seed=0):
    return [Solver(shift) for shift in np.random.default_rng(seed).uniform(0.7, 1.4, n)]


@pytest.mark.slow
@pytest.mark.parametrize("feedback", ["semi-bandit", "bandit", "full"])
def test_games_on_several_knobs(feedback):
    problems = solvers(400)
    history = sb.play(sb.Exp3Set(Solver.space, seed=0), problems, feedback)
    best = history.best()
    assert best.values["depth"] == 7
    assert best.values["mode"] == "good"
    assert 1.4e-3 < best.values["alpha"] < 7e-3
    assert best.mean_loss == pytest.approx(0.1)
    assert history.loss[200:].mean() < 0.35  # drawn evenly, the mean is about 0.6
    assert set(history.values["mode"]) == {"fast", "good"}
    assert history.columns[:4] == ("t", "alpha", "depth", "mode")
    assert history.to_dict()["depth"] == history.values["depth"].tolist()
    assert history.regret()[-1] == pytest.approx(history.loss.sum() - 40.0)
    against = {"alpha": 0.5, "depth": 3, "mode": "fast"}
    assert history.regret(values=against)[-1] < 0.0
    assert history.densities()[2].sum(axis=(1, 2)) == pytest.approx(1.0)


def test_bad_feedback_changes_nothing():
    learner = sb.Exp3Set(Solver.space, seed=1)
    trial = learner.ask(probes=2)
    assert trial.values == trial.parameters == trial.looks[0]
    assert type(trial.values["depth"]) is int
    before = learner.density()
    away = 1e-4 if trial.rho > 1e-2 else 0.5
    with pytest.raises(ValueError, match="must cover alpha = "):
        learner.tell(trial, P([away, 1.1 * away], [0.3]))
    assert learner.density() == before
    learner.tell(trial, [Solver(1).reveal(**values) for values in trial.looks])
    assert repr(trial).startswith("Trial(id=0, values={'alpha': ")


def test_boxes_teach_all_rows_that_they_hold():
    learner = sb.Exp3Set(Solver.space, seed=0, baseline=None)
    trial = learner.ask()
    seen = P([trial.rho, 1.0], [1.0])
    learner.tell(trial, sb.Boxes([(seen, {"mode": ["fast", "good"]})]))
    for row in learner.space.line.rows(learner.density()):
        x = learner.space.scale.place(trial.rho)
        assert row(0.5 * x) < row(x - 1.0 if x > learner.space.line.lo + 1.0 else learner.space.line.lo)


def test_a_single_loss_of_an_integer_counts_for_this_integer_only():
    space = sb.Knobs(n=sb.Integer(1, 12))
    learner = sb.Exp3Set(space, seed=0, baseline=None)
    trial = learner.ask()
    learner.tell(trial, 1.0)
    density = learner.density()
    values = [density(n + 0.5) for n in DEPTHS]
    assert sorted(values)[0] == values[trial.values["n"] - 1] < sorted(values)[1] == sorted(values)[-1]
    assert set(density.edges) <= set(range(1, 14))


@pytest.mark.parametrize("options", [{}, {"baseline": "low"}, {"baseline": None}, {"drift": 0.001}])
def test_a_saved_learner_has_the_same_future(options, tmp_path):
    learner = sb.Exp3Set(Solver.space, seed=0, rate=1.0, **options)
    waiting = []
    for problem in solvers(300):  # feedback comes five rounds late
        waiting.append((learner.ask(), problem))
        if len(waiting) > 5:
            trial, early = waiting.pop(0)
            learner.tell(trial, early.reveal(**trial.values))
    assert learner.density().integral() == pytest.approx(1.0)
    learner.save(tmp_path / "learner")
    again = sb.load(tmp_path / "learner")
    assert (again.space, again.pending) == (learner.space, learner.pending)
    for one in (learner, again):
        for trial, problem in waiting:
            one.tell(trial, problem.reveal(**trial.values))
        for problem in solvers(100, seed=1):
            trial = one.ask()
            one.tell(trial, problem.reveal(**trial.values))
    assert learner.ask().values == again.ask().values
    assert learner.recommend() == again.recommend()


def test_a_game_on_record_is_replayed_to_the_bit():
    first, second = (sb.Exp3Set(Solver.space, seed=seed) for seed in (0, 1))
    second._random = copy.deepcopy(first._random)
    for problem in solvers(250):
        trial = first.ask()
        seen = problem.reveal(**trial.values)
        first.tell(trial, seen)
        again = second.ask(position=trial.positions)
        assert again.values == trial.values
        second.tell(again, seen, probability=first.last_probabilities)
    assert first.density() == second.density()
    assert first.ask().values == second.ask().values


def test_learners_start_from_logged_functions_of_all_knobs():
    learner = sb.Exp3Set(Solver.space, seed=0)
    learner.learn_from([problem.losses() for problem in solvers(50)], weight=5.0)
    best = learner.recommend().values
    assert best["mode"] == "good"
    with pytest.raises(TypeError, match="must be `Boxes`"):
        learner.learn_from([P([1e-4, 1], [0.2])])
