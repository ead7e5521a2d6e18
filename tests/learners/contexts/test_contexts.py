"""Learners with contexts, by play."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.learners.contexts import context_cells as cells_module

SPACE = sb.Interval(0, 1)


def valley(best, rng, noise=0.05):
    """Return steps of random width with the least loss around `best`."""
    edges = np.unique(np.concatenate(([0.0, 1.0], rng.random(8))))
    middles = 0.5 * (edges[1:] + edges[:-1])
    return sb.PiecewiseConstant(edges, 0.2 + 0.6 * abs(middles - best) + noise * rng.random(middles.size))


def around(function, x):
    i = min(max(int(np.searchsorted(function.edges, x, side="right")) - 1, 0), function.values.size - 1)
    return sb.PiecewiseConstant(function.edges[i : i + 2], function.values[i : i + 1])


def stream(rounds, seed, bests=(0.1, 0.9)):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        x = rng.random()
        kind = int(x * len(bests))
        yield {"x": float(x), "y": float(rng.random())}, valley(bests[kind], rng)


def played(learner, games, context=True):
    paid = 0.0
    for features, function in games:
        trial = learner.ask(context=features) if context else learner.ask()
        paid += float(function(trial.rho))
        learner.tell(trial, around(function, trial.rho))
    return paid


def two_reals():
    return sb.Context(x=sb.Real(0, 1), y=sb.Real(0, 1))


@pytest.fixture(scope="module")
def learned():
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    return learner, played(learner, stream(500, 1))


def test_less_is_paid_than_without_contexts(learned):
    pooled = played(sb.Exp3Set(SPACE, seed=0), stream(500, 1), context=False)
    least = sum(function.min() for _, function in stream(500, 1))
    assert learned[1] - least < 0.5 * (pooled - least)


def test_recommendation_depends_on_the_context(learned):
    learner, _ = learned
    assert learner.recommend(context={"x": 0.2, "y": 0.5}).rho < 0.3
    assert learner.recommend(context={"x": 0.8}).rho > 0.7
    assert learner.recommend().evidence.rounds > 0


def test_cells_are_described(learned):
    learner, _ = learned
    found = learner.contexts()
    assert sum(cell.rounds for cell in found) == 500
    assert all(0.0 < cell.share < 1.0 for cell in found)
    low = next(cell for cell in found if cell.where["x"][0] == 0.0)
    assert low.where["x"][1] == pytest.approx(0.5, abs=0.1)
    assert low.recommendation.rho < 0.3


def test_useless_features_leave_the_game_as_it_is():
    rng = np.random.default_rng(3)
    games = [({"x": rng.random(), "y": rng.random()}, valley(0.4, rng)) for _ in range(300)]
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=5)
    paid = played(learner, games)
    assert len(learner.contexts()) == 1
    assert paid == pytest.approx(played(sb.Exp3Set(SPACE, seed=5), games, context=False), rel=1e-9)


def test_probability_is_that_of_the_mixture(learned):
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    played(learner, stream(200, 1))
    assert learner.contexts()[0].where
    for features, function in stream(20, 9):
        density = learner.density(context=features)
        trial = learner.ask(context=features)
        assert trial.context == features
        seen = around(function, trial.rho)
        learner.tell(trial, seen)
        lo, hi = seen.edges
        edges = np.union1d(density.edges, [lo, hi])
        inside = (edges[:-1] >= lo) & (edges[1:] <= hi)
        mass = float((density.spread(edges)[0] * np.diff(edges))[inside].sum())
        assert learner.last_probability == pytest.approx(mass, rel=1e-9)


def test_draws_follow_the_density():
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    played(learner, stream(120, 1))
    features = {"x": 0.2, "y": 0.5}
    density = learner.density(context=features)
    draws = []
    for _ in range(4000):
        trial = learner.ask(context=features)
        draws.append(trial.rho)
        learner.forget(trial)
    mean = float((density.values * 0.5 * np.diff(density.edges**2)).sum())
    assert np.mean(draws) == pytest.approx(mean, abs=0.02)


def test_late_tells_use_the_probability_at_ask():
    games = list(stream(240, 4))
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    waiting, expected = [], []
    for features, function in games:
        density = learner.density(context=features)
        trial = learner.ask(context=features)
        seen = around(function, trial.rho)
        edges = np.union1d(density.edges, seen.edges)
        inside = (edges[:-1] >= seen.edges[0]) & (edges[1:] <= seen.edges[1])
        expected.append(float((density.spread(edges)[0] * np.diff(edges))[inside].sum()))
        waiting.append((trial, seen))
        if len(waiting) == 30:
            for i in np.random.default_rng(len(expected)).permutation(30):
                learner.tell(*waiting[i])
                assert learner.last_probability == pytest.approx(expected[i], rel=1e-9)
            waiting, expected = [], []
    assert len(learner.contexts()) > 1


def test_saved_learner_has_the_same_future(tmp_path):
    context = sb.Context(x=sb.Real(0, 1), y=sb.Real(0, 1), who=sb.Label(), kind=sb.Choice("a", "b"))
    learner = sb.Exp3Set(SPACE, context=context, drift="auto", seed=0)
    rng = np.random.default_rng(0)

    def game(n, seed):
        for features, function in stream(n, seed):
            yield features | {"who": int(rng.integers(9)), "kind": "a"}, function

    played(learner, game(250, 1))
    pending = [(learner.ask(context=f), g) for f, g in game(5, 2)]
    learner.save(tmp_path / "knob.sb")
    again = sb.load(tmp_path / "knob.sb")
    assert again.context == context
    assert again.pending == learner.pending
    assert repr(again.contexts()) == repr(learner.contexts())
    for (trial, function), restored in zip(pending, again.pending, strict=True):
        learner.tell(trial, around(function, trial.rho))
        again.tell(restored, around(function, trial.rho))
    for features, function in list(game(200, 3)):
        a, b = learner.ask(context=features), again.ask(context=features)
        assert a.rho == b.rho
        learner.tell(a, around(function, a.rho))
        again.tell(b, around(function, a.rho))
    assert repr(again.contexts()) == repr(learner.contexts())


@pytest.mark.parametrize(
    "kind", ["bandit", "full", "probes", "explore", "predicted", "values", "fixed drift"]
)
def test_all_kinds_of_rounds(kind):
    learner = sb.Exp3Set(SPACE, context=two_reals(), drift=0.01 if kind == "fixed drift" else None, seed=0)
    for t, (features, function) in enumerate(stream(300, 6)):
        options = {"probes": {"probes": 2}, "explore": {"explore": 0.4}}.get(kind, {})
        if kind == "values" and t % 5 == 0:
            options = {"values": {"rho": 0.5}}
        trial = learner.ask(context=features, **options)
        seen = around(function, trial.rho)
        if kind == "bandit":
            seen = float(function(trial.rho))
        elif kind == "full":
            seen = function
        elif kind == "probes":
            seen = [seen, *(around(function, x) for x in trial.probes)]
        predicted = {"predicted": float(function.mean())} if kind == "predicted" else {}
        learner.tell(trial, seen, **predicted)
    low, high = (learner.recommend(context={"x": x, "y": 0.5}).rho for x in (0.2, 0.8))
    assert low < high


@pytest.mark.parametrize(
    "space", [sb.Strips(4, SPACE), sb.Knobs(rho=sb.Real(0, 1), mode=sb.Choice("a", "b")), sb.Integer(0, 20)]
)
def test_all_spaces(space):
    learner = sb.Exp3Set(space, context=sb.Context(x=sb.Choice("low", "high")), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(500):
        name = ("low", "high")[rng.integers(2)]
        trial = learner.ask(context={"x": name})
        rho = trial.rho / 20 if isinstance(space, sb.Integer) else trial.rho
        learner.tell(trial, 0.1 + 0.8 * abs(rho - (0.1 if name == "low" else 0.9)))
    low, high = (learner.recommend(context={"x": name}) for name in ("low", "high"))
    assert low.rho < high.rho
    assert all("high" in cell.where["x"] or "low" in cell.where["x"] for cell in learner.contexts())


def test_labels_are_grouped_by_their_losses():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=30)
    learner = sb.Exp3Set(SPACE, context=sb.Context(who=sb.Label()), seed=0)
    for _ in range(600):
        who = int(rng.integers(30))
        function = valley((0.1, 0.9)[group[who]], rng)
        trial = learner.ask(context={"who": who})
        learner.tell(trial, around(function, trial.rho))
    right = [(learner.recommend(context={"who": who}).rho > 0.5) == group[who] for who in range(30)]
    assert np.mean(right) > 0.9
    assert len(learner.contexts()) < 8


def test_ask_without_a_context_is_unknown():
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    assert learner.ask().context == {}


def test_unknown_values_are_learned():
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    rng = np.random.default_rng(0)
    for t in range(300):
        features = {"x": float(rng.random())} if t % 2 else {}
        function = valley(0.9 if t % 2 else 0.1, rng)
        trial = learner.ask(context=features)
        learner.tell(trial, around(function, trial.rho))
    assert learner.recommend(context={"x": None}).rho < 0.4 < learner.recommend(context={"x": 0.5}).rho
    assert any(cell.where.get("x", ()) is None for cell in learner.contexts())


def test_errors_change_nothing():
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    before = learner.__reduce__()[1][0]
    for bad in ({"x": float("nan")}, {"z": 1}, {"x": "much"}, 3):
        with pytest.raises((TypeError, ValueError)):
            learner.ask(context=bad)
        with pytest.raises((TypeError, ValueError)):
            learner.recommend(context=bad)
    assert learner.__reduce__()[1][0] == before


def test_context_needs_a_learner_with_one():
    with pytest.raises(ValueError, match="context needs a learner made with"):
        sb.Exp3Set(SPACE, seed=0).ask(context={"x": 1})
    with pytest.raises(ValueError, match=r"contexts\(\) needs"):
        sb.Exp3Set(SPACE, seed=0).contexts()
    with pytest.raises(TypeError, match="must be a Context"):
        sb.Exp3Set(SPACE, context={"x": 1})
    with pytest.raises(ValueError, match="baseline='local'"):
        sb.Exp3Set(SPACE, baseline="low", context=two_reals())
    with pytest.raises(ValueError, match="context needs"):
        sb.Exp3Grid(SPACE, 4, seed=0).ask(context={"x": 1})


def test_cells_are_limited(monkeypatch):
    monkeypatch.setattr(cells_module, "MOST_CELLS", 2)
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    played(learner, stream(400, 2, bests=(0.1, 0.9, 0.3, 0.7)))
    assert 1 <= len(learner.contexts()) <= 2


def test_logged_instances_are_known_in_all_cells_and_unlearned():
    rng = np.random.default_rng(0)
    learner = sb.Exp3Set(SPACE, context=two_reals(), seed=0)
    learner.learn_from([valley(0.1, rng) for _ in range(50)])
    assert learner.recommend(context={"x": 0.9}).rho < 0.3
    played(learner, stream(300, 1))
    assert learner.recommend(context={"x": 0.9}).rho > 0.7


def test_forgotten_labels_and_rounds_leave_the_future_exact(monkeypatch, tmp_path):
    from semibandit.learners.contexts import labels, records

    monkeypatch.setattr(labels, "_MOST", 5)
    for module in (records, cells_module):
        monkeypatch.setattr(module, "CAPACITY", 150)
    learner = sb.Exp3Set(SPACE, context=sb.Context(x=sb.Real(0, 1), who=sb.Label()), seed=0)
    rng = np.random.default_rng(0)

    def games(n, seed):
        return [({"x": f["x"], "who": int(rng.integers(12))}, function) for f, function in stream(n, seed)]

    played(learner, games(260, 1))
    learner.save(tmp_path / "knob.sb")
    again = sb.load(tmp_path / "knob.sb")
    rest = games(150, 2)
    assert played(learner, rest) == played(again, rest)
    assert repr(learner.contexts()) == repr(again.contexts())


def test_thousands_of_contexts_need_bounded_memory(monkeypatch):
    """With splits at no price, every label of 3,000 that is met twice tries to become a cell."""
    monkeypatch.setattr(cells_module, "MOST_CELLS", 64)
    monkeypatch.setattr(cells_module, "_PRICE", -1e9)
    monkeypatch.setattr(cells_module, "_SURPRISE", -1e9)
    context = sb.Context(x=sb.Real(0, 1), y=sb.Real(0, 1), who=sb.Label())
    learner = sb.Exp3Set(SPACE, context=context, seed=0)
    rng = np.random.default_rng(0)
    sizes = []
    for t, (features, function) in enumerate(stream(1200, 5)):
        trial = learner.ask(context=features | {"who": int(rng.integers(3000))})
        learner.tell(trial, around(function, trial.rho))
        if t in (600, 1199):
            sizes.append(len(learner.__reduce__()[1][0]))
    assert 32 < len(learner.contexts()) <= 64
    assert sizes[1] < 2.2 * sizes[0]


def test_1024_cells_are_the_limit():
    cells = cells_module.ContextCells(two_reals(), sb.Exp3Set(SPACE)._cells, sb.Exp3Set(SPACE)._epoch.weights)
    made = [
        cells_module.Cell(i, cells.start, cells_module.PlayStats(cells.line_cells), 1, i) for i in range(1100)
    ]
    nodes = made
    while len(nodes) > 1:
        pairs = zip(nodes[::2], nodes[1::2], strict=False)
        rest = nodes[len(nodes) // 2 * 2 :]
        nodes = [cells_module.Split(0, 0.5, None, list(pair)) for pair in pairs] + rest
    cells.root = nodes[0]
    cells._fold()
    assert len(cells.described()) == 1024
    assert cells.find(cells.place((0.9, None))) is not None
