"""The history of a game: columns, copies, tables."""

import copy
import csv
import json
import pickle

import numpy as np
import pytest

import semibandit as sb
from semibandit.games import StoredLosses


def on_an_interval():
    return sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=1), sb.streams.synthetic(40, seed=4))


def on_strips():
    stream = sb.streams.digits_two_metrics(12, (2, 3, 4), n_rows=3)
    return sb.play(sb.Exp3Set(stream[0].space, seed=0), stream)


@pytest.fixture(scope="module", params=[on_an_interval, on_strips])
def history(request):
    return request.param()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h))])
def test_copies_are_the_same_and_separate(history, duplicate):
    rows = len(history)
    twin = duplicate(history)
    assert twin.to_dict() == history.to_dict()
    assert twin.best() == history.best()
    assert (twin.regret() == history.regret()).all()
    for ours, theirs in zip(twin.densities(), history.densities(), strict=True):
        assert np.array_equal(ours, theirs)
    twin.append(history.rows[0])
    assert (len(twin.rho), len(history.rho)) == (rows + 1, rows)


def test_columns_are_read_only_and_follow_the_rounds():
    history = on_an_interval()
    with pytest.raises(ValueError, match="read-only"):
        history.rho[0] = 0.5
    assert history.rho is history.rho
    history.append(history.rows[-1])
    assert history.rho.size == 41
    assert not hasattr(history, "alpha")
    assert not hasattr(history, "nothing")
    assert on_strips().alpha.size == 12


def test_tables(history, tmp_path):
    columns = history.to_dict()
    assert tuple(columns) == history.columns
    assert json.loads(json.dumps(columns)) == columns
    frame = history.to_pandas()
    assert frame.index.tolist() == columns["t"]
    assert frame["rho"].tolist() == columns["rho"]
    history.to_csv(tmp_path / "game.csv")
    with open(tmp_path / "game.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == columns["loss"]
    assert [int(row["t"]) for row in rows] == columns["t"]


def test_regret_against_a_fixed_parameter(history):
    space = history.space
    rho, alpha = 0.3, space.alphas[0]
    against = (rho,) if alpha is None else (rho, alpha)
    fixed = np.array([problem.loss(*against) for problem in history.problems])
    assert history.regret(*against) == pytest.approx(np.cumsum(history.loss - fixed))
    with pytest.raises(ValueError, match=r"rho must be in \[0, 1\], got 1.5"):
        history.regret(1.5, *against[1:])


def test_regret_against_blocks(history):
    assert history.regret(blocks=1) == pytest.approx(history.regret(), abs=1e-12)
    assert history.best_blocks(1).sequences[0][0].best == history.best()
    totals, sequences = history.best_blocks(4)
    for k in (4, 3):
        curve = history.regret(blocks=k)
        fixed = [
            problem.loss(*best.parameters)
            for start, stop, best in sequences[k - 1]
            for problem in history.problems[start:stop]
        ]
        assert curve == pytest.approx(np.cumsum(history.loss - fixed))
        assert curve[-1] == pytest.approx(history.loss.sum() - totals[k - 1])
    assert history.regret(blocks=100)[-1] == pytest.approx(
        history.loss.sum() - sum(problem.losses().min() for problem in history.problems)
    )


def test_stored_losses_are_computed_once(history, monkeypatch):
    kind = type(history.problems[0])
    best = history.best()  # known before losses are counted, whichever test comes first
    counted, losses = [], kind.losses
    monkeypatch.setattr(kind, "losses", lambda self: counted.append(1) or losses(self))
    problems = [StoredLosses(problem) for problem in history.problems]
    learner = sb.Exp3Set(history.space, seed=0)
    runs = [sb.play(learner, problems, feedback) for feedback in ("full", "semi-bandit")]
    assert len(counted) == len(problems)
    monkeypatch.setattr(kind, "loss", None)  # nor is there a plain run for what is known
    for game in runs:
        assert game.best() == best
        assert game.regret()[-1] == pytest.approx(game.loss.sum() - len(game) * game.best().mean_loss)
    assert len(counted) == len(problems)


def test_stored_losses_behave_as_their_problem():
    problem = sb.streams.synthetic(1)[0]
    kept = pickle.loads(pickle.dumps(StoredLosses(problem)))
    assert isinstance(kept, sb.Problem)
    assert kept.space == problem.space
    assert kept.loss(0.3) == kept.fixed(0.3) == problem.loss(0.3)
    assert kept.reveal(0.3) == problem.reveal(0.3)
    assert kept.losses() == problem.losses()
    assert kept.fixed(0.3) == problem.loss(0.3)
    assert repr(kept).startswith("StoredLosses(Explicit(")
    with pytest.raises(AttributeError, match="'Explicit' object has no attribute 'tree'"):
        _ = kept.tree
