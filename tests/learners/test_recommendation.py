"""What to deploy: by mass, cut where what was paid speaks against it, and with evidence."""

import math
import pickle

import numpy as np
import pytest

import semibandit as sb
from semibandit.learners import Evidence
from semibandit.learners.statistics import PlayStats, stretches
from semibandit.weights import Cells, dyadic_cells

UNIT = sb.Interval(0, 1)
CELLS = dyadic_cells(UNIT)


def naive_not_worse(cells, rounds):
    """By lists of losses for each node, from the root down."""
    losses = {}
    for home, loss in rounds:
        cell = max(i for i in range(cells.leaf.size) if i == 0 or cells.edges[i] <= home)
        node = int(cells.leaf[cell])
        while node >= 1:
            losses.setdefault(node, []).append(loss)
            node //= 2
    deviation = np.std(losses.get(1, [0.0]))
    judged = {node: xs for node, xs in losses.items() if len(xs) >= 4}
    if not judged:
        return [True] * cells.leaf.size
    best = min(np.mean(xs) + 2 * deviation / math.sqrt(len(xs)) for xs in judged.values())

    def worse(node):
        if node < 1:
            return False
        xs = judged.get(node)
        if xs is not None and np.mean(xs) - 2 * deviation / math.sqrt(len(xs)) > best:
            return True
        return worse(node // 2) and not (xs is not None and np.mean(xs) <= best)

    return [not worse(int(leaf)) for leaf in cells.leaf]


@pytest.mark.parametrize("seed", range(12))
def test_parts_that_are_worse_are_those_of_the_naive_rule(seed):
    rng = np.random.default_rng(seed)
    space = sb.Strips(3, UNIT) if seed % 3 == 0 else UNIT
    cells = dyadic_cells(space)
    lo, hi = space.line.ends
    paid, rounds = PlayStats(cells), []
    for _ in range(int(rng.integers(0, 300))):
        home = float(rng.choice([rng.uniform(lo, hi), cells.edges[rng.integers(cells.edges.size)]]))
        loss = float(np.clip(abs(home - 0.4) + 0.1 * rng.integers(3), 0, 1))
        paid.add(home, loss)
        rounds.append((home, loss))
    assert paid.not_worse().tolist() == naive_not_worse(cells, rounds)


def test_stretches():
    kept = np.array([True, True, False, True, True, True, False])
    assert list(stretches(kept, np.array([0, 4]))) == [(0, 2), (3, 4), (4, 6)]
    assert list(stretches(np.zeros(3, bool), np.array([0]))) == []


def test_evidence_is_the_plain_mean_of_what_was_paid():
    paid = PlayStats(CELLS)
    assert str(paid.between(0.0, 1.0)) == "never played"
    losses = [0.2, 0.5, 0.3]
    for loss in losses:
        paid.add(0.1, loss)
    paid.add(0.9, 1.0)
    mean, error, rounds = paid.between(0.05, 0.15)
    assert (mean, rounds) == (pytest.approx(1 / 3), 3)
    assert error == pytest.approx(np.std(losses, ddof=1) / math.sqrt(3))
    assert str(paid.between(0.9, 0.9)) == "1 in 1 round"
    paid.keep(0.5)
    paid.add(0.9, 0.0)
    assert paid.between(0.9, 0.95).rounds == 1.5


@pytest.mark.parametrize("options", [{}, {"baseline": "low"}, {"baseline": None}])
def test_a_sliver_that_was_hardly_played_is_not_deployed(options):
    """Each round a new sliver looks perfect; the mean is least around 0.3."""
    rng = np.random.default_rng(0)
    learner = sb.Exp3Set(UNIT, seed=0, **options)
    for _ in range(600):
        trial = learner.ask()
        lo, hi = max(trial.rho - 0.001, 0.0), min(trial.rho + 0.001, 1.0)
        loss = float(np.clip(0.4 + 0.5 * abs(trial.rho - 0.3) + 0.3 * rng.normal(), 0, 1))
        learner.tell(trial, sb.PiecewiseConstant.constant(lo, hi, loss))
    best = learner.recommend()
    assert abs(best.rho - 0.3) < 0.2
    assert best.interval[0] <= best.rho <= best.interval[1]
    assert best.evidence.mean < 0.5


def test_the_hill_between_two_valleys_is_not_deployed():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        learner = sb.Exp3Set(UNIT, seed=seed)
        for _ in range(300):
            trial = learner.ask()
            good = abs(abs(trial.rho - 0.5) - 0.3) < 0.1
            learner.tell(trial, float(np.clip((0.3 if good else 0.8) + 0.1 * rng.normal(), 0, 1)))
        best = learner.recommend()
        assert abs(abs(best.rho - 0.5) - 0.3) < 0.12
        assert best.evidence.mean == pytest.approx(0.3, abs=0.1)
        assert best.evidence.rounds > 10


def test_a_grid_deploys_an_arm():
    grid = sb.Exp3Grid(UNIT, 7, seed=0, maximize=True, high=10.0)
    rng = np.random.default_rng(1)
    for _ in range(500):
        trial = grid.ask()
        grid.tell(trial, 8.0 + rng.random() if abs(trial.rho - 5.5 / 7) < 0.01 else rng.random())
    rho, interval = best = grid.recommend()
    assert rho == pytest.approx(5.5 / 7)
    assert interval == pytest.approx((5 / 7, 6 / 7))
    assert best.evidence.mean == pytest.approx(8.5, abs=0.1)
    assert best.evidence.rounds > 100
    assert repr(best).startswith(f"Recommendation(rho={rho!r}, interval={interval!r}): 8.")
    many = sb.Exp3Grid(sb.Strips(3, UNIT), 15000, seed=0)._cells
    assert many.leaf.size == 3 * (4096 // 3)
    assert set(range(0, 15001, 5000)) <= set(many.edges.tolist())


def test_evidence_is_saved_and_copied(tmp_path):
    learner = sb.Exp3Set(UNIT, seed=0, drift=0.01)
    for _ in range(50):
        trial = learner.ask()
        learner.tell(trial, abs(trial.rho - 0.4))
    best = learner.recommend()
    learner.save(tmp_path / "knob.sb")
    loaded = sb.load(tmp_path / "knob.sb")
    for again in (
        loaded.recommend(),
        pickle.loads(pickle.dumps(best)),
        pickle.loads(pickle.dumps(learner)).recommend(),
    ):
        assert again == best
        assert again.evidence == best.evidence
    assert loaded.n_partial == 50
    assert best.evidence.rounds < 50


def test_where_floats_are_few():
    cells = Cells(np.array([0.0, 0.0, 1.0]), np.array([2, 3]), False)
    paid = PlayStats(cells)
    paid.add(0.5, 0.3)
    assert paid.between(0.0, 1.0) == Evidence(0.3, pytest.approx(math.nan, nan_ok=True), 1.0)
