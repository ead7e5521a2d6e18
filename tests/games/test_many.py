"""Many games: the same as one by one, for every engine."""

import pytest

import fit_workers
import semibandit as sb

SPACE = sb.Interval(0, 1)


def default(seed):
    return sb.Exp3Set(SPACE, seed=seed)


def grid(seed):
    return sb.Exp3Grid(SPACE, 4, seed=seed)


def test_each_game_is_that_of_play():
    stream = sb.streams.synthetic(30)
    games = sb.play_many({"default": default, "grid": grid}, stream, seeds=3)
    for seed in range(3):
        history = sb.play(default(seed), stream)
        assert (games.losses["default"][seed] == history.loss).all()
        assert games.regret()["default"][seed] == pytest.approx(history.regret())
    assert games.best(0) == sb.best_in_hindsight(stream)
    assert games.losses["grid"].shape == (3, 30)
    assert repr(games).startswith("<Games of 30 rounds, 3 seeds; mean loss: default ")


def test_problems_may_depend_on_the_seed():
    def problems(seed):
        return sb.streams.synthetic(20, seed=seed)

    games = sb.play_many({"grid": grid}, problems, seeds=(3, 5), feedback="bandit")
    for row, seed in enumerate((3, 5)):
        history = sb.play(grid(seed), problems(seed), "bandit")
        assert games.regret()["grid"][row] == pytest.approx(history.regret())


def test_processes_play_the_same_games():
    stream = fit_workers.safe()
    alone = sb.play_many({"a": fit_workers.learner, "b": fit_workers.learner}, stream, seeds=2)
    games = sb.play_many({"a": fit_workers.learner, "b": fit_workers.learner}, stream, seeds=2, n_jobs=2)
    for name in "ab":
        assert (games.losses[name] == alone.losses[name]).all()
